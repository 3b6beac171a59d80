/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_MCAST_PRIV_H
#define ROOST_ENGINE_CORE_MCAST_PRIV_H

/*
 * Inside of multicast; for lib/engine only.
 *
 * The device has a table of groups, with separate groups for each port. The
 * table changes under mcast_lock; a reader holds the lock or a turn.
 */

#include <rte_jhash.h>

#include <roost/mcast.h>
#include "lib/engine/core/qp_priv.h"

#define ROOST_MCAST_QPN 0xffffffu

/* One QP in one group. */
struct roost_mcast {
	struct roost_turn_link link; /* group->members */
	struct roost_qp *qp;
	struct roost_mcast_group *group;
	LIST_ENTRY(roost_mcast) qp_link; /* qp->mcasts */
};

/* A group with at least one QP of this device as a member, on one port. */
struct roost_mcast_group {
	struct roost_turn_link link; /* in its bucket */
	struct roost_gid gid;
	uint8_t port_index;
	uint32_t nb_members;      /* never 0; under mcast_lock */
	_Atomic uint32_t workers; /* of the members, bit 1 << index */
	struct roost_turn_link members;
};

static inline struct roost_turn_link *
roost_mcast_bucket(struct roost_dev *dev, unsigned int port_index,
		   const struct roost_gid *gid)
{
	uint32_t words[4];

	memcpy(words, gid->b, sizeof(words));
	return &dev->mcast_buckets[rte_jhash_32b(words, 4, port_index) %
				   ROOST_MCAST_BUCKETS];
}

/* A cheap test before a frame is checked: true for every group in the table,
 * and for few other addresses.
 */
static inline bool roost_mcast_may_have(struct roost_dev *dev,
					unsigned int port_index,
					const struct roost_gid *gid)
{
	return roost_gid_is_multicast(gid) &&
	       roost_turn_list_next(roost_mcast_bucket(dev, port_index, gid));
}

/* NULL: no QP of the device is a member of the group. */
static inline struct roost_mcast_group *
roost_mcast_find(struct roost_dev *dev, unsigned int port_index,
		 const struct roost_gid *gid)
{
	struct roost_mcast_group *g =
		roost_turn_list_next(roost_mcast_bucket(dev, port_index, gid));

	while (g &&
	       (g->port_index != port_index || !roost_gid_eq(&g->gid, gid)))
		g = roost_turn_list_next(&g->link);
	return g;
}

#endif
