/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>

#include "tests/qp_masks.h"
#include "lib/engine/core/qp_priv.h"
#include "tests/sim/sim.h"

const struct sim_qp_conf sim_qp_conf_default = {
	.mtu = ROOST_MTU_1024,
	.max_send_wr = 256,
	.max_recv_wr = 256,
	.max_inline_bytes = 256,
	.sq_psn = -1,
	.timeout = 8, /* 1.05 ms */
	.retry_cnt = 7,
	.rnr_retry = 7,
	.min_rnr_timer = 1, /* 10 us */
	.rd_atomic = 4,
	.access = ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |
		  ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC |
		  ROOST_ACCESS_FLUSH_GLOBAL,
	.qkey = 0x11111111,
};

struct sim_qp *sim_qp_new(struct sim *sim, int side,
			  const struct sim_qp_conf *conf)
{
	struct sim_qp *qp = calloc(1, sizeof(*qp));
	struct roost_qp_init init;

	assert_non_null(qp);
	qp->conf = conf != NULL ? *conf : sim_qp_conf_default;
	qp->sim = sim;
	qp->end = &sim->ends[side];
	qp->index = sim->nb_qps;
	qp->sq_psn = qp->conf.sq_psn < 0
			     ? (uint32_t)sim_random_below(&sim->rng, 1u << 24)
			     : (uint32_t)qp->conf.sq_psn;
	init = (struct roost_qp_init){
		.type = qp->conf.type,
		.send_cq = qp->conf.cq != NULL ? qp->conf.cq : qp->end->cq,
		.recv_cq = qp->conf.cq != NULL ? qp->conf.cq : qp->end->cq,
		.cap = {
			.max_send_wr = qp->conf.max_send_wr,
			.max_recv_wr = qp->conf.max_recv_wr,
			.max_send_sge = SIM_SGES_MAX,
			.max_recv_sge = SIM_SGES_MAX,
			.max_inline_bytes = qp->conf.max_inline_bytes,
		},
		.sq_sig_all = qp->conf.sig_all,
		.block_self_mcast = qp->conf.block_self_mcast,
		.srq = qp->conf.srq,
		.xrcd = qp->conf.xrcd,
		.owner = qp,
	};
	assert_int_equal(roost_qp_create(qp->end->ctx,
					 qp->conf.type == ROOST_QPT_XRC_TGT
						 ? NULL
						 : qp->end->pd,
					 &init, &qp->qp),
			 0);
	qp->qpn = roost_qp_num(qp->qp);
	assert_true(sim->nb_qps < SIM_QPS_MAX);
	sim->qps[sim->nb_qps++] = qp;
	return qp;
}

static void wrs_free(struct sim_wrs *wrs)
{
	free(wrs->wr);
}

void sim_qp_destroy(struct sim_qp *qp)
{
	sim_check_guards(qp);
	assert_int_equal(roost_qp_destroy(qp->qp, NULL), 0);
	/* From now on a completion of it would be a mistake. */
	qp->sim->qps[qp->index] = NULL;
	sim_poll(qp->sim);
	if (qp->peer != NULL) {
		/* What it sent may still arrive, and cannot be compared. */
		qp->peer->no_data_check = true;
		qp->peer->peer = NULL;
	}
	wrs_free(&qp->sends);
	wrs_free(&qp->recvs);
	free(qp);
}

void sim_qp_join(struct sim_qp *a, struct sim_qp *b)
{
	a->peer = b;
	b->peer = a;
}

int sim_qp_to_init(struct sim_qp *qp)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = 1,
		.access = qp->conf.access,
		.qkey = qp->conf.qkey,
	};

	return roost_qp_modify(qp->qp, &attr,
			       ROOST_QP_STATE | ROOST_QP_PORT |
				       ROOST_QP_PKEY_INDEX |
				       qp_masks[qp->conf.type].init);
}

int sim_qp_to_rtr(struct sim_qp *qp)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_RTR,
		.path_mtu = qp->conf.mtu,
		.min_rnr_timer = qp->conf.min_rnr_timer,
		.max_dest_rd_atomic = qp->conf.rd_atomic,
	};

	if (qp->conf.type != ROOST_QPT_UD) {
		const struct sim_end *to = qp->peer->end;

		attr.rq_psn = qp->peer->sq_psn;
		attr.dest_qpn = qp->peer->qpn;
		attr.av = (struct roost_av){
			.is_global = true,
			.port_num = 1,
			.dgid = qp->conf.ipv6 ? to->gid6 : to->gid,
			.sgid_index = qp->conf.ipv6 ? 1 : 0,
			.hop_limit = 64,
			.traffic_class = qp->conf.tclass,
		};
	}
	return roost_qp_modify(qp->qp, &attr,
			       ROOST_QP_STATE | qp_masks[qp->conf.type].rtr);
}

int sim_qp_to_rts(struct sim_qp *qp)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_RTS,
		.sq_psn = qp->sq_psn,
		.timeout = qp->conf.timeout,
		.retry_cnt = qp->conf.retry_cnt,
		.rnr_retry = qp->conf.rnr_retry,
		.max_rd_atomic = qp->conf.rd_atomic,
	};

	int rc;

	qp->top_psn = roost_psn(qp->sq_psn);
	rc = roost_qp_modify(qp->qp, &attr,
			     ROOST_QP_STATE | qp_masks[qp->conf.type].rts);
	if (rc == 0 && !qp->conf.first_window)
		qp->qp->req.cwnd.pkts = ROOST_CWND_MAX_PKTS;
	return rc;
}

int sim_qp_to(struct sim_qp *qp, enum roost_qp_state state)
{
	struct roost_qp_attr attr = { .state = state };

	return roost_qp_modify(qp->qp, &attr, ROOST_QP_STATE);
}

void sim_connect(struct sim_qp *a, struct sim_qp *b)
{
	sim_qp_join(a, b);
	assert_int_equal(sim_qp_to_init(a), 0);
	assert_int_equal(sim_qp_to_init(b), 0);
	assert_int_equal(sim_qp_to_rtr(a), 0);
	assert_int_equal(sim_qp_to_rtr(b), 0);
	assert_int_equal(sim_qp_to_rts(a), 0);
	assert_int_equal(sim_qp_to_rts(b), 0);
}

void sim_pair(struct sim *sim, const struct sim_qp_conf *conf,
	      struct sim_qp **a, struct sim_qp **b)
{
	*a = sim_qp_new(sim, SIM_A, conf);
	*b = sim_qp_new(sim, SIM_B, conf);
	sim_connect(*a, *b);
}
