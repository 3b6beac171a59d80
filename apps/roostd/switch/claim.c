/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/claim.h"

#include <errno.h>
#include <stdlib.h>

/* As in cm/rdmacm/ports.c. */
#define EPHEMERAL_FIRST 32768u
#define EPHEMERAL_NB 28232u
/* How many a request for a free one looks at, so that it stops the daemon for
 * microseconds at most. The step has no common factor with their number.
 */
#define PROBES 256u
#define PROBE_STEP 7919u

/* How well a listener fits a request; the best one gets it. */
enum fit {
	FIT_NONE,
	FIT_ANY,
	FIT_FAMILY,
	FIT_ADDR,
};

static uint32_t bucket_of(const struct roost_lease *lease, uint64_t service_id)
{
	static const struct roost_gid none;

	return roost_lease_hash(lease->hash_key, &none, service_id) %
	       ROOST_LEASE_CLAIM_BUCKETS;
}

/* Clients with addresses of their own have a name space of their own. */
static uint16_t space_of(const struct roost_lease *lease, uint16_t client)
{
	return lease->clients[client].conf.nb_gids > 0 ? client
						       : ROOST_CLIENT_NONE;
}

static bool is_wildcard(const struct roost_claim *claim)
{
	return roost_gid_is_zero(&claim->addr);
}

static int conflict(const struct roost_claim *a, const struct roost_claim *b)
{
	if (a->afonly && b->afonly && a->family != b->family)
		return 0;
	if (a->service_id != b->service_id ||
	    (!a->listens && !b->listens && a->reuseaddr && b->reuseaddr))
		return 0;
	if (is_wildcard(a) || is_wildcard(b))
		return -EADDRNOTAVAIL;
	return roost_gid_eq(&a->addr, &b->addr) ? -EADDRINUSE : 0;
}

static int check(const struct roost_lease *lease, uint16_t client,
		 const struct roost_claim *claim)
{
	const uint16_t space = space_of(lease, client);
	const struct roost_claim_entry *other;
	int ret;

	LIST_FOREACH(other, &lease->claims[bucket_of(lease, claim->service_id)],
		     link) {
		if (other->client == client ||
		    space_of(lease, other->client) != space)
			continue;
		ret = conflict(claim, &other->claim);
		if (ret)
			return ret;
	}
	return 0;
}

/* True if nobody has the port number, at any address. */
static bool is_free(const struct roost_lease *lease, uint16_t client,
		    uint64_t service_id)
{
	const uint16_t space = space_of(lease, client);
	const struct roost_claim_entry *other;

	LIST_FOREACH(other, &lease->claims[bucket_of(lease, service_id)], link)
		if (other->claim.service_id == service_id &&
		    space_of(lease, other->client) == space)
			return false;
	return true;
}

static int find_port(struct roost_lease *lease, uint16_t client,
		     struct roost_claim *claim)
{
	uint64_t at = roost_lease_random(lease) % EPHEMERAL_NB;

