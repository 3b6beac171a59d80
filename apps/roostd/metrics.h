/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_METRICS_H
#define ROOST_APPS_ROOSTD_METRICS_H

/*
 * The page of metrics by HTTP, for Prometheus and what reads the same: GET
 * /metrics at the address of metrics_addr.h. Off unless an address is given.
 *
 * A thread of its own serves it with libmicrohttpd, so that a client cannot
 * hold up a frame, whatever it does:
 *
 * - a request and its answer have ROOSTD_METRICS_PATIENCE_NS, however many
 *   bytes come meanwhile; then the connection is ended;
 * - there are ROOSTD_METRICS_CONNS_MAX connections; one more ends the oldest;
 * - a connection has 16 KiB for what it sends, and gets 431 or 413 beyond;
 * - what is told is copied at most four times a second: who asks more often
 *   gets the same page. That copy is all that the daemon's thread does for it.
 *
 * Thread: the daemon's first one, for both functions.
 */

#include <stdint.h>
#include <sys/types.h>

#define ROOSTD_METRICS_PATIENCE_NS 5000000000ull
#define ROOSTD_METRICS_CONNS_MAX 16u
#define ROOSTD_METRICS_FRESH_NS 250000000ull

struct roostd_port;

/*
 * Tell of ports[0] to ports[0].nb_ports - 1, which outlive it, at address,
 * which stays the caller's until stop. mode, gid (-1: as it comes): of a socket
 * with a path. roostd_ctl_start() was called. An error is reported: the daemon
 * works without.
 */
void roostd_metrics_start(const char *address, mode_t mode, gid_t gid,
			  const struct roostd_port *ports);
/* Before roostd_ctl_stop(). */
void roostd_metrics_stop(void);

#endif
