/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_RT_SIGNALS_H
#define ROOST_PMD_GLUE_QUIRKS_RT_SIGNALS_H

/*
 * Real-time signals belong to the application. net_tap takes a free real-time
 * signal, and the kernel sends it to the process for every packet, which
 * interrupts the application's sleeps. If net_tap finds no free signal, it
 * polls.
 *
 * Thread: any that calls a driver. Signal handlers belong to the process, and
 * two threads may be inside drivers at once (roost_control_aside()). So the
 * calls are counted: the first hide and the last show change the handlers.
 */

/* Give all free real-time signals a handler, so that they look taken. */
void roost_rt_signals_hide(void);
/* Restore the handlers, unless another thread still hides them. */
void roost_rt_signals_show(void);

#endif
