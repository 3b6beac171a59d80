/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_FAIR_H
#define ROOST_APPS_ROOSTD_SWITCH_FAIR_H

/*
 * Whose frame leaves next when the port is full: deficit round robin (M.
 * Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin",
 * IEEE/ACM ToN 4(3), 1996) over one bounded queue for each client, with
 * weights; optionally a token bucket for each. A frame counts with what it
 * takes on the wire. A client without frames keeps no credit. Where a port has
 * several lanes, each has these queues of its clients, and their rounds are in
 * step (step.h).
 *
 * Frames are handles of the caller, who owns them until push() and again after
 * pop() or flush().
 *
 * Thread: the lane's (switch.h); add, change, flush and move: the port's.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "apps/roostd/switch/step.h"

#define ROOST_FAIR_QUEUE_LEN 64u
#define ROOST_FAIR_SHARE_MIN 4u
/* Preamble, FCS and gap of a frame on Ethernet, in bytes. */
#define ROOST_FAIR_WIRE_BYTES 24u

enum roost_fair_state {
	ROOST_FAIR_IDLE,
	ROOST_FAIR_ACTIVE,
	ROOST_FAIR_WAITING, /* for tokens, or moved here just now */
};

struct roost_fair_queue {
	TAILQ_ENTRY(roost_fair_queue) link; /* active or waiting */
	enum roost_fair_state state;
	uint32_t client;
	uint32_t weight;
	bool had_quantum; /* since its turn began */
	uint64_t round;   /* of the lane, of its last quantum; 0: none */
	uint64_t deficit_bytes;
	uint64_t rate_bytes_per_s; /* 0: no limit */
	uint64_t tokens;           /* in 10^-9 bytes */
	uint64_t tokens_at_ns;
	uint64_t ready_at_ns; /* WAITING: until then */
	uint32_t first, nb;   /* of the ring below */
	struct {
		void *handle;
		uint32_t len_bytes;
	} frames[ROOST_FAIR_QUEUE_LEN];
};

TAILQ_HEAD(roost_fair_list, roost_fair_queue);

struct roost_fair {
	uint32_t nb_queues;
	struct roost_fair_queue **queues; /* by client; NULL: none yet */
	struct roost_fair_list active;    /* first: whose turn it is */
	struct roost_fair_list waiting;
	uint64_t ready_at_ns; /* the first of those waiting; UINT64_MAX: none */
	uint32_t nb_kept;     /* frames in all queues */
	uint32_t nb_busy;     /* queues with frames */
	uint32_t most_kept;   /* see roost_fair_has_room(); 0: no bound */
	struct roost_step step; /* of several lanes */
};

/* Returns 0, -ENOMEM. */
int roost_fair_init(struct roost_fair *fair, uint32_t nb_queues);
/* No queue has frames any more. */
void roost_fair_fini(struct roost_fair *fair);

/* A client, with weight 1 or more. Returns 0, -ENOMEM. */
int roost_fair_add(struct roost_fair *fair, uint32_t client, uint32_t weight,
		   uint64_t rate_bytes_per_s, uint64_t now_ns);
/* Another weight and rate from now on; the client was added. */
void roost_fair_change(struct roost_fair *fair, uint32_t client,
		       uint32_t weight, uint64_t rate_bytes_per_s,
		       uint64_t now_ns);
/* Take the next frame of a client that goes. Returns NULL: none is left, and
 * the client is gone.
 */
void *roost_fair_flush(struct roost_fair *fair, uint32_t client);
/* A client, with its frames, goes to the queues of another lane, and sends
 * nothing there before ready_ns.
 */
void roost_fair_move(struct roost_fair *from, struct roost_fair *to,
		     uint32_t client, uint64_t ready_ns);

/* Beyond most_kept frames in all queues, a queue has room for its share of them
 * only, which is ROOST_FAIR_SHARE_MIN at least.
 */
static inline bool roost_fair_has_room(const struct roost_fair *fair,
				       uint32_t client)
{
	const uint32_t nb = fair->queues[client]->nb;

	if (nb >= ROOST_FAIR_QUEUE_LEN)
		return false;
	return fair->nb_kept < fair->most_kept || fair->most_kept == 0 ||
	       nb < ROOST_FAIR_SHARE_MIN ||
	       nb < fair->most_kept / fair->nb_busy;
}

/* The client's queue has room. */
void roost_fair_push(struct roost_fair *fair, uint32_t client, void *handle,
		     uint32_t len_bytes);

/* The next frame, which stays; NULL: none, or rates forbid it, or another lane
 * is behind.
 */
void *roost_fair_head(struct roost_fair *fair, uint64_t now_ns,
		      uint32_t *client, uint32_t *len_bytes);
/* The frame that roost_fair_head() returned just before has left. */
void roost_fair_pop(struct roost_fair *fair);

/* When a client that is WAITING may send. UINT64_MAX: none is. */
static inline uint64_t roost_fair_ready_ns(const struct roost_fair *fair)
{
	return fair->ready_at_ns;
}

#endif
