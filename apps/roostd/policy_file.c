/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The sections [service] and [policy NAME] of the daemon's file. */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/policy.h"
#include "lib/config/fail.h"
#include "lib/config/key.h"
#include "lib/config/list.h"
#include "lib/config/nearest.h"
#include "lib/config/resolve.h"

#define POLICY "policy"
#define GRACE_MAX_S 3600u
/* A token bucket of it can be counted (switch/fair.c). */
#define RATE_MAX 1000000000000u

/* ---- values -------------------------------------------------------------- */

/* Digits and a unit of the list, which multiplies by base for each one.
 * Returns false: it is none, or too big.
 */
static bool parse_scaled(const char *value, const char *units, uint64_t base,
			 uint64_t *number)
{
	char *end;
	const char *unit;

	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	*number = strtoull(value, &end, 10);
	if (errno)
		return false;
	if (*end == '\0')
		return true;
	unit = strchr(units, *end == 'K' ? 'k' : *end);
	if (!unit || end[1] != '\0')
		return false;
	for (const char *u = units; u <= unit; u++)
		if (__builtin_mul_overflow(*number, base, number))
			return false;
	return true;
}

static int parse_count(void *member, const char *value, char *cause)
{
	uint64_t n;

	if (!parse_scaled(value, "", 1, &n) || n >= UINT32_MAX)
		return roost_config_fail(cause,
					 "'%.80s': not a number; give how many",
					 value);
	*(uint32_t *)member = (uint32_t)n;
	return 0;
}

/* As they are leased. */
static int parse_qps(void *member, const char *value, char *cause)
{
	const uint32_t block = ROOST_LEASE_BLOCK_LEN;
	uint32_t n = 0;

	if (parse_count(&n, value, cause))
		return -EINVAL;
	if (n < 1 || n > block * ROOST_LEASE_BLOCKS)
		return roost_config_fail(cause,
					 "'%.80s': no number of queue pairs; "
					 "use 1 to %u",
					 value, block * ROOST_LEASE_BLOCKS);
	*(uint32_t *)member = (n + block - 1) / block * block;
	return 0;
}

static int parse_weight(void *member, const char *value, char *cause)
{
	uint32_t n = 0;

	if (parse_count(&n, value, cause))
		return -EINVAL;
	if (n < 1 || n > 1000)
		return roost_config_fail(cause,
					 "'%.80s': no weight; use 1 to 1000",
					 value);
	*(uint32_t *)member = n;
	return 0;
}

static int parse_rate(void *member, const char *value, char *cause)
{
	uint64_t bits;

	if (!parse_scaled(value, "kMGT", 1000, &bits) ||
	    (bits != 0 && (bits < 8000 || bits > RATE_MAX)))
		return roost_config_fail(cause,
					 "'%.80s': not a rate; give bits per "
					 "second from 8k to 1T, as in 500M or "
					 "10G, or 0 for any",
					 value);
	*(uint64_t *)member = bits;
	return 0;
}

static int parse_memory(void *member, const char *value, char *cause)
{
	uint64_t bytes;

	if (!parse_scaled(value, "kMGT", 1024, &bytes) ||
	    (bytes != 0 && bytes < 512 * 1024))
		return roost_config_fail(cause,
					 "'%.80s': not a size; give bytes from "
					 "512K, as in 2M, or 0 for any",
					 value);
	*(uint64_t *)member = bytes;
	return 0;
}

static int parse_seconds(void *member, const char *value, char *cause)
{
	uint64_t s;

	if (!parse_scaled(value, "", 1, &s) || s > GRACE_MAX_S)
		return roost_config_fail(cause,
					 "'%.80s': not a time; give seconds "
					 "from 0 to %u",
					 value, GRACE_MAX_S);
	*(uint64_t *)member = s * 1000000000u;
	return 0;
}

static int parse_mode(void *member, const char *value, char *cause)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (*value < '0' || *value > '7' || *end || mode > 0777)
		return roost_config_fail(cause,
					 "'%.80s': not a mode; give octal "
					 "digits, as in 0660",
					 value);
	*(uint32_t *)member = (uint32_t)mode;
	return 0;
}

