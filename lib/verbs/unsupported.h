/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_UNSUPPORTED_H
#define ROOST_VERBS_UNSUPPORTED_H

/*
 * Everything that answers "not supported": EOPNOTSUPP in the dialect of the
 * call, never ENOSYS, never a call through NULL. The table is
 * lib/verbs/unsupported.def; to support something is to take its row out.
 */

#include <infiniband/verbs.h>

/*
 * Fill every operation of a context with its EOPNOTSUPP answer, the
 * _compat_ ones of struct ibv_context_ops included. The caller then puts in
 * what is supported. Touches nothing but operations. Thread: any.
 */
void roost_unsupported_fill(struct verbs_context *vctx);

#endif
