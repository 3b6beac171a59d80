/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/sim/ecn.h"

void sim_mark(struct sim *sim, int side)
{
	sim->link.faults[side].mark_ppm = 1000000;
}

struct roost_ecn sim_get_ecn(struct sim *sim, int side)
{
	struct roost_ecn ecn;

	assert_int_equal(roost_port_query_ecn(sim->ends[side].dev, 1, &ecn), 0);
	return ecn;
}

void sim_set_ecn(struct sim *sim, int side, struct roost_ecn ecn)
{
	assert_int_equal(roost_port_set_ecn(sim->ends[side].dev, 1, &ecn), 0);
}

void sim_set_cnp_interval(struct sim *sim, int side, uint32_t us)
{
	struct roost_ecn ecn = sim_get_ecn(sim, side);

	ecn.min_time_between_cnps = us;
	sim_set_ecn(sim, side, ecn);
}

void sim_disable_rp(struct sim *sim, int side)
{
	struct roost_ecn ecn = sim_get_ecn(sim, side);

	ecn.roce_rp_enable = 0;
	sim_set_ecn(sim, side, ecn);
}

void sim_forge_cnp(struct sim_qp *to, const struct roost_flow *flow,
		   uint16_t pkey)
{
	uint8_t frame[ROOST_CNP_FRAME_MAX];
	struct roost_hdr_template template;
	size_t len;

	roost_hdr_template_init(&template, flow);
	len = roost_cnp_build(&template, frame, pkey, to->qpn);
	sim_link_put(to->sim, to->peer->end->side, frame, len);
	sim_turn(to->sim);
}
