/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_ECN_H
#define ROOST_TESTS_SIM_ECN_H

/* Switches that mark packets, and the parameters of congestion notification. */

#include "tests/sim/sim.h"

/* All packets of a side are marked that may be. */
void sim_mark(struct sim *sim, int side);
/* The parameters of port 1. */
struct roost_ecn sim_get_ecn(struct sim *sim, int side);
void sim_set_ecn(struct sim *sim, int side, struct roost_ecn ecn);
void sim_set_cnp_interval(struct sim *sim, int side, uint32_t us);
void sim_disable_rp(struct sim *sim, int side);
/* A CNP to a QP; flow: from sim_flow_to(), or a wrong one. */
void sim_forge_cnp(struct sim_qp *to, const struct roost_flow *flow,
		   uint16_t pkey);

#endif