	for (uint32_t i = 0; i < PROBES; i++) {
		const uint64_t id = claim->service_id | (EPHEMERAL_FIRST + at);

		at = (at + PROBE_STEP) % EPHEMERAL_NB;
		if (is_free(lease, client, id)) {
			claim->service_id = id;
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

/* A listener at an address may leave its family open. */
static bool is_valid(const struct roost_claim *claim)
{
	if (claim->family > ROOST_CM_FAMILY_IPV6)
		return false;
	return is_wildcard(claim) || claim->family == ROOST_CM_FAMILY_ANY ||
	       roost_gid_is_v4(&claim->addr) ==
		       (claim->family == ROOST_CM_FAMILY_IPV4);
}

/* The address is one that the client's packets may come from. */
static bool is_own(const struct roost_lease *lease, uint16_t client,
		   const struct roost_claim *claim)
{
	const struct roost_lease_addr *addr;

	if (is_wildcard(claim))
		return true;
	addr = roost_lease_addr_find(lease, &claim->addr);
	return addr && roost_lease_addr_is_of(lease, addr, client);
}

static bool same(const struct roost_claim *a, const struct roost_claim *b)
{
	return a->service_id == b->service_id && a->family == b->family &&
	       a->listens == b->listens && roost_gid_eq(&a->addr, &b->addr);
}

/* The client's, with this in all. */
static struct roost_claim_entry *find_equal(const struct roost_lease *lease,
					    uint16_t client,
					    const struct roost_claim *claim)
{
	struct roost_claim_entry *entry;

	LIST_FOREACH(entry, &lease->claims[bucket_of(lease, claim->service_id)],
		     link)
		if (entry->client == client && same(&entry->claim, claim) &&
		    entry->claim.reuseaddr == claim->reuseaddr &&
		    entry->claim.afonly == claim->afonly)
			return entry;
	return NULL;
}

/* Has the client a claim on the number, at any address? */
static bool has_service(const struct roost_lease *lease, uint16_t client,
			uint64_t service_id)
{
	const struct roost_claim_entry *entry;

	LIST_FOREACH(entry, &lease->claims[bucket_of(lease, service_id)], link)
		if (entry->client == client &&
		    entry->claim.service_id == service_id)
			return true;
	return false;
}

/* One more of this number is within the limits of the client. */
static bool may_claim(const struct roost_lease *lease, uint16_t client,
		      uint64_t service_id)
{
	const struct roost_client *c = &lease->clients[client];

	return c->nb_claims / ROOST_CLAIMS_OF_SERVICE < c->conf.max_services &&
	       (c->nb_services < c->conf.max_services ||
		has_service(lease, client, service_id));
}

int roost_lease_claim_enter(struct roost_lease *lease, uint16_t client,
			    const struct roost_claim *claim)
{
	struct roost_claim_entry *entry;
	int ret;

	if (!is_valid(claim))
		return -EINVAL;
	entry = find_equal(lease, client, claim);
	if (entry) {
		entry->nb++;
		lease->clients[client].nb_claims++;
		return 0;
	}
	ret = check(lease, client, claim);
	if (ret)
		return ret;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->claim = *claim;
	entry->client = client;
	entry->nb = 1;
	lease->clients[client].nb_services +=
		!has_service(lease, client, claim->service_id);
	LIST_INSERT_HEAD(&lease->claims[bucket_of(lease, claim->service_id)],
			 entry, link);
	LIST_INSERT_HEAD(&lease->clients[client].claims, entry, of_client);
	lease->clients[client].nb_claims++;
	return 0;
}

int roost_lease_claim(struct roost_lease *lease, uint16_t client,
		      struct roost_claim *claim, uint64_t now_ns)
{
	int ret = 0;

	if (!is_valid(claim))
		return -EINVAL;
	if (roost_lease_recovering(lease, now_ns))
		return -EAGAIN;
	if (!may_claim(lease, client, claim->service_id))
		return -EDQUOT;
	if (!is_own(lease, client, claim))
		return -EACCES;
	if (!claim->listens && (claim->service_id & 0xffff) == 0)
		ret = find_port(lease, client, claim);
	return ret ? ret : roost_lease_claim_enter(lease, client, claim);
}

static void drop(struct roost_lease *lease, struct roost_claim_entry *entry)
{
	const uint16_t client = entry->client;

	LIST_REMOVE(entry, link);
	LIST_REMOVE(entry, of_client);
	lease->clients[client].nb_services -=
		!has_service(lease, client, entry->claim.service_id);
	free(entry);
}

int roost_lease_unclaim(struct roost_lease *lease, uint16_t client,
			const struct roost_claim *claim)
{
	struct roost_claim_entry *entry;

	LIST_FOREACH(entry, &lease->claims[bucket_of(lease, claim->service_id)],
		     link)
		if (entry->client == client && same(&entry->claim, claim)) {
			lease->clients[client].nb_claims--;
			if (--entry->nb == 0)
				drop(lease, entry);
			return 0;
		}
	return -ENOENT;
}

void roost_lease_unclaim_all(struct roost_lease *lease, uint16_t client)
{
	struct roost_claim_entry *entry;

	while ((entry = LIST_FIRST(&lease->clients[client].claims)) != NULL)
		drop(lease, entry);
	lease->clients[client].nb_claims = 0;
}

static enum fit fits(const struct roost_claim *claim,
		     const struct roost_gid *to, bool has_ip)
{
	const bool any = claim->family == ROOST_CM_FAMILY_ANY;

	if (!has_ip)
		return is_wildcard(claim) && any ? FIT_ANY : FIT_NONE;
	if (!is_wildcard(claim))
		return roost_gid_eq(&claim->addr, to) ? FIT_ADDR : FIT_NONE;
	if (any)
		return FIT_ANY;
	return roost_gid_is_v4(to) == (claim->family == ROOST_CM_FAMILY_IPV4)
		       ? FIT_FAMILY
		       : FIT_NONE;
}

uint16_t roost_lease_listener(const struct roost_lease *lease,
			      uint64_t service_id,
			      const struct roost_lease_addr *to, bool has_ip)
{
	const struct roost_claim_entry *entry;
	uint16_t best = ROOST_CLIENT_NONE;
	enum fit best_fit = FIT_NONE;

	LIST_FOREACH(entry, &lease->claims[bucket_of(lease, service_id)],
		     link) {
		enum fit fit;

		if (!entry->claim.listens ||
		    entry->claim.service_id != service_id ||
		    !roost_lease_addr_is_of(lease, to, entry->client))
			continue;
		fit = fits(&entry->claim, &to->gid, has_ip);
		if (fit <= best_fit)
			continue;
		best_fit = fit;
		best = entry->client;
	}
	return best;
}
