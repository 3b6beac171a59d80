/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_DEBUG_H
#define ROOST_PMD_GLUE_PROCESS_DEBUG_H

/*
 * The configuration keys whose names begin with debug. They are for
 * measurements only; users must not set them.
 */

struct roost_config;

/* Apply these keys, once for all devices of the process, with a warning on
 * stderr. Thread: the control thread, before the device's first frame.
 */
void roost_debug_apply(const struct roost_config *config);

#endif
