/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_WORKER_H
#define ROOST_ENGINE_SCHED_WORKER_H

/*
 * The worker: the place where the data path of its QPs runs. The thread that
 * holds its turn is the worker (lib/engine/core/turn.h).
 *
 * An iteration is a plain function with the time as its argument. pmd_glue's
 * progress mode decides which thread calls it and how that thread sleeps.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/turn.h"

struct rte_mbuf;
struct roost_dev;
struct roost_worker;

/* No deadline: roost_worker_next_deadline_ns(). */
#define ROOST_NEVER_NS UINT64_MAX

/* Create n workers (0: one) for a device that has none. Returns 0 or -ENOMEM;
 * after an error the device has no worker. Thread: the creator of the device.
 */
int roost_workers_create(struct roost_dev *dev, unsigned int n);
void roost_workers_destroy(struct roost_dev *dev);

/* Give the turn back. Returns true when a doorbell was rung that this holder
 * did not see; a caller that helps should then take the turn again. The result
 * may miss a doorbell that is rung at the same moment: a thread that rings and
 * does not get the turn tries again, or wakes the worker's thread
 * (doc/threads.md).
 */
bool roost_worker_turn_release(struct roost_worker *w);

/*
 * One iteration: receive a burst per port, run timers, transmit, acknowledge,
 * publish completions. The caller holds the turn.
 * An iteration is short, however much there is to do: each kind of work has its
 * bound, and the next iteration goes on where it ended
 * (roost_worker_has_left()).
 * now_ns: any monotonic clock, the same in all calls.
 * Returns the amount of work done (packets, doorbells, timers); 0: idle.
 */
unsigned int roost_worker_iterate(struct roost_worker *w, uint64_t now_ns);

/*
 * The sending half of an iteration, for a thread that has just posted and
 * receives when it polls. Same contract as roost_worker_iterate(). Returns 0 if
 * no packet could go; a whole iteration may help then.
 */
unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns);

/* Time of the next iteration if no frame and no doorbell comes: the next
 * timer's deadline; at once if the last iteration ended at a bound; soon if a
 * port took no more frames. ROOST_NEVER_NS: none of these. Thread: holder of
 * the turn.
 */
uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w);
/* True if a doorbell was rung, or a frame queued, that no iteration has seen.
 * Thread: any.
 */
bool roost_worker_has_work(const struct roost_worker *w);
/* True if the last iteration, or the last roost_worker_send(), ended at a bound
 * with more work that could be done at once. Thread: any.
 */
bool roost_worker_has_left(const struct roost_worker *w);
/* True if roost_worker_next_deadline_ns() is before ns, other than by timers
 * that were cancelled. Thread: holder of the turn.
 */
bool roost_worker_is_due_before(struct roost_worker *w, uint64_t ns);
/* True if there are frames from QPs of this device to QPs of this device, which
 * the next iteration receives. Thread: holder of the turn.
 */
bool roost_worker_has_looped(const struct roost_worker *w);
/* True if there is work for which no frame or timer will come: requests that
 * could be sent, or frames that the port has not taken. Thread: holder of the
 * turn.
 */
bool roost_worker_has_more(const struct roost_worker *w);

/*
 * Send a frame unchanged through port_num (ARP, ND, CM). Takes the frame, also
 * on error. Returns 0, or -ENOBUFS (the queue to the worker is full; the frame
 * is dropped).
 * Thread: any. The caller makes sure that the worker gets a turn.
 */
int roost_worker_send_frame(struct roost_worker *w, uint8_t port_num,
			    struct rte_mbuf *frame);
/* Number of frames from roost_worker_send_frame(), for all ports, that the
 * worker has not taken yet. A sender of many frames checks it, to leave room
 * for other senders. Thread: any.
 */
unsigned int roost_worker_frames_waiting(const struct roost_worker *w);

#endif
