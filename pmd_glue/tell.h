/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_TELL_H
#define ROOST_PMD_GLUE_TELL_H

/*
 * The lines on stderr that `-v` (ROOST_VERBOSE) gives when a device was opened:
 * the library, the capabilities of the process, each port and its addresses.
 * Without -v these functions print nothing. Thread: the control thread.
 */

#include <roost/config.h>
#include "pmd_glue/netif/station.h"

/* Lines about the process: the library's directory, capabilities, huge pages.
 * Prints once per process, after EAL has started.
 */
void roost_tell_process(const struct roost_config *config);

/* Lines about device number index: progress mode and workers, and for each port
 * its driver, MAC address, MTU, link and GIDs.
 */
void roost_tell_device(const struct roost_config *config, unsigned int index,
		       const struct roost_station *stations,
		       unsigned int nb_stations);

#endif
