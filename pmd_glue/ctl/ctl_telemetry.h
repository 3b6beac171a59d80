/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_TELEMETRY_H
#define ROOST_PMD_GLUE_CTL_CTL_TELEMETRY_H

/*
 * What can be seen, for DPDK's telemetry: commands under /roost/. They are
 * answered where EAL runs with telemetry, that is in a program that starts EAL
 * itself; EAL as we start it has none (pmd_glue/port/eal.h).
 */

/* call runs fn(arg) on the control thread, and says -ENODEV where no device is
 * open; it is called on telemetry's thread. Once is as good as twice.
 * Thread: the control thread.
 */
void roost_ctl_telemetry_register(int (*call)(int (*fn)(void *arg), void *arg));

#endif
