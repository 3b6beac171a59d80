/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- hashing ------------------------------------------------------------- */

static uint64_t mix(uint64_t x, uint64_t v)
{
	x = (x ^ v) * 0x9e3779b97f4a7c15u;
	return x ^ (x >> 29);
}

uint32_t roost_lease_hash(uint64_t key, const struct roost_gid *gid,
			  uint64_t number)
{
	uint64_t half[2];

	memcpy(half, gid->b, sizeof(half));
	key = mix(mix(key, half[0]), half[1] + (key >> 32));
	return (uint32_t)(mix(key, number) >> 32);
}

/* splitmix64 */
uint64_t roost_lease_random(struct roost_lease *lease)
{
	uint64_t z = lease->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* ---- the table ----------------------------------------------------------- */

static bool none_reserved(uint32_t id)
{
	(void)id;
	return false;
}

static int init_tables(struct roost_lease *lease)
{
	const struct roost_lease_state *state = lease->state;
	int ret;

	ret = roost_idmap_init(&lease->qpns, 24, ROOST_LEASE_QPN_INDEX_BITS,
			       state->qpn_seed, none_reserved);
	if (ret == 0)
		ret = roost_idmap_init(&lease->comms, 32,
				       ROOST_LEASE_PREFIX_SHIFT,
				       state->comm_seed, none_reserved);
	if (ret == 0)
		ret = roost_pool_init(&lease->blocks, ROOST_LEASE_BLOCKS);
	if (ret == 0)
		ret = roost_pool_init(&lease->prefixes, ROOST_LEASE_PREFIXES);
	return ret;
}

/* Numbers that were leased once may be known to peers still. */
static void hold_used(struct roost_lease *lease, uint64_t now_ns)
{
	const uint64_t until_ns = now_ns + lease->conf.quarantine_ns;

	roost_pool_hold(&lease->blocks, lease->state->nb_blocks_used, until_ns);
	roost_pool_hold(&lease->prefixes, lease->state->nb_prefixes_used,
			until_ns);
}

void roost_lease_free(struct roost_lease *lease)
{
	struct roost_lease_addr *addr;

	for (uint32_t i = 0; i < ROOST_LEASE_ADDR_BUCKETS; i++)
		while ((addr = LIST_FIRST(&lease->addrs[i])) != NULL) {
			LIST_REMOVE(addr, link);
			free(addr);
		}
	roost_idmap_fini(&lease->qpns);
	roost_idmap_fini(&lease->comms);
	roost_pool_fini(&lease->blocks);
	roost_pool_fini(&lease->prefixes);
	free(lease);
}

void roost_lease_begin_grace(struct roost_lease *lease, uint64_t now_ns)
{
	lease->grace_at_ns = now_ns + lease->conf.grace_ns;
}

static void expect_old_clients(struct roost_lease *lease, uint64_t now_ns)
{
	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++) {
		lease->clients[i].away = lease->state->slots[i].serial != 0;
		lease->nb_away += lease->clients[i].away;
	}
	roost_lease_begin_grace(lease, now_ns);
	hold_used(lease, now_ns);
}

int roost_lease_create(const struct roost_lease_conf *conf,
		       struct roost_lease_state *state, uint64_t now_ns,
		       struct roost_lease **lease)
{
	struct roost_lease *new;
	int ret;

	if (state->magic != 0 && state->magic != ROOST_LEASE_STATE_MAGIC)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->conf = *conf;
	new->state = state;
	new->random = conf->random;
	new->hash_key = roost_lease_random(new);
	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++)
		new->clients[i].blocks = new->clients[i].prefixes =
			ROOST_UNITS_NONE;
	ret = init_tables(new);
	if (ret) {
		roost_lease_free(new);
		return ret;
	}
	state->magic = ROOST_LEASE_STATE_MAGIC;
	state->epoch++;
	expect_old_clients(new, now_ns);
	*lease = new;
	return 0;
}

bool roost_lease_recovering(struct roost_lease *lease, uint64_t now_ns)
{
	if (lease->nb_away == 0)
		return false;
	if (now_ns < lease->grace_at_ns)
		return true;
	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++) {
		if (!lease->clients[i].away)
			continue;
		lease->clients[i].away = false;
		lease->clients[i].expired = true;
		lease->state->slots[i].serial = 0;
	}
	lease->nb_away = 0;
	hold_used(lease, now_ns);
	return false;
}

