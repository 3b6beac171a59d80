/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_WAKES_H
#define ROOST_EVENT_WAKES_H

/*
 * How often the calling thread has written to an eventfd on which another
 * thread may sleep. A thread that polls lets such a thread have the processor
 * (pmd_glue/progress).
 */

#include <stdint.h>

extern _Thread_local uint32_t roost_event_wakes;

#endif
