/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Tickets: what a client leases, under a MAC, so that it can have it back after
 * a restart of the daemon. The MAC proves that a daemon wrote the ticket; the
 * serial number in struct roost_lease_state, that it is the last one of a
 * client that still lives, and that nobody has presented it.
 *
 * Little-endian words: head, own address, blocks, prefixes, claims, MAC.
 */

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/lease.h"
#include "apps/roostd/switch/siphash.h"

#define MAGIC 0x31746c72u
#define CLAIM_LEN 28u

#define CLAIM_LISTENS 0x1u
#define CLAIM_REUSEADDR 0x2u
#define CLAIM_AFONLY 0x4u

enum head {
	HEAD_MAGIC,
	HEAD_SLOT,
	HEAD_GENERATION,
	HEAD_SERIAL,
	HEAD_UID,
	HEAD_BLOCKS,
	HEAD_PREFIXES,
	HEAD_CLAIMS,
	HEAD_WORDS,
};

/* With the own address. */
#define HEAD_LEN (HEAD_WORDS * sizeof(uint32_t) + sizeof(struct roost_gid))

static void put32(uint8_t **at, uint32_t value)
{
	value = htole32(value);
	memcpy(*at, &value, sizeof(value));
	*at += sizeof(value);
}

static void put_gid(uint8_t **at, const struct roost_gid *gid)
{
	memcpy(*at, gid->b, sizeof(gid->b));
	*at += sizeof(gid->b);
}

static uint32_t get32(const uint8_t **at)
{
	uint32_t value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return le32toh(value);
}

/* All but the MAC. */
static size_t body_len(size_t nb_blocks, size_t nb_prefixes, size_t nb_claims)
{
	return HEAD_LEN + (nb_blocks + nb_prefixes) * sizeof(uint32_t) +
	       nb_claims * CLAIM_LEN;
}

size_t roost_lease_ticket_max(const struct roost_lease *lease, uint16_t client)
{
	const struct roost_client *c = &lease->clients[client];

	return body_len(c->blocks.nb, c->prefixes.nb, c->nb_claims) +
	       ROOST_SIPHASH_TAG_LEN;
}

/* ---- writing ------------------------------------------------------------- */

static void put_units(uint8_t **at, const struct roost_pool *pool,
		      const struct roost_units *units)
{
	for (uint32_t unit = units->first; unit != ROOST_POOL_NONE;
	     unit = pool->next[unit])
		put32(at, unit);
}

static void put_claim(uint8_t **at, const struct roost_claim *claim)
{
	put32(at, (uint32_t)claim->service_id);
	put32(at, (uint32_t)(claim->service_id >> 32));
	put_gid(at, &claim->addr);
	put32(at, (uint32_t)claim->family << 8 |
			  (claim->listens ? CLAIM_LISTENS : 0) |
			  (claim->reuseaddr ? CLAIM_REUSEADDR : 0) |
			  (claim->afonly ? CLAIM_AFONLY : 0));
}

ptrdiff_t roost_lease_issue(struct roost_lease *lease, uint16_t client,
			    uint8_t *ticket, size_t room_bytes)
{
	const struct roost_client *c = &lease->clients[client];
	struct roost_lease_state *state = lease->state;
	const struct roost_claim_entry *entry;
	static const struct roost_gid none;
	uint8_t *at = ticket;

	if (roost_lease_ticket_max(lease, client) > room_bytes) {
		state->slots[client].serial = 0;
		return -ENOSPC;
	}
	/* 0: none. */
	if (++state->slots[client].issued == 0)
		state->slots[client].issued = 1;
	put32(&at, MAGIC);
	put32(&at, client);
	put32(&at, c->generation);
	put32(&at, state->slots[client].issued);
	put32(&at, c->conf.uid);
	put32(&at, c->blocks.nb);
	put32(&at, c->prefixes.nb);
	put32(&at, c->nb_claims);
	put_gid(&at, c->conf.nb_gids > 0 ? &c->conf.gids[0] : &none);
	put_units(&at, &lease->blocks, &c->blocks);
	put_units(&at, &lease->prefixes, &c->prefixes);
	LIST_FOREACH(entry, &c->claims, of_client)
		for (uint32_t i = 0; i < entry->nb; i++)
			put_claim(&at, &entry->claim);
	roost_siphash_tag(state->mac_key, ticket, (size_t)(at - ticket), at);
	return at + ROOST_SIPHASH_TAG_LEN - ticket;
}

void roost_lease_commit(struct roost_lease *lease, uint16_t client)
{
	lease->state->slots[client].serial = lease->state->slots[client].issued;
}

/* ---- reading ------------------------------------------------------------- */

