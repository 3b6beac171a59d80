/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_PROGRESS_H
#define ROOST_PMD_GLUE_PROGRESS_PROGRESS_H

/*
 * Who turns a worker, and when: the progress modes.
 *
 * Dedicated: a thread of the worker's own, pinned to the last CPU that the
 * application may use (the second worker's to the one before it, and so on),
 * polls without rest. Help does nothing, but lets other
 * threads have the CPU now and then: the worker may be one of them.
 *
 * Adaptive: four things share the work.
 *  - An application thread that posts or polls helps: it takes the turn if it
 *    is free and runs an iteration. While somebody helps, the worker's thread
 *    keeps out: it wakes once a millisecond, looks whether that is still so,
 *    and does not touch the turn. It watches over the batch of posts
 *    (batch.h).
 *  - When nobody helps, the thread polls as long as there is traffic, and for
 *    POLL_NS after the last of it.
 *  - Then it dozes: on RX interrupts where the port has them, for a share of
 *    the idle time where not, never past the next timer of a QP.
 *  - An application thread that is about to sleep says so, and the thread
 *    takes over at once, and stays for a while even when somebody helps:
 *    a program that sleeps between messages would else pay two wakes each.
 *
 * The holder of the turn has the worker's lcore id while it runs: mempool
 * caches are per lcore, application threads have none, and the turn makes its
 * use exclusive.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_worker;

/* How the port can wake a sleeping thread; NULL members: it cannot. */
struct roost_progress_rx {
	void *ctx;
	/* Arm: returns a descriptor that becomes readable when a packet comes
	 * from now on, or -errno. Holder of the turn.
	 */
	int (*arm)(void *ctx);
	void (*disarm)(void *ctx);
	/* Packets have come past the port, and no interrupt tells of them; who
	 * brought them nudges. Any thread.
	 */
	bool (*is_waiting)(void *ctx);
	/* No packet can come now, and who changes that kicks. Any thread. */
	bool (*is_cut_off)(void *ctx);
};

struct roost_qp;
struct roost_progress;

struct roost_progress_conf {
	struct roost_worker *worker;
	unsigned int index; /* of the worker in its device */
	enum roost_progress_mode mode;
	struct roost_progress_rx rx;
	/* Take an lcore id for the worker. Not in an EAL of the application's
	 * own: it would lose the right to have secondary processes.
	 */
	bool take_lcore;
};

/*
 * Start the worker's thread. Returns 0, -ENOMEM, -EAGAIN, -EMFILE.
 * Thread: the control thread.
 */
int roost_progress_start(const struct roost_progress_conf *conf,
			 struct roost_progress **progress);
/* Waits for the thread. Nobody helps any more. Thread: the control thread. */
void roost_progress_stop(struct roost_progress *progress);

/* See roost_device_help() and its like in roost/roost.h. Thread:
 * any. */
bool roost_progress_help(struct roost_progress *progress);
void roost_progress_send_end(struct roost_progress *progress,
			     struct roost_qp *qp);
void roost_progress_send_batched(struct roost_progress *progress);
void roost_progress_expect(struct roost_progress *progress);

/* There is something for the worker that it would not see by itself, as a
 * frame to send: it gets a turn soon. Thread: any.
 */
void roost_progress_kick(struct roost_progress *progress);
/* Packets wait of which no interrupt tells (is_waiting): whoever helps will see
 * them, and if nobody does the thread is woken. Thread: any.
 */
void roost_progress_nudge(struct roost_progress *progress);

/* The process ends: iterate until nothing is owed to anybody, but not for
 * long. Thread: any.
 */
void roost_progress_settle(struct roost_progress *progress);

#endif
