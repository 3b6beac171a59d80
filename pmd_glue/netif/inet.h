/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_INET_H
#define ROOST_PMD_GLUE_NETIF_INET_H

/*
 * The IP side of a port: its addresses, which are the GIDs of the engine's
 * port, with the IP host and the multicast groups (pmd_glue/host). The
 * addresses come from the configuration, from an interface of the kernel that
 * they follow, and from roost ctl.
 *
 * It knows no interface that carries frames: frames and events come by calls,
 * and go by the functions of the configuration.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/dev.h"
#include "pmd_glue/host/groups.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/kernel/nl_link.h"

struct roost_inet_conf {
	/* Without groups; routes.on_link: the configured addresses. With
	 * addrs_are_kernels they are not used: the addresses are those of
	 * nl_link, and follow it.
	 */
	struct roost_host_conf host;
	const char *label;            /* of the port, for reports; borrowed */
	const uint32_t *ip_mtu_bytes; /* of group reports; borrowed */
	/* The kernel's interface that has our addresses; the kernel answers for
	 * them. It may not be open (nl_link.h). NULL: the kernel has none of
	 * our addresses. Borrowed.
	 */
	const struct roost_nl_link *nl_link;
	/* As in struct roost_groups_conf, with the ctx of host. */
	void (*set_filter)(void *ctx, uint8_t (*macs)[6], unsigned int nb);
};

struct roost_inet {
	const char *label;
	uint8_t mac[6];
	/* With follows: addresses that roost ctl added are in addrs alone. */
	struct roost_prefixes addrs;
	const struct roost_nl_link *nl_link;
	bool follows;
	struct roost_prefixes followed; /* of nl_link when last read */
	bool reported_too_many;         /* more addresses than a port takes */
	struct roost_host *host;
	struct roost_groups groups;
	uint64_t next_refusal_ns; /* none is believed before */
	/* Set by roost_inet_start(). */
	struct roost_dev *dev;
	uint8_t port_num;
};

/* Returns 0; -ENOMEM: nothing is open. The inet does not move until destroy. */
int roost_inet_create(struct roost_inet *inet,
		      const struct roost_inet_conf *conf);
void roost_inet_destroy(struct roost_inet *inet);
/* Become the addresses of port port_num of dev: set its GIDs, join groups. */
void roost_inet_start(struct roost_inet *inet, struct roost_dev *dev,
		      uint8_t port_num, uint64_t now_ns);
/* Leave all groups, at the end. */
void roost_inet_leave(struct roost_inet *inet, uint64_t now_ns);

/* Take a frame that is not RoCE, without a VLAN tag; may change its bytes. */
void roost_inet_input(struct roost_inet *inet, uint8_t *frame, size_t len_bytes,
		      uint64_t now_ns);
/* Run the timers. Returns the time in ns of the next call; UINT64_MAX: none. */
uint64_t roost_inet_tick(struct roost_inet *inet, uint64_t now_ns);
/* The link came up. */
void roost_inet_link_up(struct roost_inet *inet, uint64_t now_ns);
/* The IP MTU of group reports changed. */
void roost_inet_mtu_changed(struct roost_inet *inet);
/* The engine sends from this MAC before neighbours are told. The link-local
 * address of the old one goes, unless the kernel keeps it.
 */
void roost_inet_set_mac(struct roost_inet *inet, const uint8_t mac[6]);
/* Apply the addresses that nl_link got and lost since the last call. Does
 * nothing if the addresses do not follow it.
 */
void roost_inet_follow(struct roost_inet *inet);
/* As add_addr and del_addr of struct roost_backend. */
int roost_inet_add_addr(struct roost_inet *inet,
			const struct roost_prefix *prefix);
int roost_inet_del_addr(struct roost_inet *inet, const struct roost_gid *addr);

#endif
