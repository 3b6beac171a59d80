/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/policy.h"

#include <stdio.h>
#include <string.h>

#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"
#include "apps/roostd/switch/seen.h"
#include "pmd_glue/share/hub.h"

/* Slots of the memory for a client; with fewer, a burst does not fit. */
#define SLOTS 256u
#define SLOTS_MIN 32u
/* Of 2^19 communication ids each. Those of a client that went are in
 * quarantine: fewer of them is less that one who comes and goes takes from all.
 */
#define PREFIXES 8u
/* What the allocator adds to a small object. */
#define MALLOC_BYTES 16u

/* ---- defaults ------------------------------------------------------------ */

#define DEFAULTS                                                               \
	.max_clients = UINT32_MAX, .max_qps = 100032, .max_conns = 65536,      \
	.max_half_open = 20480, .max_services = 65536,                         \
	.max_memberships = 1024, .weight = 1, .direct = true

/* For everybody where the file has no policy, and what one that the file has
 * begins with.
 */
static const struct roostd_policy defaults = { DEFAULTS };

void roostd_policy_init(struct roostd_policy *policy)
{
	*policy = defaults;
}

void roostd_service_init(struct roostd_service *service)
{
	*service = (struct roostd_service){
		.socket = ROOST_SHARE_SYSTEM_SOCKET,
		.mode = 0666,
		.gid = UINT32_MAX,
		.metrics_mode = 0660,
		.metrics_gid = UINT32_MAX,
		.grace_ns = 2000000000u,
		.patience_ns = 10000000000u,
		.direct = true,
	};
	for (unsigned int i = 0; i < ROOSTD_POLICIES_MAX; i++)
		service->policies[i] = defaults;
}

/* ---- whose is it --------------------------------------------------------- */

static bool has(const struct roost_users *ids, uint32_t id)
{
	for (unsigned int i = 0; i < ids->nb; i++)
		if (ids->v[i] == id)
			return true;
	return false;
}

static bool is_for(const struct roostd_policy *policy,
		   const struct roostd_user *user)
{
	if (policy->users.nb == 0 && policy->groups.nb == 0)
		return true;
	if (has(&policy->users, user->uid) || has(&policy->groups, user->gid))
		return true;
	for (unsigned int i = 0; i < user->nb_groups; i++)
		if (has(&policy->groups, user->groups[i]))
			return true;
	return false;
}

const struct roostd_policy *
roostd_policy_find(const struct roostd_service *service,
		   const struct roostd_user *user,
		   char refusal[ROOSTD_REFUSAL_MAX])
{
	if (service->nb_policies == 0)
		return &defaults;
	for (unsigned int i = 0; i < service->nb_policies; i++)
		if (is_for(&service->policies[i], user))
			return &service->policies[i];
	snprintf(refusal, ROOSTD_REFUSAL_MAX,
		 "no policy is for user %u or a group of the user's; ask the "
		 "administrator for one",
		 user->uid);
	return NULL;
}

bool roostd_service_has_addr(const struct roostd_service *service,
			     const struct roost_gid *gid)
{
	for (unsigned int i = 0; i < service->nb_policies; i++) {
		const struct roost_prefixes *addrs =
			&service->policies[i].addrs;

		for (unsigned int j = 0; j < addrs->nb; j++)
			if (roost_gid_eq(&addrs->v[j].gid, gid))
				return true;
	}
	return false;
}

/* ---- limits -------------------------------------------------------------- */

struct roost_shm_shape roostd_policy_shape(const struct roostd_policy *policy)
{
	struct roost_shm_shape shape = {
		.nb_slots = SLOTS,
		.slot_bytes = ROOST_SHM_SLOT_BYTES,
		.nb_seats = 1,
		.ring_len = SLOTS,
	};

	while (policy->memory_bytes != 0 && shape.nb_slots > SLOTS_MIN &&
	       roost_shm_shape_bytes(&shape) > policy->memory_bytes / 2)
		shape.ring_len = shape.nb_slots /= 2;
	return shape;
}

/* How many objects of a size fit into a share of what is left. */
static uint32_t fit(uint32_t most, uint64_t bytes, size_t size)
{
	const uint64_t nb = bytes / (size + MALLOC_BYTES);

	return nb < most ? (uint32_t)nb : most;
}

/* The objects of a client's that the daemon allocates one by one, within what
 * its memory leaves: half of that for connections.
 */
static void bound(const struct roostd_policy *policy,
		  struct roost_client_conf *conf)
{
	const struct roost_shm_shape shape = roostd_policy_shape(policy);
	const size_t ring = roost_shm_shape_bytes(&shape);
	uint64_t rest;

	if (policy->memory_bytes == 0)
		return;
	rest = policy->memory_bytes > ring ? policy->memory_bytes - ring : 0;
	conf->max_conns =
		fit(conf->max_conns, rest / 2, sizeof(struct roost_seen));
	conf->max_services =
		fit(conf->max_services, rest / 4,
		    ROOST_CLAIMS_OF_SERVICE * sizeof(struct roost_claim_entry));
	/* A member's place in the group is small. */
	conf->max_groups =
		fit(conf->max_groups, rest / 4, sizeof(struct roost_group));
	if (conf->max_half_open > conf->max_conns)
		conf->max_half_open = conf->max_conns;
}

struct roost_client_conf roostd_policy_conf(const struct roostd_policy *policy,
					    uint32_t uid)
{
	struct roost_client_conf conf = {
		.uid = uid,
		.max_qps = policy->max_qps,
		.max_prefixes = PREFIXES,
		.max_services = policy->max_services,
		.max_groups = policy->max_memberships,
		.max_conns = policy->max_conns,
		.max_half_open = policy->max_half_open,
		.weight = policy->weight,
		.rate_bytes_per_s = policy->rate_bits_per_s / 8,
	};

	bound(policy, &conf);
	return conf;
}

/* ---- refusals ------------------------------------------------------------ */

static const struct {
	const char *one, *many;
	const char *fix;
} limits[] = {
	[ROOSTD_LIMIT_CLIENTS] = { "client", "clients", "end one of them" },
	[ROOSTD_LIMIT_QPS] = { "queue pair", "queue pairs", "use fewer" },
	[ROOSTD_LIMIT_PREFIXES] = { "block of communication ids",
				    "blocks of communication ids",
				    "use fewer connections" },
	[ROOSTD_LIMIT_SERVICES] = { "service", "services",
				    "use fewer port numbers" },
	[ROOSTD_LIMIT_MEMBERSHIPS] = { "multicast group", "multicast groups",
				       "leave one" },
	[ROOSTD_LIMIT_ADDRS] = { "address, one a client",
				 "addresses, one a client",
				 "end a client that has one" },
};

void roostd_policy_refuse(char refusal[ROOSTD_REFUSAL_MAX], const char *policy,
			  enum roostd_limit limit, uint32_t most, uint32_t uid)
{
	char name[ROOSTD_POLICY_NAME_MAX + 16] = "the default policy";
	char whose[32] = "a client";

	if (*policy)
		snprintf(name, sizeof(name), "policy '%s'", policy);
	if (limit == ROOSTD_LIMIT_CLIENTS)
		snprintf(whose, sizeof(whose), "of user %u", uid);
	else if (limit == ROOSTD_LIMIT_ADDRS)
		*whose = '\0';
	snprintf(refusal, ROOSTD_REFUSAL_MAX, "%s allows %u %s%s%s; %s", name,
		 most, most == 1 ? limits[limit].one : limits[limit].many,
		 *whose ? " " : "", whose,
		 most ? limits[limit].fix : "ask the administrator");
}
