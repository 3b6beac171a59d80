/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_TELEMETRY_H
#define ROOST_PMD_GLUE_CTL_CTL_TELEMETRY_H

/*
 * Commands under /roost/ for DPDK's telemetry, with the values of roost ctl
 * show. They work if EAL has telemetry, that is, in a program that starts EAL
 * itself. EAL started by Roost has no telemetry (pmd_glue/port/eal.h).
 */

/* Register the commands; a second call changes nothing. call: runs fn(arg) on
 * the control thread, or returns -ENODEV if no device is open; telemetry's
 * thread calls it. Thread: the control thread.
 */
void roost_ctl_telemetry_register(int (*call)(int (*fn)(void *arg), void *arg));

#endif
