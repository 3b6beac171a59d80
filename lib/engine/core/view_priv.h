/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_VIEW_PRIV_H
#define ROOST_ENGINE_CORE_VIEW_PRIV_H

/* Inside of views; for lib/engine only. */

#include "lib/engine/core/view.h"

/* All but the counts of async events. Holder of the turn. */
void roost_view_qp(struct roost_qp *qp, struct roost_qp_view *v);

#endif
