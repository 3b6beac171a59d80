/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_REPORT_DEVICE_H
#define ROOST_PMD_GLUE_REPORT_DEVICE_H

/*
 * The lines on stderr that `-v` (ROOST_VERBOSE) gives when a device was opened:
 * the library, the capabilities of the process, each port and its addresses.
 * Without -v these functions print nothing. Thread: the control thread.
 */

#include <roost/config.h>
#include "pmd_glue/backend/backend.h"

/* Lines about the process: the library's directory, and those of the backend.
 * Prints once per process and backend, after the backend's prepare().
 */
void roost_report_process(const struct roost_config *config,
			  const struct roost_backend *backend);

/* Lines about device number index: progress mode and workers, and for each port
 * its driver, MAC address, MTU, link and GIDs.
 */
void roost_report_device(const struct roost_config *config, unsigned int index,
			 struct roost_backend_port *const *ports,
			 unsigned int nb_ports);

#endif
