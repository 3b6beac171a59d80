/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_SERVICE_H
#define ROOST_CM_RSOCKET_SERVICE_H

/*
 * The service thread: one per process, started with the first rsocket; it runs
 * until the process ends. It reads the one CM event channel that all rsockets
 * share and passes events to their rsockets, so that connections are made and
 * ended even when the program is in no call. It reads the UDP sockets of
 * datagram rsockets, and calls the timers that are due. It sleeps in its own
 * poll only.
 *
 * A forked child has no such thread: there, everything is as before the first
 * rsocket, and the parent's rsockets are unknown (EBADF).
 *
 * Lock: its own, taken last.
 */

#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <sys/queue.h>

struct roost_rs;

/* References to release once an event is acked; NULL: none. */
struct roost_rs_after {
	struct roost_rs *put;
	struct rdma_cm_id *destroy;
};

/* The context of an rdma_cm_id points to this. */
struct roost_rs_cm {
	struct roost_rs *rs; /* lives as long as the id */
	/*
	 * Thread: the service's, without lock, with a reference to rs. The
	 * caller acks event afterwards, so this function must not destroy ids
	 * of the event.
	 */
	struct roost_rs_after (*event)(struct roost_rs_cm *cm,
				       const struct rdma_cm_event *event);
};

/* Calls back every period until removed. Zeroed: not running. */
struct roost_rs_timer {
	LIST_ENTRY(roost_rs_timer) link;
	struct roost_rs *rs;
	/* Thread: the service's, without lock, with a reference to rs. */
	void (*due)(struct roost_rs *rs);
	int64_t due_ns;
	int64_t period_ns; /* 0: not running */
};

/* Returns 0 or -errno. Thread: any. */
int roost_rs_service_start(void);
/* The event channel of all ids; valid while the service is started. */
struct rdma_event_channel *roost_rs_service_channel(void);

/* Set a timer: the first call comes after one period. Replaces an earlier
 * setting.
 */
void roost_rs_timer_set(struct roost_rs_timer *timer, int64_t period_ns);
void roost_rs_timer_clear(struct roost_rs_timer *timer);

/*
 * Call readable(rs) whenever fd is readable. rs is found by its number: closing
 * fd or removing rs ends the watch. Returns 0 or -errno.
 */
int roost_rs_service_watch(struct roost_rs *rs, int fd);

#endif
