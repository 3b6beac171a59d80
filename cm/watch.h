/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_WATCH_H
#define ROOST_CM_WATCH_H

/*
 * What becomes of the device of a CM, for librdmacm. An appliance reads the
 * async channel of its context (roost/dev.h).
 */

#include <sys/queue.h>

struct roost_cm;

enum roost_cm_news {
	/*
	 * The device is gone (roost_port_remove). All connections end at once:
	 * the CM sends nothing, waits for nothing, and raises no event any
	 * more, except ADDR_ERROR with -ENODEV for a pending address
	 * resolution. The owner can only destroy its connections and listeners;
	 * calls that start something return -ENODEV.
	 */
	ROOST_CM_NEWS_REMOVED,
	/* The device got or lost an address, or a port has another MAC.
	 * Connections stay as they are.
	 */
	ROOST_CM_NEWS_ADDRS,
};

/* told runs on the thread that runs the CM, under the CM's lock, and must not
 * call any function of the CM. link belongs to the CM.
 */
struct roost_cm_watch {
	void (*told)(void *arg, enum roost_cm_news news);
	void *arg;
	LIST_ENTRY(roost_cm_watch) link;
};

/* Register a watch: its told is called from now on. The watch stays the
 * caller's, and there as long as the CM. Thread: any.
 */
void roost_cm_watch_add(struct roost_cm *cm, struct roost_cm_watch *watch);

#endif
