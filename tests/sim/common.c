/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/sim/common.h"

struct sim_msg sim_op(enum roost_wr_opcode opcode, uint32_t len_bytes)
{
	return (struct sim_msg){
		.opcode = opcode,
		.flags = ROOST_SEND_SIGNALED,
		.nb_sges = 1,
		.sge_len_bytes = { len_bytes },
		.swap_add = 1,
	};
}

uint32_t sim_do_op(struct sim_qp *qp, enum roost_wr_opcode opcode,
		   uint32_t len_bytes)
{
	struct sim_msg msg = sim_op(opcode, len_bytes);

	return sim_send_msg(qp, &msg);
}

struct roost_mr *sim_reg(struct sim_end *end, struct sim_slice slice,
			 uint32_t access)
{
	struct roost_mr *mr;

	assert_int_equal(roost_mr_reg(end->pd, slice.data, slice.len_bytes,
				      (uintptr_t)slice.data, access, &mr),
			 0);
	return mr;
}

struct roost_srq *sim_srq_new(struct sim_end *end, struct roost_xrcd *xrcd,
			      uint32_t max_wr)
{
	struct roost_srq_init init = {
		.max_wr = max_wr,
		.max_sge = 1,
		.xrcd = xrcd,
		.cq = xrcd != NULL ? end->cq : NULL,
		.owner = end,
	};
	struct roost_srq *srq;

	assert_int_equal(roost_srq_create(end->pd, &init, &srq), 0);
	return srq;
}

struct sim_faults sim_fate_faults(enum sim_fate fate, size_t nth)
{
	struct sim_faults f = { .drop_nth = -1, .delay_ns = 2 * SIM_US };

	if (fate == LOST) {
		f.drop_nth = (int64_t)nth;
	} else if (fate == DOUBLED) {
		f.dup_nth = nth + 1;
	} else {
		f.late_nth = nth + 1;
		f.late_ns = fate == LATE ? 20 * SIM_US : 5 * SIM_MS;
	}
	return f;
}

uint32_t sim_below(struct sim *sim, uint32_t limit)
{
	return (uint32_t)sim_random_below(&sim->rng, limit);
}

struct sim_faults sim_random_faults(struct sim *sim)
{
	return (struct sim_faults){
		.drop_ppm = sim_below(sim, 2) * sim_below(sim, 30000),
		.dup_ppm = sim_below(sim, 2) * sim_below(sim, 50000),
		.corrupt_ppm = sim_below(sim, 2) * sim_below(sim, 10000),
		.reorder_pkts = sim_below(sim, 2) * sim_below(sim, 65),
		.delay_ns = sim_below(sim, 20000),
		.jitter_ns = sim_below(sim, 2) * sim_below(sim, 20000),
		.drop_nth = -1,
		.take_max = (uint16_t)(sim_below(sim, 2) * sim_below(sim, 32)),
	};
}

void sim_assert_clean(struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		const struct roost_dev_counters *c = sim_counters(sim, side);

		assert_int_equal(c->retransmits, 0);
		assert_int_equal(c->naks_sent, 0);
		assert_int_equal(c->rnr_naks_sent, 0);
		for (int i = 0; i < ROOST_DROP_COUNT; i++)
			assert_int_equal(c->drops[i], 0);
	}
}
