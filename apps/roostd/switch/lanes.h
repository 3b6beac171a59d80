/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_LANES_H
#define ROOST_APPS_ROOSTD_SWITCH_LANES_H

/*
 * The lanes of a switch (switch.h) come and go, for switch.c.
 *
 * Thread: the port's (crew.h), and all lanes stand still.
 */

#include "apps/roostd/switch/switch.h"

/* The queues of a lane, with that of the daemon's own messages. Returns 0,
 * -ENOMEM: there are none.
 */
int roost_lane_init(struct roost_switch *lane, uint64_t now_ns);
/* What is kept is discarded. */
void roost_lane_fini(struct roost_switch *lane);
/* All but the first one. NULL: there are none. */
void roost_lanes_free(struct roost_switch_lanes *lanes);
/* The lane that has the client; NULL: none has. */
struct roost_switch *roost_lane_of(struct roost_switch *first, uint32_t client);

#endif
