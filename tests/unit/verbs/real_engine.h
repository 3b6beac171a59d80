/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_REAL_ENGINE_H
#define ROOST_TEST_VERBS_REAL_ENGINE_H

/*
 * The shim on the real engine, in place of pmd_glue and without DPDK's EAL: a
 * device whose port is up and carries nothing. What is posted stays where it
 * is until the test says otherwise, so queues can be seen full.
 */

#include <roost/roost.h>
#include "lib/face/shim.h"

/* Entry 0 of the GID table: 198.18.0.1. */
#define REAL_ENGINE_GID                                                        \
	{                                                                      \
		.b = { [10] = 0xff, 0xff, 198, 18, 0, 1 }                      \
	}

/* The device that is opened next, whatever its name: 0 or 1. */
extern unsigned int real_engine_next;

/* One iteration of the first device's worker; no packet may have to be made. */
void real_engine_turn(void);

#endif
