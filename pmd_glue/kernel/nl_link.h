/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_NL_LINK_H
#define ROOST_PMD_GLUE_KERNEL_NL_LINK_H

/*
 * A netlink link: the kernel's state of one network interface of this network
 * namespace. The state is read when the link is opened, and follows the
 * kernel's notifications from then on. All links share one notification socket,
 * which wakes the control thread. The control thread drains this socket before
 * it runs other clients, so they see the new state.
 *
 * If the socket overruns, the state is read again. A change that was undone
 * before it was read is not seen.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/config.h>

/* More addresses are left out (roost_nl_link_state.addrs_left_out). */
#define ROOST_NL_LINK_ADDRS_MAX 256u

struct roost_nl_link_addr {
	struct roost_prefix prefix;
	/* IPv6: duplicate address detection has not ended, or has failed. */
	bool tentative;
};

struct roost_nl_link_state {
	unsigned int ifindex;
	char name[IFNAMSIZ]; /* may change: a rename */
	bool there;          /* false: deleted, or in another namespace now */
	bool up;             /* administratively up (IFF_UP) */
	bool running;        /* up, and with a carrier */
	uint8_t mac[6];
	uint32_t mtu_bytes;
	bool addrs_left_out;
	unsigned int nb_addrs;
	/* In the order of the kernel's list, new ones last. */
	struct roost_nl_link_addr addrs[ROOST_NL_LINK_ADDRS_MAX];
};

struct roost_nl_link {
	struct roost_nl_link_state state;
	uint32_t gen; /* incremented with each change of state */
	LIST_ENTRY(roost_nl_link) link;
};

/*
 * Begin to follow the interface. *nl_link must not move until it is closed.
 * Returns 0; -ENODEV (no such interface), or the error of a netlink socket.
 */
int roost_nl_link_open(struct roost_nl_link *nl_link, const char *name);
/* Stop to follow. Does nothing if *nl_link is zero-filled or closed. */
void roost_nl_link_close(struct roost_nl_link *nl_link);

/* Find the name of the interface that is VLAN vlan_id of interface parent.
 * Returns 0, -ENODEV (there is none), or the error of socket(2).
 */
int roost_nl_link_find_vlan(const char *parent, uint16_t vlan_id,
			    char name[IFNAMSIZ]);

/* If *vlan_id is 0 and the interface is a VLAN of another one, *ifindex becomes
 * the other interface and *vlan_id the VLAN. Thread: any.
 */
void roost_nl_link_find_parent(unsigned int *ifindex, uint16_t *vlan_id);

/* Does the interface have this address, usable or not? */
bool roost_nl_link_has(const struct roost_nl_link_state *state,
		       const struct roost_gid *addr);
/*
 * Get the usable addresses, each once, without own, the port's link-local
 * address from its MAC. Tentative IPv6 addresses are not usable; temporary and
 * deprecated ones are, as with RoCE in Linux. Returns the number of usable
 * addresses; at most ROOST_PORT_IPS_MAX are written.
 */
unsigned int roost_nl_link_usable(const struct roost_nl_link_state *state,
				  const struct roost_gid *own,
				  struct roost_prefixes *addrs);

/* Returns 0; -EPERM, -EINVAL (the interface does not take it), -ENODEV. */
int roost_nl_link_set_mtu(struct roost_nl_link *nl_link, uint32_t mtu_bytes);

/* Set the interface up. Returns 0, -EPERM, -ENODEV. */
int roost_nl_link_up(struct roost_nl_link *nl_link);
/* Add an address, without duplicate address detection: the user configured it.
 * Returns 0; -EEXIST (the interface has it), -EACCES (the family is disabled),
 * -EPERM, -ENODEV.
 */
int roost_nl_link_add_addr(struct roost_nl_link *nl_link,
			   const struct roost_prefix *prefix);

/*
 * Have the interface receive all multicast groups while the returned descriptor
 * is open. Returns the descriptor, or -EPERM, -ENODEV...
 */
int roost_nl_link_join_all_groups(const struct roost_nl_link *nl_link);

/* A route by one interface. */
struct roost_nl_link_route {
	struct roost_gid hop;    /* the destination itself, or a gateway */
	struct roost_gid source; /* preferred source; zero: none */
	bool is_direct;
};

/*
 * Get the kernel's route to dgid by this interface, from sgid (NULL: from any
 * address). Returns 0; -EHOSTUNREACH (no route), or the error of a netlink
 * socket. Thread: any, while the link is open.
 */
int roost_nl_link_route(unsigned int ifindex, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_nl_link_route *route);

#endif
