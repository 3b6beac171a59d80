/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_MCAST_PRIV_H
#define ROOST_ENGINE_MCAST_PRIV_H

/*
 * Inside of multicast; for lib/engine only. Holder of the turn.
 */

#include "lib/engine/mcast.h"
#include "lib/engine/qp_priv.h"

#define ROOST_MCAST_QPN 0xffffffu

/* One QP in one group. */
struct roost_mcast {
	struct roost_gid group;
	struct roost_qp *qp;
	uint32_t count; /* attaches without a detach */
	LIST_ENTRY(roost_mcast) link;
};

bool roost_mcast_has_members(const struct roost_dev *dev,
			     const struct roost_gid *group);
/* The member after *m (NULL: the first), or NULL. */
struct roost_mcast *roost_mcast_next(struct roost_dev *dev,
				     const struct roost_gid *group,
				     struct roost_mcast *m);

#endif
