/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_PROGRESS_H
#define ROOST_PMD_GLUE_PROGRESS_PROGRESS_H

/*
 * The progress engine of one worker: who takes the worker's turn, and when.
 *
 * Dedicated mode: the worker has a thread, which polls without pause. The
 * thread of worker 0 is pinned to the last CPU that the application may use,
 * that of worker 1 to the CPU before it, and so on. Help runs no iteration; now
 * and then it yields the CPU, which the worker's thread may need.
 *
 * Adaptive mode: application threads and the worker's thread share the work.
 *  - Help: an application thread that posts or polls takes the turn if the turn
 *    is free, and runs an iteration. While application threads help, the
 *    worker's thread keeps out: it wakes once a millisecond, checks that help
 *    goes on, and does not touch the turn. It watches the batch of posts
 *    (batch.h). Help that comes too seldom keeps nobody out (presence.h).
 *  - Without help, the worker's thread polls while there is traffic, and for
 *    POLL_NS after the last packet.
 *  - Then it dozes: on RX interrupts if the port has them, otherwise for a
 *    share of the idle time. It never sleeps past the next timer of a QP.
 *  - Expect: an application thread announces that it is about to block. The
 *    worker's thread takes over at once, and keeps polling for a while even if
 *    threads help. Otherwise a program that sleeps between messages would pay
 *    for two wakes with each message.
 *
 * The holder of the turn runs with the worker's lcore id. mempool caches are
 * per lcore, application threads have no lcore id, and the turn guarantees that
 * one thread at a time uses this one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_worker;

/* How the port wakes a sleeping thread. NULL members: not supported. */
struct roost_progress_rx {
	void *ctx;
	/* Arm the RX interrupts. Returns a descriptor that becomes readable
	 * when a packet arrives from now on, or -errno. Thread: holder of the
	 * turn.
	 */
	int (*arm)(void *ctx);
	void (*disarm)(void *ctx); /* thread: holder of the turn */
	/* Are there packets that another subport handed over? They raise no
	 * interrupt; the thread that hands them over calls
	 * roost_progress_nudge(). Thread: any.
	 */
	bool (*is_waiting)(void *ctx);
	/* Is it impossible that a packet arrives? The thread that ends this
	 * state calls roost_progress_kick(). Thread: any.
	 */
	bool (*is_cut_off)(void *ctx);
};

struct roost_qp;
struct roost_progress;

struct roost_progress_conf {
	struct roost_worker *worker;
	unsigned int index; /* of the worker in its device */
	enum roost_progress_mode mode;
	struct roost_progress_rx rx;
	/* Register an lcore id for the worker. False if the application runs
	 * EAL itself: rte_thread_register() would disable its secondary
	 * processes.
	 */
	bool take_lcore;
	/* No thread: a caller turns the worker itself, with a loop of its own
	 * (see roost_progress_sleep_begin()). mode and take_lcore do not
	 * matter, and no thread helps.
	 */
	bool has_caller;
};

/*
 * Start the worker's thread. *progress belongs to the caller until
 * roost_progress_stop(). Returns 0, -ENOMEM, -EAGAIN, -EMFILE.
 * Thread: the control thread.
 */
int roost_progress_start(const struct roost_progress_conf *conf,
			 struct roost_progress **progress);
/* Stop the worker's thread, wait for it, and free progress. No thread helps any
 * more. Thread: the control thread.
 */
void roost_progress_stop(struct roost_progress *progress);

/* As roost_device_help_cq() and the other device calls of roost/roost.h.
 * Thread: any.
 */
bool roost_progress_help(struct roost_progress *progress);
/* As help, by a thread that says so when nothing comes and it will sleep
 * (roost_progress_expect()): it keeps the worker's thread out however seldom it
 * helps. Tries the turn once, and never yields. Thread: any.
 */
bool roost_progress_attend(struct roost_progress *progress);
void roost_progress_send_end(struct roost_progress *progress,
			     struct roost_qp *qp);
void roost_progress_send_batched(struct roost_progress *progress);
void roost_progress_expect(struct roost_progress *progress);

/* The caller left work for the worker, such as a frame to send. Wakes the
 * worker's thread if it sleeps. Thread: any.
 */
void roost_progress_kick(struct roost_progress *progress);
/* As roost_progress_kick(), by a thread that waits for what it left: in
 * adaptive mode it sends it itself, if it gets the turn at once, and no other
 * thread has to wake for that. Thread: any that has no turn.
 */
void roost_progress_push(struct roost_progress *progress);
/* Packets wait that raise no interrupt (is_waiting). Wakes the worker's thread
 * if it sleeps, unless it keeps out because application threads help: then the
 * next help takes the packets. Thread: any.
 */
void roost_progress_nudge(struct roost_progress *progress);

/* ---- who turns the worker (wake.c) ----------------------------------------
 */

/* Leave the turn to threads that wait for it: a holder that takes the turn
 * again at once after each release would starve them. Thread: the one that
 * turns the worker, or helps; it does not hold the turn.
 */
void roost_progress_stand_back(struct roost_progress *progress);
/* Is there work for an iteration, besides frames that raise an interrupt?
 * Thread: any.
 */
bool roost_progress_has_work(const struct roost_progress *progress);
/*
 * Before a sleep: from now on, kick and nudge make the descriptor of
 * roost_progress_wake_fd() readable. Returns false: there is work, do not
 * sleep. Afterwards, in both cases: roost_progress_sleep_end(). Thread: the one
 * that turns the worker; it need not hold the turn.
 */
bool roost_progress_sleep_begin(struct roost_progress *progress);
void roost_progress_sleep_end(struct roost_progress *progress);
/* For poll(2); constant until stop. */
int roost_progress_wake_fd(const struct roost_progress *progress);

/* The device or the process ends: iterate until an iteration finds no work,
 * with a bound on the number of iterations, and until the ports have taken all
 * frames, for a tenth of a second at most: a peer may have had no processor for
 * a moment. Thread: any.
 */
void roost_progress_settle(struct roost_progress *progress);

#endif
