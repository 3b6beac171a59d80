/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_COMMON_H
#define ROOST_TESTS_SIM_COMMON_H

/* What two or more of the simulation's tests do in the same way. */

#include "tests/sim/sim.h"

/* A signaled request of one SGE; an atomic adds, or puts, 1. */
struct sim_msg sim_op(enum roost_wr_opcode opcode, uint32_t len_bytes);
/* Post it. Returns its index among the QP's sends. */
uint32_t sim_do_op(struct sim_qp *qp, enum roost_wr_opcode opcode,
		   uint32_t len_bytes);

/* A region of its own on a slice. */
struct roost_mr *sim_reg(struct sim_end *end, struct sim_slice slice,
			 uint32_t access);
/* Of one SGE; of XRC where xrcd is not NULL. */
struct roost_srq *sim_srq_new(struct sim_end *end, struct roost_xrcd *xrcd,
			      uint32_t max_wr);

/* What becomes of a packet. */
enum sim_fate {
	LOST,
	DOUBLED,
	LATE,
	VERY_LATE,
	NB_FATES
};

/* Of the nth packet of a side alone. */
struct sim_faults sim_fate_faults(enum sim_fate fate, size_t nth);
/* Bad, but not so bad that eight tries in a row might fail. */
struct sim_faults sim_random_faults(struct sim *sim);
uint32_t sim_below(struct sim *sim, uint32_t limit);

/* Neither side sent again, refused or dropped anything. */
void sim_assert_clean(struct sim *sim);

#endif
