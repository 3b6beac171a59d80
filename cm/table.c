/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Tables by the peer's numbers, and limits per peer. Peers choose the values
 * that are hashed, so a secret goes into the hash.
 *
 * Not rte_hash: rte_hash_create() fails without EAL, which a client of roostd
 * does not have. An entry here is a part of its connection, so that adding it
 * cannot fail.
 */

#include <string.h>

#include "cm/priv.h"

/* Requests per second of a peer, and its burst: more than one process can make,
 * so that only a flood is slowed down.
 */
#define RATE_PER_S 60000u
#define RATE_BURST 16384u
#define NS_PER_TOKEN (1000000000u / RATE_PER_S)

void roost_cm_peers_init(struct roost_cm *cm)
{
	for (unsigned int i = 0; i < ROOST_CM_PEERS; i++)
		TAILQ_INIT(&cm->peers[i].half_open);
}

static uint64_t mix(uint64_t x, uint64_t v)
{
	x = (x ^ v) * 0x9e3779b97f4a7c15u;
	return x ^ (x >> 29);
}

static uint64_t hash_gid(uint64_t secret, const struct roost_gid *gid)
{
	uint64_t half[2];

	memcpy(half, gid->b, sizeof(half));
	return mix(mix(secret, half[0]), half[1] + (secret >> 32));
}

static unsigned int bucket_of(const struct roost_cm_table *table,
			      const struct roost_cm_key *key)
{
	uint64_t x = hash_gid(table->secret, &key->gid);

	x = mix(mix(x, key->ca_guid), key->number + table->secret);
	return (unsigned int)(x >> 32) % ROOST_CM_BUCKETS;
}

static bool same(const struct roost_cm_key *a, const struct roost_cm_key *b)
{
	return a->number == b->number && a->ca_guid == b->ca_guid &&
	       roost_gid_eq(&a->gid, &b->gid);
}

struct roost_cm_conn *roost_cm_table_find(const struct roost_cm_table *table,
					  const struct roost_cm_key *key)
{
	const struct roost_cm_entry *entry;

	LIST_FOREACH(entry, &table->buckets[bucket_of(table, key)], link)
		if (same(&entry->key, key))
			return entry->conn;
	return NULL;
}

struct roost_cm_conn *roost_cm_table_add(struct roost_cm_table *table,
					 struct roost_cm_entry *entry,
					 const struct roost_cm_key *key,
					 struct roost_cm_conn *conn)
{
	struct roost_cm_conn *other = roost_cm_table_find(table, key);

	if (other)
		return other;
	entry->key = *key;
	entry->conn = conn;
	entry->in = true;
	LIST_INSERT_HEAD(&table->buckets[bucket_of(table, key)], entry, link);
	return NULL;
}

void roost_cm_table_del(struct roost_cm_entry *entry)
{
	if (!entry->in)
		return;
	entry->in = false;
	LIST_REMOVE(entry, link);
}

static struct roost_cm_peer_bounds *bounds_of(struct roost_cm *cm,
					      const struct roost_gid *peer)
{
	/* Peers of one subnet differ in the last byte, which reaches only the
	 * high bits of the hash. The second mix keeps them from sharing an
	 * entry.
	 */
	uint64_t x = mix(hash_gid(cm->peer_ids.secret, peer), 0);

	return &cm->peers[(x >> 32) % ROOST_CM_PEERS];
}

bool roost_cm_rate_take(struct roost_cm *cm, const struct roost_gid *peer)
{
	struct roost_cm_peer_bounds *p = bounds_of(cm, peer);
	uint64_t more = (cm->now_ns - p->at_ns) / NS_PER_TOKEN;

	if (p->tokens + more >= RATE_BURST) {
		p->tokens = RATE_BURST;
		p->at_ns = cm->now_ns;
	} else {
		p->tokens += (uint32_t)more;
		p->at_ns += more * NS_PER_TOKEN;
	}
	if (p->tokens == 0)
		return false;
	p->tokens--;
	return true;
}

static struct roost_cm_peer_bounds *fullest(struct roost_cm *cm)
{
	struct roost_cm_peer_bounds *most = &cm->peers[0];

	for (unsigned int i = 1; i < ROOST_CM_PEERS; i++)
		if (cm->peers[i].nb_half_open > most->nb_half_open)
			most = &cm->peers[i];
	return most;
}

struct roost_cm_conn *roost_cm_crowded_out(struct roost_cm *cm,
					   const struct roost_gid *peer)
{
	const uint32_t left = ROOST_CM_HALF_OPEN_MAX - cm->nb_half_open;

	if (bounds_of(cm, peer)->nb_half_open < left)
		return NULL;
	return TAILQ_FIRST(&fullest(cm)->half_open);
}

void roost_cm_opened(struct roost_cm_conn *conn)
{
	if (conn->half_open)
		return;
	conn->half_open = bounds_of(conn->cm, &conn->addr.peer);
	conn->half_open->nb_half_open++;
	TAILQ_INSERT_TAIL(&conn->half_open->half_open, conn, half_open_link);
	conn->cm->nb_half_open++;
}

void roost_cm_closed(struct roost_cm_conn *conn)
{
	if (!conn->half_open)
		return;
	conn->half_open->nb_half_open--;
	TAILQ_REMOVE(&conn->half_open->half_open, conn, half_open_link);
	conn->half_open = NULL;
	conn->cm->nb_half_open--;
}
