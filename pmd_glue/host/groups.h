/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_GROUPS_H
#define ROOST_PMD_GLUE_HOST_GROUPS_H

/*
 * The multicast groups that a port receives: those that QPs are attached to,
 * and those that make it an IP host (all hosts, and the solicited-node groups
 * of its IPv6 addresses, RFC 4861, 7.2.1).
 *
 * Two things follow from a group: routers and switches are told
 * (pmd_glue/host/membership.h says how, and why we do that even where a kernel
 * shares the port), and the port has to let its frames through:
 *  - a port that is DPDK's own gets the list of MAC addresses; where the
 *    driver has no such filter, or no room in it, or where several devices are
 *    on the port, it receives all groups, and so it does with a twin, of whose
 *    groups nobody tells us;
 *  - a port that a kernel shares receives all groups from the beginning
 *    (roost_nl_link_join_all_groups()), and one with a kernel at its other end
 *    does not filter.
 * What comes through without need, the engine drops.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_ethport;
struct roost_membership;

/* All hosts of both families, link-local address, configured addresses. */
#define ROOST_GROUPS_OWN_MAX (ROOST_PORT_IPS_MAX + 3)

struct roost_groups_conf {
	const struct roost_ethport *port;   /* open; borrowed */
	const struct roost_prefixes *addrs; /* borrowed */
	bool takes_all; /* a kernel behind it has groups of its own */
	/* Does a kernel answer for this address? Then the group that goes with
	 * it is the kernel's. NULL: there is none.
	 */
	bool (*kernel_owns)(void *ctx, const struct roost_gid *addr);
	/* Copy the frame and send it. Never blocks. */
	void (*send)(void *ctx, const uint8_t *frame, size_t len_bytes);
	void *ctx;
};

struct roost_groups {
	const struct roost_ethport *port;
	struct roost_membership *membership;
	struct roost_groups_conf conf;
	/* Of the host; joined from start to end. */
	struct roost_gid own[ROOST_GROUPS_OWN_MAX];
	unsigned int nb_own;
};

/* Returns 0, -ENOMEM. */
int roost_groups_create(struct roost_groups *groups,
			const struct roost_groups_conf *conf);
void roost_groups_destroy(struct roost_groups *groups);

/* The port has started: join the host's groups. */
void roost_groups_start(struct roost_groups *groups, uint64_t now_ns);

/* Addresses, MAC or MTU have changed: the groups that go with them do, too. */
void roost_groups_readdress(struct roost_groups *groups, uint64_t now_ns);

/*
 * As mcast_join and mcast_leave of struct roost_port_io: when join returns,
 * the port lets the group through. Returns 0; -ENOSPC, -ENOMEM.
 * Thread: any but the control thread, which does the work.
 */
int roost_groups_join(struct roost_groups *groups,
		      const struct roost_gid *group);
void roost_groups_leave(struct roost_groups *groups,
			const struct roost_gid *group);

#endif
