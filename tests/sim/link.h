/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_LINK_H
#define ROOST_TESTS_SIM_LINK_H

/*
 * The inside of the links, for the world alone: the ports of each end, and when
 * the next frame arrives.
 */

#include "tests/sim/sim.h"

void sim_link_init(struct sim *sim);
void sim_link_fini(struct sim *sim);
/* What a device gets as this port. */
struct roost_frame_io sim_link_frame_io(struct sim_port *port);
struct roost_addr_io sim_link_addr_io(struct sim_port *port);
/* Arrival of the first frame on its way; UINT64_MAX: there is none. */
uint64_t sim_link_next_ns(const struct sim *sim);

#endif
