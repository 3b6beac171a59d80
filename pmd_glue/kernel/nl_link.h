/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_NL_LINK_H
#define ROOST_PMD_GLUE_KERNEL_NL_LINK_H

/*
 * What the kernel knows about a network interface of this network namespace,
 * followed by netlink: read once when it is opened, and told by the kernel from
 * then on. All interfaces share one socket, which wakes the control thread; it
 * is drained before anything else runs there, so that whoever runs after it
 * sees what the kernel said.
 *
 * The socket may overrun: then all is read again. What changed and changed
 * back between two looks is not seen.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/config.h>

/* More are not kept; roost_nl_link_state.addrs_left_out says so. */
#define ROOST_NL_LINK_ADDRS_MAX 256u

struct roost_nl_link_addr {
	struct roost_prefix prefix;
	/* IPv6: its detection of duplicates is not over, or found one. */
	bool tentative;
};

struct roost_nl_link_state {
	unsigned int ifindex;
	char name[IFNAMSIZ]; /* it may change */
	bool there;          /* false: deleted, or in another namespace now */
	bool up;             /* as its administrator wants it */
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
	uint32_t gen; /* another number for each change of state */
	LIST_ENTRY(roost_nl_link) link;
};

/*
 * Begin to follow the interface. Returns 0; -ENODEV (no such interface), or
 * what netlink sockets give. netlink link stays where it is until it is closed.
 */
int roost_nl_link_open(struct roost_nl_link *nl_link, const char *name);
/* Of one that is not open, too, if it is zero. */
void roost_nl_link_close(struct roost_nl_link *nl_link);

/* The name of the interface that is a VLAN of another one.
 * Returns 0, -ENODEV (there is none), or what socket(2) gives.
 */
int roost_nl_link_find_vlan(const char *parent, uint16_t vlan_id,
			    char name[IFNAMSIZ]);

/* Where the interface is a VLAN of another one, and *vlan_id is 0: the other
 * one, and the VLAN that it is there. Thread: any.
 */
void roost_nl_link_find_parent(unsigned int *ifindex, uint16_t *vlan_id);

/* Is it an address of the interface, usable or not? */
bool roost_nl_link_has(const struct roost_nl_link_state *state,
		       const struct roost_gid *addr);
/*
 * The addresses that can be used, each once, without that of the port itself
 * (own, by its MAC). Those of IPv6 that are tentative cannot; temporary and
 * deprecated ones can, as with RoCE in Linux. Returns how many there are; at
 * most ROOST_PORT_IPS_MAX are written.
 */
unsigned int roost_nl_link_usable(const struct roost_nl_link_state *state,
				  const struct roost_gid *own,
				  struct roost_prefixes *addrs);

/* Returns 0; -EPERM, -EINVAL (not for this interface), -ENODEV. */
int roost_nl_link_set_mtu(struct roost_nl_link *nl_link, uint32_t mtu_bytes);

/* Bring it up. Returns 0, -EPERM, -ENODEV. */
int roost_nl_link_up(struct roost_nl_link *nl_link);
/* Give it an address, that of a user who knows that it is free: nobody looks
 * for duplicates. Returns 0; -EEXIST (it has it), -EACCES (the family is
 * switched off), -EPERM, -ENODEV.
 */
int roost_nl_link_add_addr(struct roost_nl_link *nl_link,
			   const struct roost_prefix *prefix);

/*
 * Have the interface pass all groups up as long as the returned descriptor is
 * open. Returns it, or -EPERM, -ENODEV...
 */
int roost_nl_link_join_all_groups(const struct roost_nl_link *nl_link);

/* A way out of an interface. */
struct roost_nl_link_route {
	struct roost_gid hop;    /* the destination itself, or a gateway */
	struct roost_gid source; /* zero: the kernel prefers none */
	bool is_direct;
};

/*
 * How the kernel would send to dgid through the interface, and from sgid if
 * that is not NULL. Returns 0; -EHOSTUNREACH (not at all), or what netlink
 * sockets give. Thread: any, as long as the interface is open.
 */
int roost_nl_link_route(unsigned int ifindex, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_nl_link_route *route);

#endif
