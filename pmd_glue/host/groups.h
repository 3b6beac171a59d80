/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_GROUPS_H
#define ROOST_PMD_GLUE_HOST_GROUPS_H

/*
 * The multicast groups that a port receives: the groups of attached QPs, and
 * those of an IP host (all hosts, and the solicited-node groups of its IPv6
 * addresses, RFC 4861, 7.2.1).
 *
 * For each group, routers and switches are told of the membership
 * (pmd_glue/host/membership.h, also for ports that the kernel shares), and the
 * port has to receive the frames of the group: set_filter() gets the list of
 * MAC addresses. The engine drops frames of other groups.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_membership;

/* All hosts of both families, link-local address, configured addresses. */
#define ROOST_GROUPS_OWN_MAX (ROOST_PORT_IPS_MAX + 3)

/* Most devices do not filter by longer lists. */
#define ROOST_GROUPS_MACS_MAX 128u

struct roost_groups_conf {
	/* The port's MAC (6 bytes), IP MTU and addresses; borrowed. After a
	 * change call roost_groups_readdress().
	 */
	const uint8_t *mac;
	const uint32_t *ip_mtu_bytes;
	const struct roost_prefixes *addrs;
	/* Receive the frames to these nb group MACs. If nb is larger than
	 * ROOST_GROUPS_MACS_MAX, macs has only the first ones: receive all
	 * groups.
	 */
	void (*set_filter)(void *ctx, uint8_t (*macs)[6], unsigned int nb);
	/* Does the kernel answer for this address? Then the kernel is in its
	 * solicited-node group. NULL: the kernel has no interface there.
	 */
	bool (*kernel_owns)(void *ctx, const struct roost_gid *addr);
	/* Copy the frame and send it. Never blocks. */
	void (*send)(void *ctx, const uint8_t *frame, size_t len_bytes);
	void *ctx;
};

struct roost_groups {
	struct roost_membership *membership;
	struct roost_groups_conf conf;
	/* The groups of the IP host; joined while the port is started. */
	struct roost_gid own[ROOST_GROUPS_OWN_MAX];
	unsigned int nb_own;
};

/* Returns 0, -ENOMEM. */
int roost_groups_create(struct roost_groups *groups,
			const struct roost_groups_conf *conf);
void roost_groups_destroy(struct roost_groups *groups);

/* The port has started: join the host's groups. */
void roost_groups_start(struct roost_groups *groups, uint64_t now_ns);

/* Addresses, MAC or MTU of the port have changed: update the groups. */
void roost_groups_readdress(struct roost_groups *groups, uint64_t now_ns);

/*
 * As mcast_join and mcast_leave of struct roost_addr_io. When join returns 0,
 * the port receives the group. Returns 0; -ENOSPC, -ENOMEM. Both run on the
 * control thread and wait for it. Thread: as roost_control_call().
 */
int roost_groups_join(struct roost_groups *groups,
		      const struct roost_gid *group);
void roost_groups_leave(struct roost_groups *groups,
			const struct roost_gid *group);

#endif
