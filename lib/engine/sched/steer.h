/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_STEER_H
#define ROOST_ENGINE_SCHED_STEER_H

/*
 * Steering between the workers of a device: frames that one worker receives for
 * QPs of another, and frames of workers that have no queue of their own at a
 * port.
 *
 * A port may spread frames over its queues by any rule, mostly by the UDP
 * source port, which the peer chooses; only the engine knows which worker a QP
 * belongs to. So the worker that receives a burst sorts it: it keeps its own
 * frames, and puts the frames of each other worker into that worker's ring, all
 * at once. Sorting uses the destination QPN of a frame and checks nothing; the
 * worker that takes the frame checks it. A frame for QPs of several workers
 * (multicast) is shared, and the last of them frees it. A frame for no QP stays
 * with the worker that received it, which counts it.
 *
 * A worker without a TX queue lends its frames to the first one.
 *
 * Thread: the holder of the worker's turn. In a device with one worker there is
 * no steering (roost_sched.steer is NULL).
 */

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct roost_dev;
struct roost_worker;

/* Create the rings of all workers of the device. Returns 0, -ENOMEM. */
int roost_steer_create(struct roost_dev *dev);
/* Frees the frames that wait, too. */
void roost_steer_destroy(struct roost_worker *w);

/* Sort a burst of up to ROOST_RX_BURST frames; mbuf->port of each is its port,
 * and ROOST_LOOPED. Takes the frames of other workers; returns how many are
 * left, in pkts[0..].
 */
uint16_t roost_steer_burst(struct roost_worker *w, struct rte_mbuf **pkts,
			   uint16_t n);
/* True if a burst can be sorted without losing a frame. */
bool roost_steer_has_room(const struct roost_worker *w);

/* Take the frames that other workers received for this worker, and the frames
 * that they lend. Returns how many frames.
 */
unsigned int roost_steer_receive(struct roost_worker *w);

/* Lend frames for a port. Returns how many, from the first one on, were taken.
 */
uint16_t roost_steer_lend(struct roost_worker *w, unsigned int port_index,
			  struct rte_mbuf **frames, uint16_t n);

/* The port has all frames that the first worker had taken. Called by that
 * worker.
 */
void roost_steer_sent(struct roost_worker *w, unsigned int port_index);
/* True if the port may not have a frame that the worker lent. */
bool roost_steer_is_lending(const struct roost_worker *w,
			    unsigned int port_index);

/* True if there is a frame to take. Thread: any. */
bool roost_steer_has_work(const struct roost_worker *w);

#endif
