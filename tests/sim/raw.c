/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "tests/sim/raw.h"

static struct roost_sge sge_of(struct sim_end *end, struct sim_slice slice)
{
	return (struct roost_sge){
		.addr = (uintptr_t)slice.data,
		.len_bytes = slice.len_bytes,
		.lkey = roost_mr_lkey(end->mr),
	};
}

void raw_recv(struct sim_qp *qp, uint64_t wr_id, struct sim_slice slice)
{
	struct roost_sge sge = sge_of(qp->end, slice);
	struct roost_recv_wr wr = { wr_id, &sge, 1 };

	roost_qp_recv_begin(qp->qp);
	assert_int_equal(roost_qp_recv_add(qp->qp, &wr), 0);
	roost_qp_recv_end(qp->qp);
}

void raw_srq_recv(struct sim_end *end, struct roost_srq *srq, uint64_t wr_id,
		  struct sim_slice slice)
{
	struct roost_sge sge = sge_of(end, slice);
	struct roost_recv_wr wr = { wr_id, &sge, 1 };

	roost_srq_recv_begin(srq);
	assert_int_equal(roost_srq_recv_add(srq, &wr), 0);
	roost_srq_recv_end(srq);
}

void raw_send(struct sim_qp *qp, struct roost_send_wr wr,
	      struct sim_slice slice)
{
	struct roost_sge sge = sge_of(qp->end, slice);

	wr.sges = &sge;
	wr.nb_sges = slice.data != NULL ? 1 : 0;
	roost_qp_send_begin(qp->qp);
	assert_int_equal(roost_qp_send_add(qp->qp, &wr), 0);
	roost_qp_send_end(qp->qp);
}

struct roost_cqe raw_expect(struct roost_cq *cq, uint64_t wr_id,
			    enum roost_wc_status status)
{
	struct roost_cqe cqe;

	assert_int_equal(roost_cq_poll(cq, 1, &cqe), 1);
	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, status);
	return cqe;
}

void raw_expect_nothing(struct roost_cq *cq)
{
	struct roost_cqe cqe;

	assert_int_equal(roost_cq_poll(cq, 1, &cqe), 0);
}

struct sim_slice raw_random(struct sim *sim, uint32_t len_bytes)
{
	struct sim_slice slice = sim_arena_take(sim, len_bytes);

	sim_random_fill(&sim->rng, slice.data, len_bytes);
	return slice;
}

struct sim_slice raw_blank(struct sim *sim, uint32_t len_bytes)
{
	struct sim_slice slice = sim_arena_take(sim, len_bytes);

	memset(slice.data, SIM_BLANK_BYTE, len_bytes);
	return slice;
}

void raw_assert_blank(struct sim_slice slice, uint32_t from)
{
	for (uint32_t i = from; i < slice.len_bytes; i++)
		assert_int_equal(slice.data[i], SIM_BLANK_BYTE);
	for (uint32_t i = 0; i < SIM_GUARD_BYTES; i++) {
		assert_int_equal(slice.data[slice.len_bytes + i],
				 SIM_GUARD_BYTE);
		assert_int_equal(slice.data[-1 - (int)i], SIM_GUARD_BYTE);
	}
}

struct roost_ah *raw_ah_sl(struct sim_end *from, const struct roost_gid *to,
			   uint8_t sl)
{
	struct roost_av av = {
		.is_global = true,
		.port_num = 1,
		.dgid = *to,
		.sgid_index = roost_gid_is_v4(to) ? 0 : 1,
		.hop_limit = 33,
		.traffic_class = 0x20,
		.sl = sl,
	};
	struct roost_ah *ah;

	assert_int_equal(roost_ah_create(from->pd, &av, &ah), 0);
	return ah;
}

struct roost_ah *raw_ah(struct sim_end *from, const struct roost_gid *to)
{
	return raw_ah_sl(from, to, 0);
}

struct sim_qp *raw_ud(struct sim *sim, int side, const struct sim_qp_conf *from)
{
	struct sim_qp_conf conf = from != NULL ? *from : sim_qp_conf_default;
	struct sim_qp *qp;

	sim->nobody_polls = true;
	conf.type = ROOST_QPT_UD;
	qp = sim_qp_new(sim, side, &conf);
	assert_int_equal(sim_qp_to_init(qp), 0);
	assert_int_equal(sim_qp_to_rtr(qp), 0);
	assert_int_equal(sim_qp_to_rts(qp), 0);
	return qp;
}

struct wanted {
	uint32_t qpn;
	struct roost_qp_view view;
};

static void keep_if_wanted(void *arg, const struct roost_qp_view *view)
{
	struct wanted *w = arg;

	if (view->qpn == w->qpn)
		w->view = *view;
}

struct roost_qp_view raw_view(const struct sim_qp *qp)
{
	struct wanted w = { .qpn = qp->qpn };

	roost_dev_view_qps(qp->end->dev, keep_if_wanted, &w);
	assert_int_equal(w.view.qpn, qp->qpn);
	return w.view;
}
