/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The lanes of a port: their beginning, and how they are held. */

#include "apps/roostd/crew.h"
#include "apps/roostd/port.h"

static uint32_t number_of(const struct roostd_port *port)
{
	return (uint32_t)(port - port->first);
}

static void init_lane(struct roostd_port *port, uint32_t thread, int epoll_fd)
{
	struct roostd_lane *lane = &port->lanes[port->nb_lanes];

	*lane = (struct roostd_lane){
		.port = port,
		.number = port->nb_lanes++,
		.thread = thread,
		.epoll_fd = epoll_fd,
	};
	TAILQ_INIT(&lane->awake);
}

void roostd_lane_init(struct roostd_port *port)
{
	init_lane(port, 0, port->epoll_fd);
}

int roostd_port_add_lane(struct roostd_port *port)
{
	struct roostd_lane *lane = &port->lanes[port->nb_lanes];
	int thread = roostd_crew_add(number_of(port));

	if (thread < 0)
		return thread;
	init_lane(port, (uint32_t)thread,
		  roostd_crew_epoll_fd((uint32_t)thread));
	return roost_switch_add_lane(port->sw, lane, &lane->sw);
}

void roostd_port_hold(struct roostd_port *port)
{
	if (port->nb_lanes == 1 || port->is_held || roostd_crew_holds_all())
		return;
	roostd_crew_hold_helpers(number_of(port));
	port->is_held = true;
}

void roostd_port_let_go(struct roostd_port *port)
{
	if (!port->is_held)
		return;
	port->is_held = false;
	roostd_crew_let_helpers_go(number_of(port));
}
