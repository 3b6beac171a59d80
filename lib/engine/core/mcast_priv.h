/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_MCAST_PRIV_H
#define ROOST_ENGINE_CORE_MCAST_PRIV_H

/*
 * Inside of multicast; for lib/engine only.
 *
 * The device has a table of groups, with separate groups for each port. The
 * table changes while mcast_lock and all turns are held; a reader holds the
 * lock or a turn.
 */

#include <rte_jhash.h>

#include <roost/mcast.h>
#include "lib/engine/core/qp_priv.h"

#define ROOST_MCAST_QPN 0xffffffu

/* One QP in one group. */
struct roost_mcast {
	struct roost_qp *qp;
	struct roost_mcast_group *group;
	LIST_ENTRY(roost_mcast) link;    /* group->members */
	LIST_ENTRY(roost_mcast) qp_link; /* qp->mcasts */
};

/* A group with at least one QP of this device as a member, on one port. */
struct roost_mcast_group {
	struct roost_gid gid;
	uint8_t port_index;
	uint32_t nb_members; /* never 0 */
	uint32_t workers;    /* workers of the members, bit 1 << index */
	LIST_HEAD(, roost_mcast) members;
	LIST_ENTRY(roost_mcast_group) link; /* in its bucket */
};

static inline struct roost_mcast_bucket *
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
	       !LIST_EMPTY(roost_mcast_bucket(dev, port_index, gid));
}

/* NULL: no QP of the device is a member of the group. */
static inline struct roost_mcast_group *
roost_mcast_find(struct roost_dev *dev, unsigned int port_index,
		 const struct roost_gid *gid)
{
	struct roost_mcast_group *g;

	LIST_FOREACH(g, roost_mcast_bucket(dev, port_index, gid), link)
		if (g->port_index == port_index && roost_gid_eq(&g->gid, gid))
			break;
	return g;
}

#endif
