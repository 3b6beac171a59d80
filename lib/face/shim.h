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

/* As roost_device_help_cq(), for a thread that polls no CQ: all workers. */
bool roost_device_help(struct roost_device *device);
/* Send the requests that wait for doorbell batching, now. Thread: any
 * application thread.
 */
void roost_device_send_batched(struct roost_device *device);

#endif
