/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_DEVICE_H
#define ROOST_PMD_GLUE_DEVICE_H

/*
 * The devices of the process, for other files of pmd_glue. Code outside of
 * pmd_glue uses roost/roost.h.
 */

#include <stdint.h>

struct roost_backend_port;
struct roost_device;

/*
 * Run fn(arg) on the control thread. Returns the value of fn, or -ENODEV: no
 * device is open, and so there is no control thread. Waits while a device opens
 * or closes. Thread: any but the control thread.
 */
int roost_device_call(int (*fn)(void *arg), void *arg);

/* Port port_num (from 1) of an open device; NULL: it has none of that number.
 * Thread: any.
 */
struct roost_backend_port *roost_device_port(struct roost_device *device,
					     uint8_t port_num);

#endif
