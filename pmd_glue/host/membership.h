/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_MEMBERSHIP_H
#define ROOST_PMD_GLUE_HOST_MEMBERSHIP_H

/*
 * Which groups one port is in, and what routers and switches on its link are
 * told of it: the host's side of IGMP (RFC 2236, 3376) and MLD (RFC 2710,
 * 3810). A group is joined with all its sources.
 *
 * What is said:
 *  - a join or a leave is reported at once, and again (robustness - 1) times
 *    after a random time;
 *  - a query is answered within a random time, shorter than it allows;
 *  - while a querier of an older version is there (heard not longer ago than
 *    RFC 3376, 8.12 says), that version is spoken: then reports of others are
 *    listened to and make ours unnecessary. A leave is said even then (RFC
 *    2236, 3 lets a host that did not report last be silent): a switch may
 *    know only our report.
 * Groups that nobody reports, as all-systems, are joined and left in silence.
 *
 * Where a kernel shares the port, the port's own reports are sent all the
 * same: the kernel knows nothing of our groups, and routers and switches keep
 * one state per link or per plug, so that two members behind one plug are as
 * good as one. When we leave a group that the kernel is still in, it answers
 * the query that this brings about. What comes from our own MAC is not
 * listened to, be it ours or the kernel's.
 *
 * No clock, no I/O: the time is an argument, frames go out through send().
 * Not locked. Thread: the control thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

/* Of one port: what the engine may join, and some of the port itself. */
#define ROOST_GROUPS_MAX (4096 + 64)

struct roost_membership;

struct roost_membership_conf {
	uint8_t mac[6];
	struct roost_gid ipv4; /* source of reports; 0.0.0.0: there is none */
	struct roost_gid ipv6; /* link-local */
	uint32_t ip_mtu_bytes;
	uint64_t seed; /* of the random times */
	/* Copy the frame and send it. Never blocks. */
	void (*send)(void *ctx, const uint8_t *frame, size_t len_bytes);
	void *ctx;
};

/* Returns 0, -ENOMEM. */
int roost_membership_create(const struct roost_membership_conf *conf,
			    struct roost_membership **membership);
void roost_membership_destroy(struct roost_membership *membership);

/*
 * Be in the group (an IPv4 one is a mapped address); once is as good as twice.
 * Reports go out at the next tick. Returns 0, -ENOSPC (ROOST_GROUPS_MAX are
 * joined), -ENOMEM.
 */
int roost_membership_join(struct roost_membership *membership,
			  const struct roost_gid *group, uint64_t now_ns);
/* Does nothing for a group that is not joined. */
void roost_membership_leave(struct roost_membership *membership,
			    const struct roost_gid *group, uint64_t now_ns);

/*
 * A received frame that is not RoCEv2. Returns true if it was a query or a
 * report, and so is of interest to nobody else.
 */
bool roost_membership_input(struct roost_membership *membership,
			    const uint8_t *frame, size_t len_bytes,
			    uint64_t now_ns);

/* Send what is due. Returns when to call again; UINT64_MAX: not by itself. */
uint64_t roost_membership_tick(struct roost_membership *membership,
			       uint64_t now_ns);

/* What the port is from here on; seed, send and ctx are not looked at. */
void roost_membership_set_port(struct roost_membership *membership,
			       const struct roost_membership_conf *conf);

/* The link is there, perhaps another one: report all groups anew. */
void roost_membership_link_up(struct roost_membership *membership,
			      uint64_t now_ns);

/* Leave all groups, and say so once; nothing is due after that. */
void roost_membership_farewell(struct roost_membership *membership,
			       uint64_t now_ns);

/*
 * The Ethernet addresses of all joined groups, each once. Returns how many; at
 * most max are written, so that more than max says that they are too many.
 */
unsigned int roost_membership_macs(const struct roost_membership *membership,
				   uint8_t (*macs)[6], unsigned int max);

#endif
