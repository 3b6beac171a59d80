/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_MCAST_PRIV_H
#define ROOST_ENGINE_MCAST_PRIV_H

/*
 * Inside of multicast; for lib/engine only.
 */

#include "lib/engine/mcast.h"
#include "lib/engine/qp_priv.h"

#define ROOST_MCAST_QPN 0xffffffu

/* One QP in one group, on one port. */
struct roost_mcast {
	struct roost_gid group;
	struct roost_qp *qp;
	uint32_t count; /* attaches without a detach; under mcast_lock */
	uint8_t port_index;
	LIST_ENTRY(roost_mcast) link;
};

/* The member of a port's group after *m (NULL: the first), or NULL. Holder of
 * the turn, or of mcast_lock.
 */
struct roost_mcast *roost_mcast_next(struct roost_dev *dev,
				     unsigned int port_index,
				     const struct roost_gid *group,
				     struct roost_mcast *m);

#endif
