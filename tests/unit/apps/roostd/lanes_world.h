/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_LANES_WORLD_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_LANES_WORLD_H

/* A port with three lanes and a fake network, with the daemon's real loop in a
 * thread of its own (port_world.h, fake_uplink.h).
 */

#include <stdint.h>

#include "tests/unit/apps/roostd/fake_uplink.h"

#define LANES 3u

/* on_sent: as in struct fake_uplink; may be NULL. Returns 0, or not. */
int open_lanes(void (*on_sent)(const uint8_t *frame, uint32_t len_bytes));
/* As the teardown of a test. */
int teardown_lanes(void **state);

#endif