/* ---- what clients see ---------------------------------------------------- */

void roost_lease_show_blocks(struct roost_lease *lease, uint16_t client,
			     bool leased)
{
	const uint32_t mark = leased ? roost_lease_mark(lease, client) : 0;
	const struct roost_pool *pool = &lease->blocks;

	for (uint32_t i = lease->clients[client].blocks.first;
	     lease->shown && i != ROOST_POOL_NONE; i = pool->next[i])
		atomic_store_explicit(&lease->shown[i], mark,
				      memory_order_release);
}

void roost_lease_show(struct roost_lease *lease, _Atomic uint32_t *marks)
{
	lease->shown = marks;
	for (uint16_t i = 0; i < ROOST_CLIENTS_MAX; i++)
		if (lease->clients[i].used)
			roost_lease_show_blocks(lease, i, true);
}

/* ---- addresses ----------------------------------------------------------- */

static uint32_t addr_bucket(const struct roost_lease *lease,
			    const struct roost_gid *gid)
{
	return roost_lease_hash(lease->hash_key, gid, 0) %
	       ROOST_LEASE_ADDR_BUCKETS;
}

const struct roost_lease_addr *
roost_lease_addr_find(const struct roost_lease *lease,
		      const struct roost_gid *gid)
{
	const struct roost_lease_addr *addr;

	LIST_FOREACH(addr, &lease->addrs[addr_bucket(lease, gid)], link)
		if (roost_gid_eq(&addr->gid, gid))
			return addr;
	return NULL;
}

static int addr_enter(struct roost_lease *lease, const struct roost_gid *gid,
		      uint16_t owner)
{
	struct roost_lease_addr *addr;

	if (roost_lease_addr_find(lease, gid))
		return -EEXIST;
	addr = calloc(1, sizeof(*addr));
	if (!addr)
		return -ENOMEM;
	addr->gid = *gid;
	addr->owner = owner;
	LIST_INSERT_HEAD(&lease->addrs[addr_bucket(lease, gid)], addr, link);
	return 0;
}

static void addr_remove(struct roost_lease *lease, const struct roost_gid *gid,
			uint16_t owner)
{
	struct roost_lease_addr *addr;

	LIST_FOREACH(addr, &lease->addrs[addr_bucket(lease, gid)], link) {
		if (addr->owner != owner || !roost_gid_eq(&addr->gid, gid))
			continue;
		LIST_REMOVE(addr, link);
		free(addr);
		return;
	}
}

int roost_lease_addr_add(struct roost_lease *lease, const struct roost_gid *gid)
{
	return addr_enter(lease, gid, ROOST_CLIENT_NONE);
}

void roost_lease_addr_del(struct roost_lease *lease,
			  const struct roost_gid *gid)
{
	addr_remove(lease, gid, ROOST_CLIENT_NONE);
}

static uint16_t own_of(const struct roost_lease *lease,
		       const struct roost_gid *gid)
{
	for (uint16_t i = 0; i < ROOST_CLIENTS_MAX; i++) {
		const struct roost_client *c = &lease->clients[i];

		for (uint32_t k = 0; c->used && k < c->conf.nb_gids; k++)
			if (roost_gid_eq(&c->conf.gids[k], gid))
				return i;
	}
	return ROOST_CLIENT_NONE;
}

void roost_lease_addr_lose(struct roost_lease *lease,
			   const struct roost_gid *gid)
{
	const struct roost_lease_addr *addr = roost_lease_addr_find(lease, gid);

	if (addr)
		addr_remove(lease, gid, addr->owner);
}

int roost_lease_addr_regain(struct roost_lease *lease,
			    const struct roost_gid *gid)
{
	const uint16_t owner = own_of(lease, gid);

	return owner == ROOST_CLIENT_NONE ? -ENOENT
					  : addr_enter(lease, gid, owner);
}

/* ---- clients ------------------------------------------------------------- */

static void remove_addrs(struct roost_lease *lease, uint16_t slot)
{
	const struct roost_client_conf *conf = &lease->clients[slot].conf;

	for (uint32_t i = 0; i < conf->nb_gids; i++)
		addr_remove(lease, &conf->gids[i], slot);
}

