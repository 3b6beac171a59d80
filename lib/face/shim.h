/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_FACE_SHIM_H
#define ROOST_FACE_SHIM_H

/*
 * What libibverbs needs of a device beside roost/roost.h.
 */

#include <stdbool.h>
#include <stdint.h>

struct roost_config;
struct roost_device;

/*
 * The node GUID of device number index (host order), whether the device is open
 * or not. Every caller in this process gets the same value. Thread: any.
 */
uint64_t roost_device_guid(const struct roost_config *config,
			   unsigned int index);

/*
 * Have the control thread call ready(arg) when fd may have something to read,
 * and now and then when it has not: ready() does not block. The caller has a
 * device open from new to free; after free, ready() is not running and is not
 * called again. Returns 0, -ENOMEM. Thread: any but the control thread.
 */
struct roost_watch;
int roost_watch_new(int fd, void (*ready)(void *arg), void *arg,
		    struct roost_watch **watch);
void roost_watch_free(struct roost_watch *watch);

/* As roost_device_help_cq(), for a thread that polls no CQ: all workers. */
bool roost_device_help(struct roost_device *device);
/* Send the requests that wait for doorbell batching, now. Thread: any
 * application thread.
 */
void roost_device_send_batched(struct roost_device *device);

#endif
