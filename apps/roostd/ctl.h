/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_CTL_H
#define ROOST_APPS_ROOSTD_CTL_H

/*
 * The daemon at the control socket (pmd_glue/ctl/ctl.h): its shared ports and
 * their clients, as the topics "shared" and "clients" of show, and
 *
 *	limit PORT CLIENT NAME VALUE
 *	evict PORT CLIENT [REASON]...
 *
 * PORT is a number of a shared port, from 0, or "-" for the only one; CLIENT is
 * the number that show has. NAME is that of a limit in a policy
 *(roost.conf(5)). Only root and the daemon's user are answered.
 *
 * The control thread has the socket and hands requests over (handover.h).
 * Thread: the daemon's first one, for all functions here.
 */

#include "apps/roostd/port.h"

/* Serve the daemon's ports: ports[0] to ports[0].nb_ports - 1, which outlive
 * it. Returns a descriptor to watch: call roostd_handover_serve() when it is
 * readable; or -errno, reported: the daemon works without.
 */
int roostd_ctl_start(struct roostd_port *ports);
/* Before the ports are closed. */
void roostd_ctl_stop(void);

/* Once a second, for the rates and counters that are shown. */
void roostd_ctl_sample(struct roostd_port *port);

#endif
