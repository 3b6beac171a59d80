/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TURN_H
#define ROOST_ENGINE_CORE_TURN_H

/*
 * The turn: ownership of a worker. A device has one worker or several; each QP
 * belongs to one.
 *
 * Whoever holds the turn is the worker: its own thread, an application thread
 * that helps inside ibv_poll_cq or ibv_post_send, or a thread that changes
 * objects (modify, destroy, dereg). Everything that the data path reads or
 * writes without a lock is safe because of the turn, and holding the turn once
 * is the grace period after which memory that was unlinked before may be
 * freed: no reader can be left from earlier turns. What more than one worker
 * may look at, as a table of the device, changes while all turns are taken.
 */

#include <stdbool.h>

struct roost_dev;
struct roost_dev_counters;
struct roost_worker;

/* Take the turn if it is free. Thread: any. Never blocks. */
bool roost_worker_turn_try(struct roost_worker *w);
/* Take the turn, waiting for it; a looping worker lets waiters go first. */
void roost_worker_turn_take(struct roost_worker *w);
/* Give it back, for who has no other turn to take after it; who helps calls
 * roost_worker_turn_release() (lib/engine/sched/worker.h).
 */
void roost_worker_turn_leave(struct roost_worker *w);
/* Somebody waits in turn_take: a polling thread should stand back. */
bool roost_worker_turn_wanted(const struct roost_worker *w);

/* The turns of all workers of a device: none of them runs meanwhile. Who has a
 * turn may not take all.
 */
void roost_dev_turns_take(struct roost_dev *dev);
void roost_dev_turns_release(struct roost_dev *dev);

/* What one worker has counted. Thread: any that has no turn. */
void roost_worker_counters(struct roost_worker *w,
			   struct roost_dev_counters *c);

#endif
