/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_HOLD_H
#define ROOST_ENGINE_CORE_HOLD_H

/*
 * Memory of selective repeat, what only QPs have that have just lost a packet,
 * and of shares, one for each peer of a worker (share.h). Each worker has a
 * store, so a QP without losses costs nothing. The store grows in small steps
 * as QPs need it: a program may have all memory locked that it will ever map
 * (mlockall), so that all that is mapped is there. The bounds are the worker's.
 * Nothing is freed before the worker is, but what was given back is given out
 * first.
 *
 * For lib/engine only. Thread: the holder of the worker's turn. Hot while
 * packets are lost: no allocation but the first of each object, no lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/frame.h"

struct roost_share;

/* From the oldest packet that is missing on, a requester sends so many packets
 * at most, and a responder holds packets so far.
 */
#define ROOST_SPAN_PKTS 1024u
#define ROOST_SPAN_WORDS (ROOST_SPAN_PKTS / 64u)

/* Bounds of a worker. */
#define ROOST_HELD_MAX 8192u /* packets that are held */
#define ROOST_SHELVES_MAX 2048u
#define ROOST_SCORES_MAX 2048u
#define ROOST_ANSWERS_MAX 2048u
#define ROOST_SHARES_MAX 65536u
#define ROOST_SHARE_BUCKETS 64u
/* One for each QP that there may be. */
#define ROOST_TROUBLES_MAX 262144u
#define ROOST_PACERS_MAX 262144u

#define ROOST_HELD_PAYLOAD_MAX 4096u

/* A request that came early, with its payload. */
struct roost_held {
	struct roost_pkt pkt; /* pkt.payload is payload below */
	uint8_t payload[ROOST_HELD_PAYLOAD_MAX];
};

/* What a responder holds. The PSNs of a request stand at their value modulo
 * ROOST_SPAN_PKTS.
 */
struct roost_shelf {
	uint64_t have[ROOST_SPAN_WORDS]; /* PSNs of held requests; a READ has
					  * those of its answer */
	uint32_t nb_held;
	struct roost_psn base_psn;                /* nothing older is held */
	struct roost_psn top_psn;                 /* behind all of them */
	struct roost_held *held[ROOST_SPAN_PKTS]; /* at first PSNs; or NULL */
};

/* What a requester knows of its packets that are not acknowledged, or of the
 * responses that it waits for: what is said of a packet that was sent holds for
 * a response that was asked for then. Bits stand at the PSN modulo
 * ROOST_SPAN_PKTS, and are 0 for all others.
 */
struct roost_score {
	struct roost_psn base_psn;  /* the bits of older PSNs are cleared */
	struct roost_psn front_psn; /* all older ones are received */
	struct roost_psn top_psn;   /* behind the highest one received */
	/* Order of sending, in PSNs: a packet that is sent again counts as the
	 * one behind the last new packet then. The highest one received.
	 */
	struct roost_psn latest_psn;
	struct roost_psn round_psn; /* cwnd was reduced before this one was
				     * sent */
	uint32_t nb_received, nb_lost, nb_again;
	/* What is missing before settle_psn is lost then; 0: never. */
	uint64_t settle_at_ns;
	struct roost_psn settle_psn;
	uint64_t received[ROOST_SPAN_WORDS];
	uint64_t lost[ROOST_SPAN_WORDS];     /* and not sent again yet */
	uint64_t again[ROOST_SPAN_WORDS];    /* sent again */
	uint32_t again_psn[ROOST_SPAN_PKTS]; /* in the order of sending */
};

/* Responses to READs and atomics that came behind one that is missing, in the
 * order of their PSNs. What is missing is in the score: of it, requests without
 * a response are received when a packet behind them says so.
 */
struct roost_answers {
	struct roost_score score;
	struct roost_held *held[ROOST_SPAN_PKTS]; /* by PSN; or NULL */
};

/* Objects of one size. */
struct roost_pile {
	/* What is mapped; the newest step first, which alone may have objects
	 * that were never given out. NULL: nothing.
	 */
	struct roost_pile_step *steps;
	void *free; /* objects that were given back, each points to the next
		     */
	uint32_t nb_used; /* were given out at least once */
};

struct roost_store {
	struct roost_pile held;
	struct roost_pile shelves;
	struct roost_pile scores;
	struct roost_pile answers;
	struct roost_pile shares;
	struct roost_pile troubles;
	struct roost_pile pacers;
};

void roost_store_fini(struct roost_store *store);

/* Each returns NULL when there is none; undefined contents. */
struct roost_held *roost_held_get(struct roost_store *store);
void roost_held_put(struct roost_store *store, struct roost_held *held);
/* Returns NULL when there is none; else all zeros. */
struct roost_shelf *roost_shelf_get(struct roost_store *store);
void roost_shelf_put(struct roost_store *store, struct roost_shelf *shelf);
struct roost_score *roost_score_get(struct roost_store *store);
void roost_score_put(struct roost_store *store, struct roost_score *score);
struct roost_answers *roost_answers_get(struct roost_store *store);
void roost_answers_put(struct roost_store *store,
		       struct roost_answers *answers);
struct roost_share *roost_share_get(struct roost_store *store);
void roost_share_put(struct roost_store *store, struct roost_share *share);
struct roost_trouble *roost_trouble_get(struct roost_store *store);
void roost_trouble_put(struct roost_store *store,
		       struct roost_trouble *trouble);
struct roost_pacer *roost_pacer_get(struct roost_store *store);
void roost_pacer_put(struct roost_store *store, struct roost_pacer *pacer);

/* ---- bits by PSN ------------------------------------------------------ */

static inline bool roost_bit_test(const uint64_t *bits, struct roost_psn psn)
{
	return bits[psn.v % ROOST_SPAN_PKTS / 64] >> psn.v % 64 & 1;
}

static inline void roost_bit_set(uint64_t *bits, struct roost_psn psn)
{
	bits[psn.v % ROOST_SPAN_PKTS / 64] |= 1ull << psn.v % 64;
}

static inline void roost_bit_clear(uint64_t *bits, struct roost_psn psn)
{
	bits[psn.v % ROOST_SPAN_PKTS / 64] &= ~(1ull << psn.v % 64);
}

/* The 32 bits from a PSN on. */
static inline uint32_t roost_bits_at(const uint64_t *bits, struct roost_psn psn)
{
	uint32_t word = psn.v % ROOST_SPAN_PKTS / 64, shift = psn.v % 64;
	uint64_t low = bits[word] >> shift;

	if (shift > 32)
		low |= bits[(word + 1) % ROOST_SPAN_WORDS] << (64 - shift);
	return (uint32_t)low;
}

#endif
