/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_NL_LINK_MSG_H
#define ROOST_PMD_GLUE_KERNEL_NL_LINK_MSG_H

/*
 * Messages of rtnetlink (rtnetlink(7)) to and from what is known of one
 * interface. Pure: bytes come in and go out, sockets are
 * pmd_glue/kernel/nl_link.c's.
 *
 * What a message says is believed only as far as it is whole; attributes that
 * are cut short, of other interfaces, or unknown change nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/kernel/nl_link.h"

struct nlmsghdr;

/* Room for any question of ours. */
#define ROOST_NL_LINK_ASK_MAX 256u

/*
 * Take one message, of a dump or of a multicast group, whole by its length
 * (mnl_nlmsg_ok). Returns true if it changed what is known.
 */
bool roost_nl_link_take(struct roost_nl_link_state *state,
			const struct nlmsghdr *msg);

/* Of which interface the message is. Returns 0: it is of none. */
unsigned int roost_nl_link_index(const struct nlmsghdr *msg);

/* Take the answer to roost_nl_link_ask_route() of an interface. Returns 0;
 * -EINVAL (no route at all), -EHOSTUNREACH (one that leads elsewhere, or
 * nowhere).
 */
int roost_nl_link_take_route(const struct nlmsghdr *msg, unsigned int ifindex,
			     const struct roost_gid *dgid,
			     struct roost_nl_link_route *route);

/* Questions; each writes one request with the sequence number seq into buf and
 * returns it.
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
/* sgid NULL: from any address. match: the entry of the table instead of what
 * is made of it, which for IPv4 is a route also where there is no entry.
 */
struct nlmsghdr *roost_nl_link_ask_route(void *buf, uint32_t seq,
					 unsigned int ifindex,
					 const struct roost_gid *sgid,
					 const struct roost_gid *dgid,
					 bool match);

#endif
