/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SERVICE_H
#define ROOST_ENGINE_CORE_SERVICE_H

/*
 * Services of a device, which run on the control thread. A module above the
 * engine adds a service to the device, and the owner of the control thread
 * (pmd_glue, or a simulation) runs it, with the time as an argument.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct roost_conn_viewer;
struct roost_dev;

struct roost_dev_service {
	/* Do the work that is due. Returns the time of the next call,
	 * UINT64_MAX: when woken. The call may come without any work. Must not
	 * add or remove a service.
	 */
	uint64_t (*run)(void *arg, uint64_t now_ns);
	/* The process ends: send the last messages to peers, without waiting
	 * for anything. NULL: nothing to send. Thread: any.
	 */
	void (*flush)(void *arg);
	/* Show what it has to the viewer (conn_view.h). NULL: nothing. Thread:
	 * the control thread, not in run().
	 */
	void (*view)(void *arg, uint64_t now_ns,
		     const struct roost_conn_viewer *viewer);
	void *arg;
	TAILQ_ENTRY(roost_dev_service) link;
};

/* The service stays the caller's. Thread: any. */
void roost_dev_service_add(struct roost_dev *dev,
			   struct roost_dev_service *service);
/* After the return the service does not run any more; the call waits for a run
 * that is in progress. Thread: any except the control thread in run().
 */
void roost_dev_service_remove(struct roost_dev *dev,
			      struct roost_dev_service *service);

/* Make the services run soon. Thread: any. */
void roost_dev_service_wake(struct roost_dev *dev);

/* From here on, and until it says otherwise, the calling thread has the
 * services' messages taken itself after each turn: one that it receives wakes
 * nobody.
 */
void roost_dev_service_attend(bool attends);
/* Make the services take a message that the calling thread has received. */
void roost_dev_service_arrived(struct roost_dev *dev);

/* Run all services. Returns the time of the next call. Thread: the control
 * thread.
 */
uint64_t roost_dev_service_run_all(struct roost_dev *dev, uint64_t now_ns);

/* Call all flush functions at the end of the process, when threads that hold
 * locks may have been terminated. Thread: any.
 */
void roost_dev_service_flush(struct roost_dev *dev);

/*
 * What each device of a program has from before its first frame to its end,
 * whatever the program uses of it: as a host's connection manager, which
 * answers peers for which no program of the host waits.
 */
struct roost_dev_resident {
	int (*begin)(struct roost_dev *dev); /* returns 0, -errno */
	void (*end)(struct roost_dev *dev);  /* frames no longer arrive */
};

/* There is one at most. It stays the caller's. Thread: constructors. */
void roost_dev_resident_set(const struct roost_dev_resident *resident);
/* Without a resident they do nothing. Returns as its begin(). Thread: the
 * control thread.
 */
int roost_dev_resident_begin(struct roost_dev *dev);
void roost_dev_resident_end(struct roost_dev *dev);

#endif
