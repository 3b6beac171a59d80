/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_REATTACH_H
#define ROOST_PMD_GLUE_SHARE_REATTACH_H

/*
 * A port whose daemon has gone. It stands still (roost_port_set_still()) and
 * tries to come back: it connects to the same service and presents its ticket.
 * A daemon that takes it gives it the numbers and services that it had; then
 * its seat, memory and page take the place of those before, and frames that the
 * other daemon has not consumed go to this one. The port sends and receives
 * again; it stands still until the daemon says in the page that its other
 * clients are back, too, or will not come: then what was sent to those that
 * were late is sent again.
 *
 * If no daemon has come within the patience that the last one granted, or one
 * refuses the ticket, the port goes down and is removed.
 *
 * Thread: the control thread.
 */

#include <stdint.h>

struct roost_share_facts;
struct roost_share_port;

/* The session was lost. */
void roost_share_go_away(struct roost_share_port *p, uint64_t now_ns);

/* While the port is away: try. Returns the time in ns of the next call; the
 * socket may wake earlier. UINT64_MAX: it is back, or removed.
 */
uint64_t roost_share_come_back(struct roost_share_port *p, uint64_t now_ns);

/* It is back, and the page has facts: does it go on? Returns the time in ns of
 * the next call; UINT64_MAX: when the page changes.
 */
uint64_t roost_share_go_on(struct roost_share_port *p,
			   const struct roost_share_facts *facts,
			   uint64_t now_ns);

/* Reserve a seat for the next daemon, if there is none yet. */
void roost_share_reserve_seat(struct roost_share_port *p);

#endif
