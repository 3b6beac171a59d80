/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_WORLD_H
#define ROOST_TESTS_SIM_WORLD_H

/*
 * Memory of a world's work requests: one arena, registered at both ends as a
 * whole, guard bytes included, so that nothing but the engine's own checks
 * keeps it inside a buffer.
 */

#include "tests/sim/sim.h"

/* The one that there is; NULL: none. */
extern struct sim *sim_world;

#define SIM_ARENA_BYTES (1ull << 29)
#define SIM_GUARD_BYTES 64u
#define SIM_GUARD_BYTE 0xa5
/* What stands in a receive buffer before anything comes. */
#define SIM_BLANK_BYTE 0x5a

/* len_bytes between two guards. */
struct sim_slice sim_arena_take(struct sim *sim, uint32_t len_bytes);

/* Which ends repeat selectively, by side; and what the environment says. */
extern bool sim_selective[2];
void sim_take_selective(void);
/* No QP is left, and the workers have all back that QPs had of their stores. */
void sim_check_store(const struct roost_dev *dev);

#endif