static int parse_socket(void *member, const char *value, char *cause)
{
	if (value[0] != '/' || strlen(value) >= ROOST_SERVICE_MAX ||
	    strchr(value, ','))
		return roost_config_fail(cause,
					 "'%.80s': not a path for a socket; "
					 "give an absolute one of up to %d "
					 "bytes without commas",
					 value, ROOST_SERVICE_MAX - 1);
	strcpy(member, value);
	return 0;
}

static int parse_metrics(void *member, const char *value, char *cause)
{
	struct sockaddr_storage addr;
	socklen_t len;

	if (roost_metrics_addr_parse(value, &addr, &len))
		return roost_config_fail(cause,
					 "'%.80s': no place for metrics; give "
					 "the absolute path of a socket, or "
					 "127.0.0.1:PORT",
					 value);
	strcpy(member, value);
	return 0;
}

static int parse_group(void *member, const char *value, char *cause)
{
	struct roost_users one = { .nb = 0 };

	if (roost_config_parse_groups(&one, value, cause))
		return -EINVAL;
	if (one.nb != 1)
		return roost_config_fail(cause,
					 "'%.80s': a socket has one group; "
					 "leave the others out",
					 value);
	*(uint32_t *)member = one.v[0];
	return 0;
}

static int parse_addrs(void *member, const char *value, char *cause)
{
	struct roost_prefixes *addrs = member;

	if (strcmp(value, "shared") == 0 && addrs->nb == 0)
		return 0;
	return roost_config_parse_ips(member, value, cause);
}

/* ---- keys ---------------------------------------------------------------- */

struct key {
	const char *name;
	bool list; /* may be given several times */
	size_t offset;
	int (*parse)(void *member, const char *value, char *cause);
};

#define KEY(object, name, member, list, parse)                                 \
	{                                                                      \
		name, list, offsetof(struct object, member), parse             \
	}

static const struct key service_keys[] = {
	KEY(roostd_service, "socket", socket, false, parse_socket),
	KEY(roostd_service, "mode", mode, false, parse_mode),
	KEY(roostd_service, "group", gid, false, parse_group),
	KEY(roostd_service, "metrics", metrics, false, parse_metrics),
	KEY(roostd_service, "metrics_mode", metrics_mode, false, parse_mode),
	KEY(roostd_service, "metrics_group", metrics_gid, false, parse_group),
	KEY(roostd_service, "grace", grace_ns, false, parse_seconds),
	KEY(roostd_service, "patience", patience_ns, false, parse_seconds),
	KEY(roostd_service, "threads", threads, false, parse_count),
	KEY(roostd_service, "direct", direct, false, roost_config_parse_bool),
};

static const struct key policy_keys[] = {
	KEY(roostd_policy, "users", users, true, roost_config_parse_users),
	KEY(roostd_policy, "groups", groups, true, roost_config_parse_groups),
	KEY(roostd_policy, "clients", max_clients, false, parse_count),
	KEY(roostd_policy, "qps", max_qps, false, parse_qps),
	KEY(roostd_policy, "connections", max_conns, false, parse_count),
	KEY(roostd_policy, "half_open", max_half_open, false, parse_count),
	KEY(roostd_policy, "services", max_services, false, parse_count),
	KEY(roostd_policy, "memberships", max_memberships, false, parse_count),
	KEY(roostd_policy, "memory", memory_bytes, false, parse_memory),
	KEY(roostd_policy, "rate", rate_bits_per_s, false, parse_rate),
	KEY(roostd_policy, "weight", weight, false, parse_weight),
	KEY(roostd_policy, "address", addrs, true, parse_addrs),
	KEY(roostd_policy, "direct", direct, false, roost_config_parse_bool),
};

#define NB(keys) (sizeof(keys) / sizeof((keys)[0]))
_Static_assert(NB(policy_keys) <= 32, "they have a bit each");

/* ---- sections ------------------------------------------------------------ */

/* The file while it is read. */
struct reader {
	struct roostd_service *service;
	bool had_service;             /* its section began */
	struct roostd_policy *policy; /* whose keys follow; NULL: service's */
};

