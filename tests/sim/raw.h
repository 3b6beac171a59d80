/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_RAW_H
#define ROOST_TESTS_SIM_RAW_H

/*
 * Requests that the world does not watch: datagrams, shared receive queues,
 * windows. The test posts and polls by itself (sim.nobody_polls), and says what
 * must come.
 */

#include <roost/ah.h>
#include <roost/mr.h>
#include "lib/engine/core/view.h"
#include "tests/sim/world.h"

/* Post one request of one slice; they fail the test when that fails. */
void raw_recv(struct sim_qp *qp, uint64_t wr_id, struct sim_slice slice);
void raw_srq_recv(struct sim_end *end, struct roost_srq *srq, uint64_t wr_id,
		  struct sim_slice slice);
/* lkey, sges and nb_sges are filled in for the slice. */
void raw_send(struct sim_qp *qp, struct roost_send_wr wr,
	      struct sim_slice slice);
/* The next completion of a CQ: of this request, with this status. */
struct roost_cqe raw_expect(struct roost_cq *cq, uint64_t wr_id,
			    enum roost_wc_status status);
void raw_expect_nothing(struct roost_cq *cq);
/* A slice of random bytes, or of blanks. */
struct sim_slice raw_random(struct sim *sim, uint32_t len_bytes);
struct sim_slice raw_blank(struct sim *sim, uint32_t len_bytes);
void raw_assert_blank(struct sim_slice slice, uint32_t from);
/* An address handle from one end to an address. */
struct roost_ah *raw_ah_sl(struct sim_end *from, const struct roost_gid *to,
			   uint8_t sl);
struct roost_ah *raw_ah(struct sim_end *from, const struct roost_gid *to);
/* A UD QP that may send; nobody polls from here on. conf NULL: the default. */
struct sim_qp *raw_ud(struct sim *sim, int side,
		      const struct sim_qp_conf *conf);
/* As the control tool sees it. */
struct roost_qp_view raw_view(const struct sim_qp *qp);

#endif
