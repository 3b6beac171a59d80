/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SERVICE_H
#define ROOST_ENGINE_CORE_SERVICE_H

/*
 * What runs beside a device, on the control thread: rooms above the engine
 * hang a service into the device, and whoever owns the control thread
 * (pmd_glue, or a simulation) runs them, with the time as an argument.
 */

#include <stdint.h>
#include <sys/queue.h>

struct roost_dev;

struct roost_dev_service {
	/* Do what is due. Returns when to be called again, UINT64_MAX: when
	 * woken. It is also called when it need not be. It may add or remove
	 * no service.
	 */
	uint64_t (*run)(void *arg, uint64_t now_ns);
	/* The process ends: say what peers should know, without waiting for
	 * anything. NULL: nothing. Thread: any.
	 */
	void (*farewell)(void *arg);
	void *arg;
	TAILQ_ENTRY(roost_dev_service) link;
};

/* The service stays the caller's. Thread: any. */
void roost_dev_service_add(struct roost_dev *dev,
			   struct roost_dev_service *service);
/* It does not run any more from the return on. Thread: any but the one that
 * runs it; waits for it.
 */
void roost_dev_service_remove(struct roost_dev *dev,
			      struct roost_dev_service *service);

/* Have the services run soon. Thread: any. */
void roost_dev_service_wake(struct roost_dev *dev);

/* Run all. Returns when to call again. Thread: the control thread. */
uint64_t roost_dev_service_run_all(struct roost_dev *dev, uint64_t now_ns);

/* At the end of the process, when threads that hold locks may be gone.
 * Thread: any.
 */
void roost_dev_service_farewell(struct roost_dev *dev);

#endif
