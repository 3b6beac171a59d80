/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_WAKES_H
#define ROOST_EVENT_WAKES_H

/*
 * How often a thread of this process has written to an eventfd on which another
 * thread may sleep. A thread that polls lets such a thread have the processor
 * (pmd_glue/progress).
 */

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t roost_event_wakes;

static inline void roost_event_woke(void)
{
	atomic_fetch_add_explicit(&roost_event_wakes, 1, memory_order_relaxed);
}

#endif
