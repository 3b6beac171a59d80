/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_WORKER_H
#define ROOST_ENGINE_SCHED_WORKER_H

/*
 * The worker: the place where the data path of its QPs runs. Whoever holds its
 * turn is the worker (lib/engine/core/turn.h).
 *
 * An iteration is a plain function with the time as its argument; who calls it
 * and how it sleeps is pmd_glue's progress mode.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/turn.h"

struct rte_mbuf;
struct roost_dev;
struct roost_worker;

/* No deadline: roost_worker_next_deadline_ns(). */
#define ROOST_NEVER_NS UINT64_MAX

/* All workers of a device that has none yet; n: 0 is 1. Returns 0 or -ENOMEM,
 * and it has none then. Thread: who creates the device.
 */
int roost_workers_create(struct roost_dev *dev, unsigned int n);
void roost_workers_destroy(struct roost_dev *dev);

/* Give the turn back. Returns true when work was rung in that this holder did
 * not see, and the caller, if it is a helper, should take another turn. It may
 * miss what is rung in at that moment: who rings and does not get the turn
 * tries again, or wakes the worker's thread (doc/threads.md).
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
 * The half of an iteration that sends: for who has just posted, and will look
 * for what comes when it polls. The same contract. 0: nothing could go; a whole
 * iteration may help.
 */
unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns);

/* When to iterate again if nothing comes: when the next timer is due; at once
 * where the last iteration left something; soon where a port took no more.
 * ROOST_NEVER_NS: none of these. Holder of the turn.
 */
uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w);
/* Doorbells rung, or frames queued, that no iteration has seen. Any thread. */
bool roost_worker_has_work(const struct roost_worker *w);
/* Did the last iteration, or the last roost_worker_send(), end at a bound, with
 * more that could be done at once? Any thread.
 */
bool roost_worker_has_left(const struct roost_worker *w);
/* The device has requests in flight, or frames that the port has not taken.
 * Holder of the turn.
 */
bool roost_worker_is_busy(const struct roost_worker *w);

/*
 * Send a frame as it is through port_num (ARP, ND, CM). Takes it, also on
 * error. Returns 0, or -ENOBUFS (the queue to the worker is full; dropped).
 * Thread: any. The caller makes sure that the worker gets a turn.
 */
int roost_worker_send_frame(struct roost_worker *w, uint8_t port_num,
			    struct rte_mbuf *frame);
/* How many of them, of all ports, the worker has not taken up yet: who has
 * many leaves room for those of others. Thread: any.
 */
unsigned int roost_worker_frames_waiting(const struct roost_worker *w);

#endif
