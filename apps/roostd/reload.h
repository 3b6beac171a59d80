/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_RELOAD_H
#define ROOST_APPS_ROOSTD_RELOAD_H

/*
 * The daemon's file, read again: SIGHUP.
 *
 * Thread: the daemon's first one, which holds the others (crew.h).
 */

#include "apps/roostd/policy.h"
#include "apps/roostd/port.h"

/*
 * Read the file; what it says of clients holds from now on, for those of
 * ports[0] to ports[0].nb_ports - 1 too (admit.h). *service, which the ports
 * have, changes in place, but for what concerns the socket and the grace of a
 * restart: that is for the next start, as the ports of the file are. An address
 * that clients share stays shared as long as they are there.
 * Returns 0; else the file is wrong, which is reported, and all is as before.
 */
int roostd_reload(const char *file, struct roostd_service *service,
		  struct roostd_port *ports);

#endif
