/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_UNSUPPORTED_H
#define ROOST_VERBS_UNSUPPORTED_H

/*
 * Every call that answers "not supported": EOPNOTSUPP in the dialect of the
 * call, never ENOSYS, never a call through NULL. The table is
 * lib/verbs/unsupported.def; a call that becomes supported loses its row.
 */

#include <infiniband/verbs.h>

/*
 * Fill every operation of a context with its EOPNOTSUPP answer, including the
 * _compat_ ones of struct ibv_context_ops. The caller then sets the supported
 * operations. Touches nothing but operations. Thread: any.
 */
void roost_unsupported_fill(struct verbs_context *vctx);

#endif
