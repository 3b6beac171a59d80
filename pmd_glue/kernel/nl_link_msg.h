/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_NL_LINK_MSG_H
#define ROOST_PMD_GLUE_KERNEL_NL_LINK_MSG_H

/*
 * Encodes and decodes messages of rtnetlink (rtnetlink(7)) about one interface.
 * Pure: no socket; pmd_glue/kernel/nl_link.c has the sockets.
 *
 * Attributes that are truncated, unknown, or of other interfaces change
 * nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/kernel/nl_link.h"

struct nlmsghdr;

/* Bytes that are enough for each request below. */
#define ROOST_NL_LINK_ASK_MAX 256u

/*
 * Take one message of a dump or of a multicast group. The caller has checked
 * its length (mnl_nlmsg_ok). Returns true if the message changed *state.
 */
bool roost_nl_link_take(struct roost_nl_link_state *state,
			const struct nlmsghdr *msg);

/* Returns the ifindex that the message is about; 0: none. */
unsigned int roost_nl_link_index(const struct nlmsghdr *msg);

/* Take the answer to roost_nl_link_ask_route(). Returns 0; -EINVAL (the message
 * is no route of that family), -EHOSTUNREACH (the route uses another interface,
 * or is no unicast route).
 */
int roost_nl_link_take_route(const struct nlmsghdr *msg, unsigned int ifindex,
			     const struct roost_gid *dgid,
			     struct roost_nl_link_route *route);

/* Requests. Each function writes one request with sequence number seq to buf
 * (ROOST_NL_LINK_ASK_MAX bytes) and returns it.
 */
struct nlmsghdr *roost_nl_link_ask_name(void *buf, uint32_t seq,
					const char *name);
struct nlmsghdr *roost_nl_link_ask_link(void *buf, uint32_t seq,
					unsigned int ifindex);
struct nlmsghdr *roost_nl_link_ask_addrs(void *buf, uint32_t seq);
struct nlmsghdr *roost_nl_link_ask_mtu(void *buf, uint32_t seq,
				       unsigned int ifindex,
				       uint32_t mtu_bytes);
struct nlmsghdr *roost_nl_link_ask_up(void *buf, uint32_t seq,
				      unsigned int ifindex);
struct nlmsghdr *roost_nl_link_ask_add_addr(void *buf, uint32_t seq,
					    unsigned int ifindex,
					    const struct roost_prefix *prefix);
/* sgid NULL: from any address. match: ask for the entry of the routing table
 * (RTM_F_FIB_MATCH). Without match, IPv4 gives a route even without an entry.
 */
struct nlmsghdr *roost_nl_link_ask_route(void *buf, uint32_t seq,
					 unsigned int ifindex,
					 const struct roost_gid *sgid,
					 const struct roost_gid *dgid,
					 bool match);

#endif
