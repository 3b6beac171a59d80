/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_GSI_PRIV_H
#define ROOST_ENGINE_TRANSPORT_GSI_PRIV_H

/*
 * The worker's side of QP1; for lib/engine only. Holder of the turn.
 */

#include "lib/engine/transport/gsi.h"
#include "lib/engine/core/worker_base.h"
#include "lib/wire/frame.h"

/* Take a packet for QPN 1. Returns NONE: the packet was copied; else the reason
 * of the drop.
 */
enum roost_drop roost_gsi_take(struct roost_worker *w, unsigned int port_index,
			       const struct roost_frame *frame,
			       const struct roost_pkt *pkt);

#endif
