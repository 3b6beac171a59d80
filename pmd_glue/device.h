/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_DEVICE_H
#define ROOST_PMD_GLUE_DEVICE_H

/*
 * The devices of the process, for the rest of this room; what is outside has
 * roost/roost.h.
 */

/*
 * Run fn(arg) on the control thread. Returns what it returns, or -ENODEV: no
 * device is open, and there is no such thread. Waits while a device opens or
 * closes. Thread: any but the control thread.
 */
int roost_device_call(int (*fn)(void *arg), void *arg);

#endif
