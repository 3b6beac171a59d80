/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_SEEN_H
#define ROOST_APPS_ROOSTD_SWITCH_SEEN_H

/*
 * Connections, as the messages that passed show them: for answers that carry no
 * id of their receiver, for limits on half-open connections, and for the peers
 * of a client that dies (departed.h).
 *
 * Bounds: a client has at most conf.max_conns entries; of these at most
 * conf.max_half_open are not established. For one more request from outside,
 * the client's oldest half-open entry goes; one more of its own is refused. So
 * a flood costs nobody else an entry.
 *
 * An entry ends when both ends of the connection do. Of the client's own
 * messages these are a DREP after a DREQ of the peer, a REJ before the
 * connection is established, and a REJ for timeout of its request. After a DREQ
 * of the client that the peer never answers, an entry is forgotten when a
 * further connection begins.
 *
 * A daemon that was restarted does not know the connections made before.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/lease.h"

enum roost_seen_state {
	ROOST_SEEN_REQ_OUT,
	ROOST_SEEN_REP_IN, /* active end: answered */
	ROOST_SEEN_REQ_IN,
	ROOST_SEEN_REP_OUT, /* passive end: has answered */
	ROOST_SEEN_SIDR_IN,
	ROOST_SEEN_ESTABLISHED,
	ROOST_SEEN_ENDING, /* the client has asked for the end */
};

/* A peer that has not answered a DREQ for so long has gone. */
#define ROOST_SEEN_ENDING_NS UINT64_C(20000000000)

struct roost_seen {
	LIST_ENTRY(roost_seen) by_local;   /* while local_id is not 0 */
	LIST_ENTRY(roost_seen) by_peer;    /* while remote_id is not 0 */
	TAILQ_ENTRY(roost_seen) of_client; /* one of its lists */
	enum roost_seen_state state;
	uint16_t client;
	uint32_t local_id; /* 0: not known */
	uint32_t remote_id;
	uint32_t remote_qpn; /* 0: not known */
	uint64_t tid;        /* of the first request */
	uint64_t ca_guid;    /* in the request */
	bool dreq_in;        /* the peer has asked for the end */
	struct roost_sw_route route;
	/* ENDING: of the DREQ. For departed.h, which takes entries over: of the
	 * next try.
	 */
	uint64_t at_ns;
	uint8_t tries; /* departed.h */
};

TAILQ_HEAD(roost_seen_list, roost_seen);

#define ROOST_SEEN_BUCKETS 16384u

struct roost_seen_client {
	struct roost_seen_list half_open; /* oldest first */
	struct roost_seen_list established;
	struct roost_seen_list ending; /* oldest first */
	uint32_t nb_half_open;
	uint32_t nb; /* of all */
	/* Token bucket of its messages. */
	uint32_t tokens;
	uint64_t at_ns;
};

struct roost_seen_table {
	const struct roost_lease *lease;
	uint64_t now_ns; /* see roost_seen_set_time() */
	uint64_t hash_key;
	LIST_HEAD(, roost_seen) by_local[ROOST_SEEN_BUCKETS];
	LIST_HEAD(, roost_seen) by_peer[ROOST_SEEN_BUCKETS];
	struct roost_seen_client clients[ROOST_CLIENTS_MAX];
};

void roost_seen_init(struct roost_seen_table *table,
		     const struct roost_lease *lease, uint64_t hash_key);
/* Free all entries. */
void roost_seen_fini(struct roost_seen_table *table);
/* The time of the round. Rounds of several lanes begin one before the other,
 * and what is seen in the first may be seen last: time does not go back.
 */
static inline void roost_seen_set_time(struct roost_seen_table *table,
				       uint64_t now_ns)
{
	if (now_ns > table->now_ns)
		table->now_ns = now_ns;
}
/* A new client is in this slot. */
void roost_seen_client_add(struct roost_seen_table *table, uint16_t client,
			   uint64_t now_ns);

/* The connection of one of our ends. */
struct roost_seen *roost_seen_by_local(const struct roost_seen_table *table,
				       uint32_t local_id);
/* The request of this peer with this number of the peer's; sidr: of a
 * datagram service.
 */
struct roost_seen *roost_seen_by_peer(const struct roost_seen_table *table,
				      const struct roost_gid *peer,
				      uint32_t remote_id, bool sidr);

/*
 * May the client send this message now? Counts it against the client's rate.
 * Returns ROOST_SW_OK, ROOST_SW_MAD_RATE, ROOST_SW_MAD_HALF_OPEN or
 * ROOST_SW_MAD_CONNS.
 */
enum roost_sw_drop roost_seen_admit(struct roost_seen_table *table,
				    uint16_t client,
				    const struct roost_cm_msg *msg,
				    uint64_t now_ns);

/* The client has sent this message, which was checked; head: of its frame. */
void roost_seen_out(struct roost_seen_table *table, uint16_t client,
		    const struct roost_sw_pkt *pkt, const uint8_t *head);

/* This message goes to the client. Returns ROOST_SW_OK, or ROOST_SW_MAD_CONNS:
 * the client has too many connections for one more.
 */
enum roost_sw_drop roost_seen_in(struct roost_seen_table *table,
				 uint16_t client,
				 const struct roost_sw_pkt *pkt);

/* Take an entry out of the table; it is the caller's to free then. */
void roost_seen_take(struct roost_seen_table *table, struct roost_seen *seen);

#endif
