/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_INTRODUCE_H
#define ROOST_APPS_ROOSTD_INTRODUCE_H

/*
 * Introductions: two clients that send each other many frames get a channel of
 * their own (pmd_glue/share/direct.h), if they are of one user, share the
 * port's addresses and may by their policies. The daemon hands each the memory
 * of the other one, and parts them when one goes, when they have been idle, or
 * when one of them needs the place for a busier peer.
 *
 * A pair is named by the slots of its ends. What a client says of a pair has an
 * effect on its own pairs only. A pair that failed is left alone for a while.
 *
 * Nothing waits for a client: every state of a pair but "joined" has an end.
 * A client that does not read its session is cut off.
 *
 * Thread: the port's (crew.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "pmd_glue/share/message.h"

struct roostd_client;
struct roostd_port;

/* Peers of a client, and pairs of it that failed: together ROOSTD_PAIRS_MAX. */
#define ROOSTD_PEERS_MAX 16u
#define ROOSTD_PAIRS_MAX 32u
/* Receivers of a client that are counted: some share a place. */
#define ROOSTD_BUSY_LEN 16u
/* Pairs that may be found busy between two calls of roostd_introduce_run(). */
#define ROOSTD_FOUND_MAX 8u

/* So many frames in this time make a pair busy. */
#define ROOSTD_BUSY_FRAMES 64u
#define ROOSTD_BUSY_NS 100000000u
/* A pair without frames for so long is parted; if another peer needs the place,
 * for so long.
 */
#define ROOSTD_IDLE_NS 5000000000u
#define ROOSTD_IDLE_SHORT_NS 100000000u
/* A client has this time to answer. */
#define ROOSTD_ANSWER_NS 1000000000u
/* The peers of a client that ended have this time to take its last frames. */
#define ROOSTD_LAST_NS 50000000u
/* A pair that was refused, or broke the rules, is left alone for so long. */
#define ROOSTD_REFUSED_NS 10000000000u
#define ROOSTD_BROKEN_NS 60000000000u

/* Frames of a client to another one. */
struct roostd_busy {
	uint64_t since_ns;
	uint32_t frames;
	uint16_t to; /* slot */
};

enum roostd_pair_state {
	ROOSTD_PAIR_MEETS, /* MEET was sent */
	ROOSTD_PAIR_JOINED,
	ROOSTD_PAIR_STOPS,  /* PART STOP was sent */
	ROOSTD_PAIR_LEAVES, /* PART LEAVE was sent */
	ROOSTD_PAIR_APART,  /* it failed */
};

struct roostd_pair {
	LIST_ENTRY(roostd_pair) all;
	enum roostd_pair_state state;
	uint64_t until_ns; /* the state ends then; JOINED: 0 */
	struct roostd_client *ends[2];
	/* By end: */
	bool answered[2];   /* MEETS, STOPS, LEAVES */
	uint32_t seats[2];  /* its seat for the other one */
	uint32_t counts[2]; /* frames that it had consumed, as last seen */
	uint64_t active_ns; /* when they had changed */
	uint64_t apart_ns;  /* when it ends, it stays apart for so long */
};

LIST_HEAD(roostd_pair_list, roostd_pair);

/* What a port knows of its pairs. Zeros: nothing. */
struct roostd_pairs {
	struct roostd_pair_list all;
	uint64_t look_ns; /* when they are looked at next */
	/* Busy ones, not looked at yet: the slots of sender and receiver, which
	 * are not the same; 0: none. Writer: any lane.
	 */
	_Atomic uint32_t found[ROOSTD_FOUND_MAX];
	atomic_bool has_found;
};

/* What a client knows of its own. Zeros: nothing. */
struct roostd_peers {
	struct roostd_busy busy[ROOSTD_BUSY_LEN];
	struct roostd_pair *pairs[ROOSTD_PAIRS_MAX]; /* NULL: empty */
};

/* A frame went from a client to another one. Hot. Thread: the sender's lane. */
void roostd_introduce_count(struct roostd_port *port,
			    struct roostd_client *from,
			    const struct roostd_client *to, uint64_t now_ns);

/* Introduce busy pairs, part idle ones, go on. Once in each round. */
void roostd_introduce_run(struct roostd_port *port);

/* SEAT and PARTED of a client. */
void roostd_introduce_seat(struct roostd_port *port, struct roostd_client *c,
			   const struct roost_share_msg *msg);
void roostd_introduce_parted(struct roostd_port *port, struct roostd_client *c,
			     const struct roost_share_msg *msg);

/* A client has ended: its peers are to take its last frames. */
void roostd_introduce_leave(struct roostd_port *port, struct roostd_client *c);
/* Have they not done so yet? */
bool roostd_introduce_waits(const struct roostd_client *c);
/* Its peers, for people. */
unsigned int roostd_introduce_nb(const struct roostd_client *c);
/* The client is gone: nobody is its peer. */
void roostd_introduce_end(struct roostd_port *port, struct roostd_client *c);

#endif
