/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_TELL_H
#define ROOST_PMD_GLUE_TELL_H

/*
 * What `-v` (ROOST_VERBOSE) says when a device was opened: where it comes from,
 * what it may, and which addresses it has. Lines on stderr, and nothing without
 * it. Thread: the control thread.
 */

#include <roost/config.h>
#include "pmd_glue/netif/station.h"

/* Of the process: the library's directory, capabilities, huge pages. Once, when
 * EAL has started.
 */
void roost_tell_process(const struct roost_config *config);

/* Of device number index: progress mode, workers; and of each port its driver,
 * MAC address, MTU, link and GIDs.
 */
void roost_tell_device(const struct roost_config *config, unsigned int index,
		       const struct roost_station *stations,
		       unsigned int nb_stations);

#endif
