/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_LANES_H
#define ROOST_APPS_ROOSTD_SWITCH_LANES_H

/*
 * What the first lane of a switch does for the others (switch.h), for switch.c.
 *
 * Thread: the first lane's.
 */

#include "apps/roostd/switch/switch.h"

/* NULL: there are none. */
void roost_lanes_free(struct roost_switch_lanes *lanes);
/* How many copies each client of another lane may have on the way. Hot. */
void roost_lanes_tell_room(struct roost_switch *sw);

/* A copy of the client's is on the way no more. Hot. */
static inline void roost_lanes_has_sent(struct roost_switch_lanes *lanes,
					uint32_t client)
{
	_Atomic uint32_t *sent = &lanes->credits[client].sent;

	atomic_store_explicit(sent,
			      atomic_load_explicit(sent, memory_order_relaxed) +
				      1,
			      memory_order_relaxed);
}

#endif
