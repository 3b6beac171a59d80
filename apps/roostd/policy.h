/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_POLICY_H
#define ROOST_APPS_ROOSTD_POLICY_H

/*
 * Who may be a client of the daemon, and how much of it a client may have: the
 * sections [service] and [policy NAME] of the daemon's file (policy_file.c),
 * and what follows from them for one client. Pure, but for the system's
 * databases of users and groups, which the file's names are looked up in.
 *
 * The first policy that is for a user holds for the user's clients. Without
 * any policy there is the default one, for everybody who can open the socket;
 * with some, those whom none is for are refused.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include "apps/metrics_addr.h"
#include "apps/roostd/switch/lease.h"
#include "pmd_glue/channel/memory.h"

#define ROOSTD_POLICIES_MAX 32u
#define ROOSTD_POLICY_NAME_MAX 31 /* characters */
/* A line for a client fits into a message of its session. */
#define ROOSTD_REFUSAL_MAX 128u

struct roostd_policy {
	char name[ROOSTD_POLICY_NAME_MAX + 1]; /* empty: the default one */
	uint32_t set; /* keys that were given; see policy_file.c */
	/* Whom it is for: one of these users, or a member of one of these
	 * groups. Neither given: everybody.
	 */
	struct roost_users users;
	struct roost_users groups;
	uint32_t max_clients; /* of one user at a time; UINT32_MAX: any */
	uint32_t max_qps;     /* a multiple of ROOST_LEASE_BLOCK_LEN */
	uint32_t max_conns;
	uint32_t max_half_open;
	uint32_t max_services;
	uint32_t max_memberships;
	uint32_t weight;
	uint64_t rate_bits_per_s; /* to the network; 0: any */
	uint64_t memory_bytes;    /* of the daemon's; 0: any */
	/* Each client gets the first of these that is free; none: it shares
	 * the port's.
	 */
	struct roost_prefixes addrs;
	bool direct; /* channels to other clients of its user */
};

struct roostd_service {
	uint32_t set;
	char socket[ROOST_SERVICE_MAX];
	uint32_t mode; /* of the socket */
	uint32_t gid;  /* of the socket; UINT32_MAX: as it comes */
	/* Where metrics are told (metrics_addr.h); empty: nowhere. */
	char metrics[ROOST_METRICS_ADDR_MAX];
	uint32_t metrics_mode; /* of a socket of theirs */
	uint32_t metrics_gid;
	/* Old clients have so long to come back after a restart. */
	uint64_t grace_ns;
	/* A client waits so long for a daemon that has gone. */
	uint64_t patience_ns;
	uint32_t threads; /* of the daemon, at the most; 0: no bound */
	bool direct;      /* no: for no client, whatever its policy says */
	unsigned int nb_policies;
	struct roostd_policy policies[ROOSTD_POLICIES_MAX];
};

/* The default policy. */
void roostd_policy_init(struct roostd_policy *policy);
/* Set one key of a policy by its name in a file. Returns 0; -EINVAL, with the
 * cause and the fix in cause (ROOST_CONFIG_ERR_MAX bytes).
 */
int roostd_policy_set(struct roostd_policy *policy, const char *name,
		      const char *value, char *cause);

/* What holds where there is no file, for a hub too. */
void roostd_service_init(struct roostd_service *service);

/*
 * Read the daemon's file: its own sections, and the ports that it owns with
 * what is for the process. Returns 0; else as roost_config_load(), with a line
 * in err (ROOST_CONFIG_ERR_MAX bytes).
 */
int roostd_service_load(const char *path, struct roost_config *ports,
			struct roostd_service *service, char *err);

/* Is the address one that a policy gives to clients? Then the clients of the
 * port do not share it.
 */
bool roostd_service_has_addr(const struct roostd_service *service,
			     const struct roost_gid *gid);

/* Who asks, as the kernel knows it. */
struct roostd_user {
	uint32_t uid;
	uint32_t gid;
	const uint32_t *groups; /* supplementary ones */
	unsigned int nb_groups;
};

/* The policy for a user; NULL: none is, and refusal says so. */
const struct roostd_policy *
roostd_policy_find(const struct roostd_service *service,
		   const struct roostd_user *user,
		   char refusal[ROOSTD_REFUSAL_MAX]);

/* What the policy makes of a client, but for its addresses. */
struct roost_client_conf roostd_policy_conf(const struct roostd_policy *policy,
					    uint32_t uid);

/* The memory that the daemon makes for such a client: fewer slots where the
 * policy's bound is low.
 */
struct roost_shm_shape roostd_policy_shape(const struct roostd_policy *policy);

enum roostd_limit {
	ROOSTD_LIMIT_CLIENTS,
	ROOSTD_LIMIT_QPS,
	ROOSTD_LIMIT_PREFIXES,
	ROOSTD_LIMIT_SERVICES,
	ROOSTD_LIMIT_MEMBERSHIPS,
	ROOSTD_LIMIT_ADDRS,
};

/* The line for a client that wants more. policy: its name; empty: the default
 * one. most: what it allows.
 */
void roostd_policy_refuse(char refusal[ROOSTD_REFUSAL_MAX], const char *policy,
			  enum roostd_limit limit, uint32_t most, uint32_t uid);

#endif
