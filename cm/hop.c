/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Next hops: the neighbours that connections of a CM send to, each with a list
 * of these connections. Once a second they are compared with what they were, so
 * that the time this takes depends on the number of neighbours, and on the
 * connections of those that changed. All under the CM's lock.
 */

#include <stdlib.h>

#include "cm/priv.h"

struct roost_cm_hop {
	struct roost_neigh *neigh; /* each connection has a reference */
	uint64_t mac_gen;          /* when it was last compared */
	LIST_HEAD(, roost_cm_conn) conns;
	LIST_ENTRY(roost_cm_hop) link;
	LIST_ENTRY(roost_cm_hop) bucket_link;
};

uint64_t roost_cm_mac_gen(const struct roost_cm_conn *conn)
{
	if (!conn->neigh)
		return 0;
	return atomic_load_explicit(&conn->neigh->mac_gen,
				    memory_order_acquire);
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
	hop->mac_gen = roost_cm_mac_gen(conn);
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
		conn->mac_gen = roost_cm_mac_gen(conn);
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

/* Returns true once for each new MAC. */
static bool is_elsewhere(struct roost_cm_conn *conn)
{
	const uint64_t before = conn->mac_gen, now = roost_cm_mac_gen(conn);

	if (now == before || (before == 0 && !conn->passive))
		return false;
	conn->mac_gen = now;
	/* A change of this port's MAC changes the generation, too. */
	return before != 0 && before >> 16 != now >> 16;
}

/* Returns false if the hop may be gone. */
static bool sweep_hop(struct roost_cm_hop *hop)
{
	struct roost_cm_event event = { .type = ROOST_CM_ADDR_CHANGE };
	const uint64_t now = atomic_load_explicit(&hop->neigh->mac_gen,
						  memory_order_acquire);
	struct roost_cm_conn *conn;

	if (now == hop->mac_gen)
		return true;
	LIST_FOREACH(conn, &hop->conns, hop_link) {
		if (!conn->owned || !is_elsewhere(conn))
			continue;
		roost_cm_refresh_mac(conn);
		if (!roost_cm_tell(conn, &event) || conn->hop != hop)
			return false;
	}
	hop->mac_gen = now;
	return true;
}

void roost_cm_sweep(struct roost_cm *cm)
{
	struct roost_cm_hop *hop = LIST_FIRST(&cm->hops);

	/* After a removal, start again: connections visited before raise no
	 * second event.
	 */
	while (hop)
		hop = sweep_hop(hop) ? LIST_NEXT(hop, link)
				     : LIST_FIRST(&cm->hops);
}
