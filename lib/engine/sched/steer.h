/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_STEER_H
#define ROOST_ENGINE_SCHED_STEER_H

/*
 * Between the workers of a device: frames that one receives for QPs of another,
 * and frames of workers that have no queue of their own at a port.
 *
 * A port may spread frames over its queues by whatever it knows of, and its
 * peers choose the UDP source port that it mostly goes by; only we know which
 * worker a QP belongs to. So whoever receives a burst sorts it: its own frames
 * stay, those of each other worker go into that one's ring, all at once. A
 * frame is sorted by the number that it names and by nothing else: all that
 * has to be checked is checked by who takes it. What is for several, as
 * multicast, is shared, and the last one frees it; what is for nobody stays
 * with who received it, to be counted.
 *
 * A worker without a TX queue lends its frames to the first one.
 *
 * Thread: the holder of the worker's turn. A device with one worker has none
 * of this (worker.steer is NULL).
 */

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct roost_dev;
struct roost_worker;

/* For all workers of the device; returns 0, -ENOMEM. */
int roost_steer_create(struct roost_dev *dev);
/* Frees what waits, too. */
void roost_steer_destroy(struct roost_worker *w);

/* Sort a burst of up to ROOST_RX_BURST frames, mbuf->port being the port of
 * each, and ROOST_LOOPED. Takes those of others; returns how many are left, in
 * pkts[0..].
 */
uint16_t roost_steer_burst(struct roost_worker *w, struct rte_mbuf **pkts,
			   uint16_t n);
/* Could a burst be sorted without losing any of it? */
bool roost_steer_has_room(const struct roost_worker *w);

/* Take what others received for this worker, and what they lend. Returns how
 * many frames.
 */
unsigned int roost_steer_receive(struct roost_worker *w);

/* Lend frames for a port. Returns how many of the first were taken. */
uint16_t roost_steer_lend(struct roost_worker *w, unsigned int port_index,
			  struct rte_mbuf **frames, uint16_t n);

/* Is there anything to take? Any thread. */
bool roost_steer_has_work(const struct roost_worker *w);

#endif
