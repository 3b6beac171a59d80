/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_CONTROL_H
#define ROOST_PMD_GLUE_PROCESS_CONTROL_H

/*
 * The control thread: one per process, for everything that is slow. It starts
 * EAL (and so is its main lcore), opens and closes ports, polls the descriptors
 * of drivers whose interrupts it takes over, and runs the control side of every
 * open device. It blocks all signals: they are the application's.
 *
 * It lives while somebody holds it; a later one takes over where it left.
 */

#include <poll.h>
#include <stdint.h>
#include <sys/queue.h>

/* The control side of a device. */
struct roost_control_client {
	/* Do what is due. Returns when to be called again, UINT64_MAX: when
	 * woken. Called after every wake, whatever the reason.
	 */
	uint64_t (*run)(void *ctx, uint64_t now_ns);
	void *ctx;
	/* Wakes the thread when it has one of these events of poll(2); with
	 * events 0 there is no descriptor.
	 */
	int fd;
	short events;
	TAILQ_ENTRY(roost_control_client) link;
};

/* Hold the control thread, start it if need be. Returns 0, -EAGAIN, -EMFILE.
 * Thread: any, but one at a time.
 */
int roost_control_get(void);
/* The last one stops it and waits for it. Thread: as get, not itself. */
void roost_control_put(void);
/* In a child of a fork, which has no such thread: nobody holds it, and the jobs
 * that wait are the parent's.
 */
void roost_control_forget(void);

/* Run fn(arg) on the control thread. Returns what fn returns.
 * Thread: any but the control thread, by a holder.
 */
int roost_control_call(int (*fn)(void *arg), void *arg);

/*
 * Run fn(arg), which is slow, on a thread of its own, and serve the clients
 * until it is done: opening a port may take as long as its peer or its firmware
 * takes, and others have connections to keep. Returns what fn returns.
 * Thread: the control thread, inside of roost_control_call(); no client may
 * touch what fn does.
 */
int roost_control_aside(int (*fn)(void *arg), void *arg);

/* Call the clients soon. Costs a system call only when it sleeps.
 * Thread: any.
 */
void roost_control_wake(void);

#define ROOST_CONTROL_WATCHED_MAX 64u

/* Descriptors that come and go by themselves, as those of drivers' sockets. */
struct roost_control_watch {
	/* What to poll, before each sleep. Returns how many of fds it filled,
	 * at most ROOST_CONTROL_WATCHED_MAX.
	 */
	unsigned int (*fill)(struct pollfd *fds);
	/* After poll(2), with the same fds. */
	void (*ready)(const struct pollfd *fds, unsigned int nb);
};

/* From the next sleep on, for the rest of the process, which has one watch.
 * Thread: the control thread.
 */
void roost_control_set_watch(const struct roost_control_watch *watch);

/* Thread: the control thread. */
void roost_control_add(struct roost_control_client *client);
void roost_control_remove(struct roost_control_client *client);

#endif
