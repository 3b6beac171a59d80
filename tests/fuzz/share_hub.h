/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_FUZZ_SHARE_HUB_H
#define ROOST_TESTS_FUZZ_SHARE_HUB_H

/*
 * A hub whose loop the target turns, and clients with small memories. What the
 * hub reports is not printed.
 *
 * Thread: one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/port.h"

#define SHARE_BLOCKS_MAX 64u

extern const struct roost_shm_shape share_shape;

/* A client; sockets: -1: none. Its seat is 0. */
struct share_end {
	int socket, doorbell;
	struct roost_shm_memory ours, theirs;
	struct roost_shm_in in;
	struct roost_shm_out out;
	uint64_t rung;
	struct roost_share_attached granted;
	uint32_t blocks[SHARE_BLOCKS_MAX]; /* of QPNs */
	unsigned int nb_blocks;
	bool attached;
	bool has_peer;   /* or is to have one */
	bool is_cut_off; /* the daemon has ended a session of it */
};

extern struct roostd_port share_port;
extern int share_listener;
extern uint64_t share_now_ns;

void share_open(void);
/* A round of the daemon. */
void share_pump(void);

/* Its memory, which stays the same for all sessions. */
void share_end_init(struct share_end *e);
/* A session that says nothing yet. */
int share_dial(void);
/* A new session, attached. Blocks of older ones stay in the list. */
void share_attach(struct share_end *e);
/* Take all that the daemon has said, and answer what it says of peers. A
 * request for QPNS has its type as tag. */
void share_hear(struct share_end *e);
void share_hang_up(struct share_end *e);

void share_publish(struct share_end *e, const uint8_t *frame, uint32_t len);
/* The next frame; NULL: none. It is not given back. */
const uint8_t *share_take(struct share_end *e, uint32_t *len_bytes);

#endif
