/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_FAKE_UPLINK_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_FAKE_UPLINK_H

/*
 * An uplink without EAL: the test is the network behind it. It is linked in
 * place of pmd_glue/uplink.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include "lib/engine/core/port_io.h"
#include "pmd_glue/share/page.h"

#define FAKE_NEIGHS_MAX 8192u
#define FAKE_FRAME_MAX 4600u

struct fake_neigh {
	struct roost_neigh pub;
	struct roost_gid addr;
	unsigned int refs;
	bool is_dead; /* it has not answered */
	bool is_watched;
};

extern struct fake_uplink {
	struct roost_share_facts facts;
	uint32_t nb_neighs;
	struct fake_neigh neighs[FAKE_NEIGHS_MAX];
	unsigned int nb_from_macs; /* of peers, that the host was told */
	unsigned int nb_asked;
	int join_error;
	unsigned int nb_joined, nb_left;
	struct roost_gid group; /* the last one */
	bool is_full;           /* the port takes no frame */
	unsigned int nb_sent, nb_discarded;
	/* By queue; writer: who turns the worker. */
	_Atomic unsigned int nb_sent_by[ROOST_WORKERS_MAX];
	/* A queue is full after so many frames, once in each round; 0: never.
	 */
	_Atomic unsigned int most_in_round;
	uint32_t sent_bytes; /* of the last frame */
	uint8_t sent[FAKE_FRAME_MAX];
	unsigned int nb_open;
	const uint8_t *arrives; /* a frame of each round; NULL: none */
	uint32_t arrives_bytes;
	unsigned int nb_workers; /* 0: one */
	/* Sees each frame that is sent, on a thread of the daemon's; NULL:
	 * nobody.
	 */
	void (*on_sent)(const uint8_t *frame, uint32_t len_bytes);
} fake;

/* The port as it is first: addresses 198.18.0.1/24 and fe80::. There is no way
 * to 203.0.113.0/24.
 */
void fake_reset(void);
/* The neighbour; it is made if there is none. */
struct fake_neigh *fake_neigh(const struct roost_gid *addr);
/* All references of all. */
unsigned int fake_refs(void);
/* The control side has run: the descriptor is readable. */
void fake_news(void);
/* A frame from the network. Returns true: it is the host's. */
bool fake_receive(const uint8_t *frame, uint32_t len_bytes);
/* The same in the queue of a worker, whose thread takes it. Returns false: the
 * queue is full. Thread: one for each queue.
 */
bool fake_arrive(unsigned int worker, const uint8_t *frame, uint32_t len_bytes);

#endif
