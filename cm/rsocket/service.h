/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_SERVICE_H
#define ROOST_CM_RSOCKET_SERVICE_H

/*
 * The service thread: one per process, started with the first rsocket, there
 * until the process ends. It reads the one CM event channel that all rsockets
 * share and hands events to their owners, so that connections come and go
 * whether or not the program is inside a call; it reads the UDP sockets of
 * datagram rsockets, and it calls those whose timer is due. It never sleeps
 * but in its own poll.
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

/* What is to be let go once an event is acked; NULL: nothing. */
struct roost_rs_after {
	struct roost_rs *put;
	struct rdma_cm_id *destroy;
};

/* What an id's context points to. */
struct roost_rs_cm {
	struct roost_rs *rs; /* lives as long as the id */
	/*
	 * Thread: the service's, without lock, with a reference to rs. event
	 * is acked by the caller, so nobody may destroy its ids in here.
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
/* The channel of all ids; only while started. */
struct rdma_event_channel *roost_rs_service_channel(void);

/* The first call is a period from now; replaces what was set before. */
void roost_rs_timer_set(struct roost_rs_timer *timer, int64_t period_ns);
void roost_rs_timer_clear(struct roost_rs_timer *timer);

/*
 * Has readable(rs) called whenever fd has something to read, found by its
 * number: closing fd or removing rs ends it. Returns 0 or -errno.
 */
int roost_rs_service_watch(struct roost_rs *rs, int fd);

#endif
