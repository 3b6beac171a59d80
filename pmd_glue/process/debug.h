/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_DEBUG_H
#define ROOST_PMD_GLUE_PROCESS_DEBUG_H

/*
 * What the configuration has for measuring only, and nobody is to use: the keys
 * whose names begin with debug.
 */

struct roost_config;

/* Do as they say, once for all devices of the process, and warn of it on
 * stderr.
 * Thread: control, before the device's first frame.
 */
void roost_debug_apply(const struct roost_config *config);

#endif
