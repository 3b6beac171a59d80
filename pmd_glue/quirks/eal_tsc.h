/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_EAL_TSC_H
#define ROOST_PMD_GLUE_QUIRKS_EAL_TSC_H

/*
 * Where CPUID does not tell the frequency of the time stamp counter, as in most
 * virtual machines, EAL measures it: it sleeps for 0.1 s, a third of the start
 * of a daemon. It divides by the time that has passed, and rounds to 10 MHz, so
 * 10 ms are enough. With this gate the first such sleep of the thread that
 * starts EAL is that short.
 *
 * Versions: 22.11 to 24.11.
 * Upstream: none found.
 * Goes when: EAL measures in a shorter time, or not at its start.
 */

/* Around rte_eal_init(). Thread: the control thread. */
void roost_eal_tsc_begin(void);
void roost_eal_tsc_end(void);

#endif
