/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_DEPARTED_H
#define ROOST_APPS_ROOSTD_SWITCH_DEPARTED_H

/*
 * The peers of clients that died. For each connection that was seen (seen.h) a
 * message says so at once: DREQ where the peer may be connected, else REJ, or
 * SIDR_REP. A DREQ is repeated, each time after twice the time, until it is
 * answered. What peers send to the numbers of a dead client is answered without
 * any memory (steer.c), as long as nobody else leases them.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/seen.h"

/* At 0, 50, 150, 350, 750, 1550, 3150 and 6350 ms. Numbers must stay in
 * quarantine longer than that, and than a timewait.
 */
#define ROOST_DEPARTED_TRIES 8u
#define ROOST_DEPARTED_FIRST_NS UINT64_C(50000000)
#define ROOST_DEPARTED_BUCKETS 4096u
/* Connections of all dead clients; more are forgotten. */
#define ROOST_DEPARTED_MAX 262144u

struct roost_departed {
	uint64_t hash_key;
	uint32_t nb;
	/* By the number of the next try; the first of a list is due first. */
	struct roost_seen_list due[ROOST_DEPARTED_TRIES];
	LIST_HEAD(, roost_seen) by_local[ROOST_DEPARTED_BUCKETS];
};

void roost_departed_init(struct roost_departed *departed, uint64_t hash_key);
/* Forget all; then it is as after init. */
void roost_departed_fini(struct roost_departed *departed);

/* The client died: take over its connections. */
void roost_departed_add(struct roost_departed *departed,
			struct roost_seen_table *table, uint16_t client,
			uint64_t now_ns);

/*
 * The next frame that is due, to be sent as if the client did; port as for
 * roost_sw_compose(). Returns its length in bytes; 0: none is due.
 */
uint32_t roost_departed_next(struct roost_departed *departed,
			     const struct roost_sw_port *port, uint64_t now_ns,
			     uint8_t frame[ROOST_SW_GSI_FRAME_MAX]);
/* When the next one is due; UINT64_MAX: none. */
uint64_t roost_departed_next_ns(const struct roost_departed *departed);

/* A message to the numbers of nobody. If it ends one of these connections,
 * nothing more is sent for it.
 */
void roost_departed_in(struct roost_departed *departed,
		       const struct roost_sw_pkt *pkt);

#endif
