/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_MEMBERSHIP_H
#define ROOST_PMD_GLUE_HOST_MEMBERSHIP_H

/*
 * The multicast groups of one port, and the reports of them to routers and
 * switches on its link: the host's side of IGMP (RFC 2236, 3376) and MLD (RFC
 * 2710, 3810). A group is joined with all its sources.
 *
 * Messages that are sent:
 *  - A join or a leave is reported at once, and (robustness - 1) more times
 *    after random times.
 *  - A query is answered after a random time, within the time that it allows.
 *  - While there is a querier of an older version (heard within the time of
 *    RFC 3376, 8.12), the host uses that version: then reports of other hosts
 *    suppress ours. A leave is sent even then, although RFC 2236, 3 allows a
 *    host that did not report last to be silent: a switch may know only our
 *    report.
 * Groups that are never reported, such as all-systems, are joined and left
 * without a message.
 *
 * If the kernel shares the port, our reports are sent all the same: the kernel
 * does not know our groups. Routers and switches keep one state per link or per
 * plug, so two members behind one plug are as good as one. If we leave a group
 * that the kernel is still in, the kernel answers the query that follows.
 * Frames with our own MAC as the source are ignored: they are ours or the
 * kernel's.
 *
 * No clock, no I/O: the time is an argument, frames go out through send().
 * Not locked. Thread: the control thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

/* Groups of one port: those of the engine, and some of the port itself. */
#define ROOST_GROUPS_MAX (4096 + 64)

struct roost_membership;

struct roost_membership_conf {
	uint8_t mac[6];
	struct roost_gid ipv4; /* source of reports; 0.0.0.0: there is none */
	struct roost_gid ipv6; /* link-local */
	uint32_t ip_mtu_bytes;
	uint64_t seed; /* for the random times */
	/* Copy the frame and send it. Never blocks. */
	void (*send)(void *ctx, const uint8_t *frame, size_t len_bytes);
	void *ctx;
};

/* Returns 0, -ENOMEM. */
int roost_membership_create(const struct roost_membership_conf *conf,
			    struct roost_membership **membership);
void roost_membership_destroy(struct roost_membership *membership);

/*
 * Join the group (an IPv4 group is a mapped address). A second join of the same
 * group does nothing: there is no count. The next tick sends the reports.
 * Returns 0, -ENOSPC (ROOST_GROUPS_MAX are joined), -ENOMEM.
 */
int roost_membership_join(struct roost_membership *membership,
			  const struct roost_gid *group, uint64_t now_ns);
/* Does nothing for a group that is not joined. */
void roost_membership_leave(struct roost_membership *membership,
			    const struct roost_gid *group, uint64_t now_ns);

/*
 * Take a received frame that is not RoCEv2. Returns true if it was a query or a
 * report; the caller then does not pass it on.
 */
bool roost_membership_input(struct roost_membership *membership,
			    const uint8_t *frame, size_t len_bytes,
			    uint64_t now_ns);

/* Send the reports that are due. Returns the time in ns of the next call;
 * UINT64_MAX: none.
 */
uint64_t roost_membership_tick(struct roost_membership *membership,
			       uint64_t now_ns);

/* Change MAC, addresses and MTU of the port; ignores seed, send and ctx. */
void roost_membership_set_port(struct roost_membership *membership,
			       const struct roost_membership_conf *conf);

/* The link came up, maybe to another switch: report all groups again. */
void roost_membership_link_up(struct roost_membership *membership,
			      uint64_t now_ns);

/* Leave all groups and report it once; after that no message is due. */
void roost_membership_leave_all(struct roost_membership *membership,
				uint64_t now_ns);

/*
 * Get the Ethernet addresses of all joined groups, each once. At most max are
 * written. Returns their number; more than max: there are too many.
 */
unsigned int roost_membership_macs(const struct roost_membership *membership,
				   uint8_t (*macs)[6], unsigned int max);

#endif
