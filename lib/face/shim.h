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
struct roost_qp;

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

/* The worker of qp may have something to send: send it. Thread: any application
 * thread.
 */
void roost_device_push(struct roost_device *device, const struct roost_qp *qp);
/* As roost_device_help_cq(), of all workers, for a thread that waits for an
 * event of the CM: it calls roost_cm_serve() with the time that this returns,
 * so that messages of the CM wake no other thread. Returns 0: there was
 * nothing.
 */
uint64_t roost_device_attend(struct roost_device *device);
/* Send the requests that wait for doorbell batching, now. Thread: any
 * application thread.
 */
void roost_device_send_batched(struct roost_device *device);

#endif
