/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Multicast groups of the port: those that any client is in. A hub has none, as
 * there is no world outside.
 */

#include "apps/roostd/port.h"
#include "pmd_glue/uplink.h"

int roostd_port_join(struct roostd_port *port, const struct roost_gid *group)
{
	return port->uplink ? roost_uplink_join(port->uplink, group) : 0;
}

void roostd_port_leave(struct roostd_port *port, const struct roost_gid *group)
{
	if (port->uplink)
		roost_uplink_leave(port->uplink, group);
}