static int enter_addrs(struct roost_lease *lease, uint16_t slot)
{
	const struct roost_client_conf *conf = &lease->clients[slot].conf;
	int ret;

	for (uint32_t i = 0; i < conf->nb_gids; i++) {
		ret = roost_gid_is_unicast(&conf->gids[i])
			      ? addr_enter(lease, &conf->gids[i], slot)
			      : -EINVAL;
		if (ret) {
			remove_addrs(lease, slot);
			return ret == -EEXIST ? -EADDRINUSE : ret;
		}
	}
	return 0;
}

int roost_lease_client_enter(struct roost_lease *lease, uint16_t slot,
			     const struct roost_client_conf *conf)
{
	struct roost_client *client = &lease->clients[slot];
	int ret;

	if (conf->weight == 0 || conf->max_prefixes == 0 ||
	    conf->nb_gids > ROOST_CLIENT_GIDS_MAX)
		return -EINVAL;
	client->conf = *conf;
	ret = enter_addrs(lease, slot);
	if (ret)
		return ret;
	client->used = true;
	LIST_INIT(&client->claims);
	client->nb_claims = 0;
	client->nb_services = 0;
	client->nb_groups = 0;
	client->generation = lease->state->slots[slot].generation;
	lease->nb_clients++;
	return 0;
}

int roost_lease_client_add(struct roost_lease *lease,
			   const struct roost_client_conf *conf,
			   uint64_t now_ns, uint16_t *client)
{
	uint16_t slot = 0;
	int ret;

	if (roost_lease_recovering(lease, now_ns))
		return -EAGAIN;
	while (slot < ROOST_CLIENTS_MAX && lease->clients[slot].used)
		slot++;
	if (slot == ROOST_CLIENTS_MAX)
		return -ENOSPC;
	lease->state->slots[slot].generation++;
	ret = roost_lease_client_enter(lease, slot, conf);
	if (ret)
		return ret;
	*client = slot;
	return 0;
}

void roost_lease_client_free(struct roost_lease *lease, uint16_t slot,
			     uint64_t now_ns)
{
	struct roost_client *client = &lease->clients[slot];
	const uint64_t until_ns = now_ns + lease->conf.quarantine_ns;

	lease->state->slots[slot].serial = 0;
	roost_lease_show_blocks(lease, slot, false);
	roost_pool_give_back(&lease->blocks, &client->blocks, until_ns);
	roost_pool_give_back(&lease->prefixes, &client->prefixes, until_ns);
	remove_addrs(lease, slot);
	client->used = false;
	lease->nb_clients--;
}

/* ---- numbers ------------------------------------------------------------- */

static uint32_t blocks_of(uint32_t nb_qps)
{
	return nb_qps / ROOST_LEASE_BLOCK_LEN +
	       (nb_qps % ROOST_LEASE_BLOCK_LEN != 0);
}

static int take(struct roost_lease *lease, struct roost_pool *pool,
		uint16_t owner, struct roost_units *units, uint32_t max,
		uint64_t now_ns, uint32_t *unit)
{
	const uint32_t uid = lease->clients[owner].conf.uid;

	if (roost_lease_recovering(lease, now_ns))
		return -EAGAIN;
	if (units->nb >= max)
		return -EDQUOT;
	return roost_pool_take(pool, owner, uid, units, now_ns, unit);
}

int roost_lease_block(struct roost_lease *lease, uint16_t client,
		      uint64_t now_ns, uint32_t *block)
{
	struct roost_client *c = &lease->clients[client];
	int ret = take(lease, &lease->blocks, client, &c->blocks,
		       blocks_of(c->conf.max_qps), now_ns, block);

	if (ret)
		return ret;
	if (*block >= lease->state->nb_blocks_used)
		lease->state->nb_blocks_used = *block + 1;
	if (lease->shown)
		atomic_store_explicit(&lease->shown[*block],
				      roost_lease_mark(lease, client),
				      memory_order_release);
	return 0;
}

int roost_lease_prefix(struct roost_lease *lease, uint16_t client,
		       uint64_t now_ns, uint32_t *prefix)
{
	struct roost_client *c = &lease->clients[client];
	int ret = take(lease, &lease->prefixes, client, &c->prefixes,
		       c->conf.max_prefixes, now_ns, prefix);

	if (ret == 0 && *prefix >= lease->state->nb_prefixes_used)
		lease->state->nb_prefixes_used = *prefix + 1;
	return ret;
}