/* Each byte is compared, whatever the ones before were. */
static bool tag_is(const uint8_t *a, const uint8_t *b)
{
	uint8_t differ = 0;

	for (unsigned int i = 0; i < ROOST_SIPHASH_TAG_LEN; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

/* Who wrote it, and how long it is. */
static bool is_genuine(const struct roost_lease *lease, const uint8_t *ticket,
		       size_t len_bytes, uint32_t head[HEAD_WORDS])
{
	uint8_t tag[ROOST_SIPHASH_TAG_LEN];
	const uint8_t *at = ticket;
	size_t body;

	if (len_bytes < body_len(0, 0, 0) + ROOST_SIPHASH_TAG_LEN)
		return false;
	body = len_bytes - ROOST_SIPHASH_TAG_LEN;
	roost_siphash_tag(lease->state->mac_key, ticket, body, tag);
	if (!tag_is(tag, ticket + body))
		return false;
	for (unsigned int i = 0; i < HEAD_WORDS; i++)
		head[i] = get32(&at);
	return head[HEAD_MAGIC] == MAGIC &&
	       head[HEAD_SLOT] < ROOST_CLIENTS_MAX &&
	       body == body_len(head[HEAD_BLOCKS], head[HEAD_PREFIXES],
				head[HEAD_CLAIMS]);
}

int roost_lease_ticket_addr(const struct roost_lease *lease,
			    const uint8_t *ticket, size_t len_bytes,
			    struct roost_gid *own)
{
	uint32_t head[HEAD_WORDS];

	if (!is_genuine(lease, ticket, len_bytes, head))
		return -EBADMSG;
	memcpy(own->b, ticket + sizeof(head), sizeof(own->b));
	return 0;
}

static int check_head(const struct roost_lease *lease,
		      const uint32_t head[HEAD_WORDS], uint32_t uid)
{
	const struct roost_client *c = &lease->clients[head[HEAD_SLOT]];
	const uint32_t serial = lease->state->slots[head[HEAD_SLOT]].serial;
	const uint32_t issued = lease->state->slots[head[HEAD_SLOT]].issued;
	const bool same_generation =
		lease->state->slots[head[HEAD_SLOT]].generation ==
		head[HEAD_GENERATION];

	if (head[HEAD_UID] != uid)
		return -EPERM;
	if (c->used && same_generation)
		return -EALREADY;
	if (!c->away)
		return same_generation && c->expired ? -ETIMEDOUT : -ESTALE;
	/* Of the last ticket, or of one that was given but not committed. */
	if (!same_generation ||
	    (head[HEAD_SERIAL] != serial && head[HEAD_SERIAL] != issued))
		return -ESTALE;
	return 0;
}

static struct roost_claim get_claim(const uint8_t **at)
{
	struct roost_claim claim = { .service_id = get32(at) };
	uint32_t word;

	claim.service_id |= (uint64_t)get32(at) << 32;
	memcpy(claim.addr.b, *at, sizeof(claim.addr.b));
	*at += sizeof(claim.addr.b);
	word = get32(at);
	claim.family = (uint8_t)(word >> 8);
	claim.listens = word & CLAIM_LISTENS;
	claim.reuseaddr = word & CLAIM_REUSEADDR;
	claim.afonly = word & CLAIM_AFONLY;
	return claim;
}

static int take_all(struct roost_lease *lease, const uint32_t head[HEAD_WORDS],
		    const uint8_t *at)
{
	const uint16_t slot = (uint16_t)head[HEAD_SLOT];
	struct roost_client *c = &lease->clients[slot];
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < head[HEAD_BLOCKS]; i++)
		ret = roost_pool_take_this(&lease->blocks, slot, c->conf.uid,
					   &c->blocks, get32(&at));
	for (uint32_t i = 0; ret == 0 && i < head[HEAD_PREFIXES]; i++)
		ret = roost_pool_take_this(&lease->prefixes, slot, c->conf.uid,
					   &c->prefixes, get32(&at));
	for (uint32_t i = 0; ret == 0 && i < head[HEAD_CLAIMS]; i++) {
		const struct roost_claim claim = get_claim(&at);

		ret = roost_lease_claim_enter(lease, slot, &claim);
	}
	return ret;
}

int roost_lease_present(struct roost_lease *lease, const uint8_t *ticket,
			size_t len_bytes, const struct roost_client_conf *conf,
			uint64_t now_ns, uint16_t *client)
{
	uint32_t head[HEAD_WORDS];
	uint16_t slot;
	int ret;

	roost_lease_recovering(lease, now_ns);
	if (!is_genuine(lease, ticket, len_bytes, head))
		return -EBADMSG;
	ret = check_head(lease, head, conf->uid);
	if (ret)
		return ret;
	slot = (uint16_t)head[HEAD_SLOT];
	ret = roost_lease_client_enter(lease, slot, conf);
	if (ret)
		return ret;
	lease->clients[slot].away = false;
	lease->nb_away--;
	lease->state->slots[slot].serial = head[HEAD_SERIAL];
	ret = take_all(lease, head, ticket + HEAD_LEN);
	if (ret) {
		/* No two tickets that count name the same number. */
		roost_lease_client_remove(lease, slot, now_ns);
		return ret;
	}
	roost_lease_show_blocks(lease, slot, true);
	*client = slot;
	return 0;
}

bool roost_lease_client_await(struct roost_lease *lease, uint16_t client,
			      uint32_t serial, uint64_t now_ns)
{
	struct roost_client *c = &lease->clients[client];

	if (now_ns >= lease->grace_at_ns)
		return false;
	/* Numbers that it leased are in quarantine, and nothing is leased. */
	lease->state->slots[client].serial = serial;
	c->away = true;
	lease->nb_away++;
	return true;
}