static int begin_policy(struct roostd_service *service, const char *where,
			const char *name, char *err)
{
	struct roostd_policy *p = &service->policies[service->nb_policies];

	if (strlen(name) > ROOSTD_POLICY_NAME_MAX || strpbrk(name, "'[]"))
		return roost_config_fail(err,
					 "%s: the name of a policy has up to "
					 "%d characters and no quotes; choose "
					 "another one",
					 where, ROOSTD_POLICY_NAME_MAX);
	for (unsigned int i = 0; i < service->nb_policies; i++)
		if (strcmp(service->policies[i].name, name) == 0)
			return roost_config_fail(err,
						 "%s: second section [" POLICY
						 " %s]; join the "
						 "two",
						 where, name);
	if (service->nb_policies == ROOSTD_POLICIES_MAX)
		return roost_config_fail(err,
					 "%s: more than %u policies; join some",
					 where, ROOSTD_POLICIES_MAX);
	strcpy(p->name, name);
	service->nb_policies++;
	return 0;
}

static int begin(void *ctx, const char *where, const char *section, char *err)
{
	struct reader *r = ctx;
	const char *name = section + strlen(POLICY);

	if (strcmp(section, "service") == 0) {
		if (r->had_service)
			return roost_config_fail(err,
						 "%s: second section "
						 "[service]; join the two",
						 where);
		r->had_service = true;
		r->policy = NULL;
		return 0;
	}
	if (strncmp(section, POLICY, strlen(POLICY)) != 0)
		return -ENOENT;
	name += strspn(name, " \t");
	if (*name == '\0')
		return roost_config_fail(err,
					 "%s: a policy without a name; write "
					 "[" POLICY " NAME]",
					 where);
	r->policy = &r->service->policies[r->service->nb_policies];
	return begin_policy(r->service, where, name, err);
}

static int unknown_key(const struct key *keys, size_t nb, const char *where,
		       const char *name, char *err)
{
	char advice[ROOST_NAME_ADVICE_MAX];
	const char *known[32];

	for (size_t i = 0; i < nb; i++)
		known[i] = keys[i].name;
	return roost_config_fail(err, "%s: unknown key '%s'; %s", where, name,
				 roost_name_advise(advice, name, known, nb,
						   "'*'", "see roost.conf(5)"));
}

/* Clients of two policies would take an address in turns. */
static int check_addrs(const struct reader *r)
{
	struct roostd_service others = *r->service;

	others.nb_policies--; /* this one is the last */
	for (unsigned int i = 0; i < r->policy->addrs.nb; i++)
		if (roostd_service_has_addr(&others,
					    &r->policy->addrs.v[i].gid))
			return -EEXIST;
	return 0;
}

static int entry(void *ctx, const char *where, const char *name,
		 const char *value, char *err)
{
	struct reader *r = ctx;
	const struct key *keys = r->policy ? policy_keys : service_keys;
	const size_t nb = r->policy ? NB(policy_keys) : NB(service_keys);
	uint32_t *set = r->policy ? &r->policy->set : &r->service->set;
	char *object = r->policy ? (char *)r->policy : (char *)r->service;
	char cause[ROOST_CONFIG_ERR_MAX];
	size_t i = 0;

	while (i < nb && strcmp(keys[i].name, name) != 0)
		i++;
	if (i == nb)
		return unknown_key(keys, nb, where, name, err);
	if (*set & 1u << i && !keys[i].list)
		return roost_config_fail(err, "%s: %s: given twice; keep one",
					 where, name);
	if (keys[i].parse(object + keys[i].offset, value, cause))
		return roost_config_fail(err, "%s: %s: %s", where, name, cause);
	if (r->policy && keys[i].parse == parse_addrs && check_addrs(r))
		return roost_config_fail(err,
					 "%s: %s: another policy has one of "
					 "them; leave it out there or here",
					 where, name);
	*set |= 1u << i;
	return 0;
}

int roostd_policy_set(struct roostd_policy *policy, const char *name,
		      const char *value, char *cause)
{
	for (size_t i = 0; i < NB(policy_keys); i++)
		if (strcmp(policy_keys[i].name, name) == 0)
			return policy_keys[i].parse(
				(char *)policy + policy_keys[i].offset, value,
				cause);
	return roost_config_fail(cause, "unknown key; see roost.conf(5)");
}

int roostd_service_load(const char *path, struct roost_config *ports,
			struct roostd_service *service, char *err)
{
	struct reader reader = { .service = service };
	const struct roost_config_sections ours = { &reader, begin, entry };
	int ret;

	roostd_service_init(service);
	ret = roost_config_resolve_file(ports, path, &ours, err);
	return ret;
}
