/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TURN_H
#define ROOST_ENGINE_CORE_TURN_H

/*
 * The turn: ownership of a worker. A device has one worker or several; each QP
 * belongs to one.
 *
 * The thread that holds the turn is the worker: its own thread, an application
 * thread that helps inside ibv_poll_cq or ibv_post_send, or a thread that
 * changes objects (modify, destroy, dereg). Everything that the data path reads
 * or writes without a lock is safe because of the turn. The end of a turn is a
 * quiescent state: once every turn that was held has ended, memory that was
 * unlinked before may be freed, as no reader can be left.
 */

#include <stdbool.h>
#include <stdint.h>

struct roost_dev;
struct roost_dev_counters;
struct roost_worker;

/* Take the turn if it is free. Thread: any. Never blocks. */
bool roost_worker_turn_try(struct roost_worker *w);
/* Take the turn, waiting for it; a looping worker lets waiters go first. */
void roost_worker_turn_take(struct roost_worker *w);
/* Wait until the present turn is over, or until clock_ns() is past until_ns;
 * returns whether it is over. clock_ns NULL: for as long as it takes. The
 * worker does not wait, and notices nothing. The caller does not hold this
 * turn.
 */
bool roost_worker_turn_pass(struct roost_worker *w, uint64_t until_ns,
			    uint64_t (*clock_ns)(void));
/* Give the turn back, in a thread that will not take another one after it; a
 * thread that helps calls roost_worker_turn_release()
 * (lib/engine/sched/worker.h).
 */
void roost_worker_turn_leave(struct roost_worker *w);
/* True if a thread waits in roost_worker_turn_take(): a polling thread should
 * let it go first.
 */
bool roost_worker_turn_wanted(const struct roost_worker *w);

/* Wait until every turn of the device that somebody holds now is over, one
 * after the other: nobody finds any more what was taken out of the tables
 * before. The caller holds no turn.
 */
void roost_dev_turns_pass(struct roost_dev *dev);
/* In a turn of its own, the worker publishes all that it has completed, also
 * what waits for acknowledgements to leave. The caller holds no turn.
 */
void roost_worker_turn_settle(struct roost_worker *w);
/* Take or release the turns of all workers of a device: no worker runs in
 * between, and everything is published. For changes of ports only
 * (doc/threads.md). The caller of take holds no turn.
 */
void roost_dev_turns_take(struct roost_dev *dev);
void roost_dev_turns_release(struct roost_dev *dev);

/* The counters of one worker. Thread: any that holds no turn. */
void roost_worker_counters(struct roost_worker *w,
			   struct roost_dev_counters *c);

#endif
