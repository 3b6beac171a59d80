/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Connections are listed by their next hop. */

#include <stdlib.h>

#include "cm/priv.h"

uint64_t roost_cm_mac_gen(const struct roost_neigh *neigh)
{
	if (!neigh)
		return 0;
	return atomic_load_explicit(&neigh->mac_gen, memory_order_acquire);
}

static struct roost_cm_hops *bucket_of(struct roost_cm *cm,
				       const struct roost_neigh *neigh)
{
	const uint64_t mixed = (uintptr_t)neigh * 0x9e3779b97f4a7c15ull;

	return &cm->hops_by_neigh[(mixed >> 32) % ROOST_CM_HOP_BUCKETS];
}

static struct roost_cm_hop *find(struct roost_cm *cm,
				 const struct roost_neigh *neigh)
{
	struct roost_cm_hop *hop;

	LIST_FOREACH(hop, bucket_of(cm, neigh), bucket_link)
		if (hop->neigh == neigh)
			break;
	return hop;
}

static struct roost_cm_hop *add(struct roost_cm_conn *conn)
{
	struct roost_cm_hop *hop = calloc(1, sizeof(*hop));
	struct roost_cm *cm = conn->cm;

	if (!hop)
		return NULL;
	/* Nobody else may have anything to do for the CM. */
	if (LIST_EMPTY(&cm->hops))
		cm->must_run = true;
	hop->neigh = conn->neigh;
	hop->mac_gen = roost_cm_mac_gen(hop->neigh);
	LIST_INSERT_HEAD(&cm->hops, hop, link);
	LIST_INSERT_HEAD(bucket_of(cm, hop->neigh), hop, bucket_link);
	return hop;
}

void roost_cm_hop_join(struct roost_cm_conn *conn, struct roost_neigh *neigh)
{
	struct roost_cm_hop *hop;

	conn->neigh = neigh;
	/* An active one knows the MAC when its resolution ends. */
	if (conn->passive)
		conn->mac_gen = roost_cm_mac_gen(neigh);
	if (!neigh)
		return;
	hop = find(conn->cm, neigh);
	if (!hop)
		hop = add(conn);
	/* Without memory there is no ADDR_CHANGE; everything else works. */
	if (!hop)
		return;
	conn->hop = hop;
	LIST_INSERT_HEAD(&hop->conns, conn, hop_link);
}

void roost_cm_hop_leave(struct roost_cm_conn *conn)
{
	struct roost_cm_hop *hop = conn->hop;

	if (hop) {
		LIST_REMOVE(conn, hop_link);
		conn->hop = NULL;
		if (LIST_EMPTY(&hop->conns)) {
			LIST_REMOVE(hop, link);
			LIST_REMOVE(hop, bucket_link);
			free(hop);
		}
	}
	roost_dev_neigh_put(conn->cm->dev, conn->path.port_num, conn->neigh);
	conn->neigh = NULL;
	conn->mac_gen = 0;
}
