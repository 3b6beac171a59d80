/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_AH_PRIV_H
#define ROOST_ENGINE_CORE_AH_PRIV_H

/*
 * Inside of address handles; for lib/engine only.
 */

#include <stdatomic.h>

#include <roost/ah.h>
#include "lib/engine/core/path.h"

struct roost_ah {
	struct roost_dev *dev;
	struct roost_pd *pd;    /* until it is destroyed */
	struct roost_path path; /* constant: workers share it */
	_Atomic uint32_t refs;  /* the application's, and one per WQE */
};

static inline struct roost_path *roost_ah_path(struct roost_ah *ah)
{
	return &ah->path;
}

static inline void roost_ah_get(struct roost_ah *ah)
{
	atomic_fetch_add_explicit(&ah->refs, 1, memory_order_relaxed);
}

/* The last one frees it. Any thread. */
void roost_ah_put(struct roost_ah *ah);

#endif
