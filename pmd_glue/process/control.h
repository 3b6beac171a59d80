/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_CONTROL_H
#define ROOST_PMD_GLUE_PROCESS_CONTROL_H

/*
 * The control thread: one per process, for all slow work. It starts EAL (and so
 * is EAL's main lcore), opens and closes ports, polls the descriptors of
 * drivers whose interrupts Roost takes over (pmd_glue/quirks/intr_gate.h), and
 * runs the control side of every open device. It blocks all signals: they
 * belong to the application.
 *
 * The thread is counted: it runs from the first roost_control_get() to the last
 * roost_control_put(). A later get starts a new one, which goes on with the
 * same state.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* The control side of a device. */
struct roost_control_client {
	/* Do the work that is due. Returns the time in ns of the next call;
	 * UINT64_MAX: not before a wake. Called after every wake of the
	 * thread, for any reason; who has a descriptor looks at seen before it
	 * makes a system call.
	 */
	uint64_t (*run)(void *ctx, uint64_t now_ns);
	void *ctx;
	/* The thread wakes when fd has one of these events of poll(2). events
	 * 0: there is no descriptor.
	 */
	int fd;
	short events;
	short seen; /* of events, at the last wake; set by the thread */
	TAILQ_ENTRY(roost_control_client) link;
};

/* Take a reference to the control thread; the first one starts it. Returns 0,
 * -EAGAIN, -EMFILE. Thread: any but the control thread, one at a time.
 */
int roost_control_get(void);
/* Drop a reference; the last one stops the thread and waits for its end.
 * Thread: as roost_control_get().
 */
void roost_control_put(void);
/* In the child of a fork, which has no control thread: drop all references and
 * all waiting jobs, which are the parent's.
 */
void roost_control_forget(void);

/* Is the caller the control thread? Thread: any. */
bool roost_control_is_self(void);

/* Run fn(arg) on the control thread and wait for it; on the control thread, run
 * it at once. Returns the value of fn. The caller holds a reference. Thread:
 * any that the control thread never waits for.
 */
int roost_control_call(int (*fn)(void *arg), void *arg);
/* Have the control thread run fn(arg), before the jobs of later calls, and do
 * not wait for it; the value of fn is lost. The caller holds a reference.
 * Returns 0, -ENOMEM. Thread: any.
 */
int roost_control_post(int (*fn)(void *arg), void *arg);

/*
 * Run the slow function fn(arg) on a new thread, and serve the clients until it
 * returns: opening a port takes as long as its peer or its firmware, while
 * other devices must keep their connections. Returns the value of fn. No client
 * may touch the data that fn uses. Thread: the control thread, inside of
 * roost_control_call().
 */
int roost_control_aside(int (*fn)(void *arg), void *arg);

/* Have the control thread call its clients soon. Costs a system call only while
 * the control thread sleeps. Thread: any.
 */
void roost_control_wake(void);

#define ROOST_CONTROL_WATCHED_MAX 64u

/* Descriptors that change without a call of Roost's, as drivers' sockets. */
struct roost_control_watch {
	/* Fill fds with the descriptors to poll; called before each sleep.
	 * Returns their number, at most ROOST_CONTROL_WATCHED_MAX.
	 */
	unsigned int (*fill)(struct pollfd *fds);
	/* Called after poll(2), with the same fds. */
	void (*ready)(const struct pollfd *fds, unsigned int nb);
};

/* Use watch from the next sleep on. A process has one watch, which stays until
 * it exits. Thread: the control thread.
 */
void roost_control_set_watch(const struct roost_control_watch *watch);

/* Thread: the control thread. */
void roost_control_add(struct roost_control_client *client);
void roost_control_remove(struct roost_control_client *client);

#endif
