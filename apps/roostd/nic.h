/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_NIC_H
#define ROOST_APPS_ROOSTD_NIC_H

/*
 * A shared port with a network behind it: its uplink (pmd_glue/uplink.h) has
 * the frames of the switch, and what the port is, clients read from the page.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

struct roostd_port;

/*
 * Open the port of device number index. *port has what is not the port's own
 * (see port.h), and is first[index] of an array. Returns 0, -errno, reported.
 */
int roostd_nic_open(struct roostd_port *port, const struct roost_config *config,
		    unsigned int index, const char *state_path);

/* The uplink's descriptor is readable. */
void roostd_nic_ready(struct roostd_port *port);

#endif
