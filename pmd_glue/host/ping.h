/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_PING_H
#define ROOST_PMD_GLUE_HOST_PING_H

/*
 * Requests by which a path is measured, and their replies: ICMP and ICMPv6 echo
 * of any size, and ICMP timestamps (RFC 792). Pure; echo.h has the answers to
 * the echo requests of others.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

#define ROOST_PING_IP_MAX_BYTES 10000u
#define ROOST_PING_FRAME_MAX (14u + ROOST_PING_IP_MAX_BYTES)
/* A clock reads ms since midnight UTC; this one reads something else. */
#define ROOST_PING_NO_MS UINT32_MAX

/* A request. */
struct roost_ping {
	struct roost_gid sgid;
	struct roost_gid dgid;
	uint16_t id;
	uint16_t seq;
	uint8_t tos; /* or the traffic class, ECN in its low two bits */
	/* Of the whole IP packet, which is not to be fragmented; 0: as short as
	 * can be. Timestamps have no other length.
	 */
	uint16_t ip_bytes;
	bool asks_time; /* a timestamp; IPv4 */
};

/* A reply. */
struct roost_ping_reply {
	struct roost_gid sgid; /* who answers */
	struct roost_gid dgid;
	uint16_t id;
	uint16_t seq;
	uint8_t tos;
	uint16_t ip_bytes;
	bool has_time;
	uint32_t time_ms; /* has_time: or ROOST_PING_NO_MS */
};

/*
 * Write the frame of a request. frame: ROOST_PING_FRAME_MAX bytes. Returns its
 * length; 0: it can have no such length, or the addresses are of two families.
 */
size_t roost_ping_build(const struct roost_ping *ping, const uint8_t src_mac[6],
			const uint8_t dst_mac[6], uint8_t *frame);

/* Is the frame a whole reply with good checksums? Reads only inside the frame.
 * Returns 0, or -EINVAL.
 */
int roost_ping_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_ping_reply *reply);

/*
 * Is the frame a request for a timestamp, to a unicast address? Then turn it
 * into the reply, in place. now_ms: since midnight UTC. *dst: the address that
 * is asked. Returns the length of the reply; 0: it is another frame, and has
 * not changed.
 */
size_t roost_ping_answer_time(uint8_t *frame, size_t len_bytes, uint32_t now_ms,
			      struct roost_gid *dst);

/* ---- what was heard ------------------------------------------------------ */

#define ROOST_PINGS_MAX 256u

/* Replies to one id, in the order in which they came. */
struct roost_ping_log {
	uint16_t id;
	struct roost_gid peer; /* replies of others do not count */
	/* Writer: the control thread, release, after the entry. */
	_Atomic unsigned int nb;
	struct roost_ping_heard {
		uint64_t at_ns; /* CLOCK_MONOTONIC */
		uint16_t seq;
		uint16_t ip_bytes;
		uint8_t tos;
		uint32_t time_ms; /* ROOST_PING_NO_MS: none */
	} v[ROOST_PINGS_MAX];
};

/* Add a reply if it belongs to the log and there is room. */
void roost_ping_log_add(struct roost_ping_log *log,
			const struct roost_ping_reply *reply, uint64_t now_ns);

/* What the replies to nb requests say; those of other sequence numbers do not
 * count.
 */
struct roost_ping_sum {
	unsigned int sent;
	unsigned int answered;   /* requests */
	unsigned int duplicates; /* replies after the first one of a request */
	unsigned int late;       /* replies that came after one of a later
				  * request */
	uint64_t rtt_min_ns, rtt_avg_ns, rtt_max_ns;
	unsigned int ect;     /* replies that are ECN-capable, unmarked */
	unsigned int ce;      /* replies with the mark of congestion */
	unsigned int not_ect; /* replies that are not ECN-capable */
};

/* sent_ns: when request number i went, i < nb <= ROOST_PINGS_MAX; its sequence
 * number is first_seq + i.
 */
void roost_ping_sum(const struct roost_ping_log *log, uint16_t first_seq,
		    const uint64_t *sent_ns, unsigned int nb,
		    struct roost_ping_sum *sum);

#endif
