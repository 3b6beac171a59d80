/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_RT_SIGNALS_H
#define ROOST_PMD_GLUE_QUIRKS_RT_SIGNALS_H

/*
 * Real-time signals belong to the application. net_tap takes a free one and has
 * the kernel send it to the process for every packet, which interrupts the
 * application's sleeps; where it finds none that is free, it polls.
 *
 * Thread: any that calls a driver; signals are the process's, and a port may be
 * opened aside while the control thread calls another one's driver. So each
 * thread hides and shows, in pairs, and the first and the last one do it.
 */

/* Make all real-time signals look taken... */
void roost_rt_signals_hide(void);
/* ...and put back what was there, if nobody else hides them still. */
void roost_rt_signals_show(void);

#endif
