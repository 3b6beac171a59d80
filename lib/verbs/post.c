/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Posting lists of work requests. Hot: no allocation, system call, log or
 * lock besides the queue's own.
 *
 * A list is posted up to its first bad request; the requests before it stay
 * posted, *bad_wr points to the bad one, and the errno value is returned.
 */

#include <assert.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

/* Equal layouts, so that SGE lists need no copy. */
static_assert(sizeof(struct ibv_sge) == sizeof(struct roost_sge) &&
		      offsetof(struct ibv_sge, addr) ==
			      offsetof(struct roost_sge, addr) &&
		      offsetof(struct ibv_sge, length) ==
			      offsetof(struct roost_sge, len_bytes) &&
		      offsetof(struct ibv_sge, lkey) ==
			      offsetof(struct roost_sge, lkey),
	      "ibv_sge is roost_sge");

static void map_datagram(const struct ibv_send_wr *wr, struct roost_send_wr *r)
{
	r->ah = wr->wr.ud.ah ? roost_verbs_ah(wr->wr.ud.ah)->ah : NULL;
	r->dest_qpn = wr->wr.ud.remote_qpn;
	r->qkey = wr->wr.ud.remote_qkey;
}

/* FETCH_ADD has one operand, CMP_SWAP two. */
static void map_atomic(const struct ibv_send_wr *wr, struct roost_send_wr *r)
{
	r->remote_addr = wr->wr.atomic.remote_addr;
	r->rkey = wr->wr.atomic.rkey;
	if (r->opcode == ROOST_WR_FETCH_ADD) {
		r->swap_add = wr->wr.atomic.compare_add;
	} else {
		r->compare = wr->wr.atomic.compare_add;
		r->swap_add = wr->wr.atomic.swap;
	}
}

/* Map the unions of a request, by the QP's type and the opcode. */
static int map_target(const struct ibv_qp *qp, const struct ibv_send_wr *wr,
		      struct roost_send_wr *r)
{
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		r->xrc_srqn = wr->qp_type.xrc.remote_srqn;
	if (qp->qp_type == IBV_QPT_UD) {
		map_datagram(wr, r);
	} else if (r->opcode == ROOST_WR_BIND_MW) {
		return roost_verbs_map_bind(wr->bind_mw.mw, IBV_MW_TYPE_2,
					    wr->bind_mw.rkey,
					    &wr->bind_mw.bind_info, &r->bind);
	} else if (r->opcode == ROOST_WR_TSO) {
		r->tso = (struct roost_tso){
			.header = wr->tso.hdr,
			.header_bytes = wr->tso.hdr_sz,
			.mss_bytes = wr->tso.mss,
		};
	} else if (r->opcode == ROOST_WR_FETCH_ADD ||
		   r->opcode == ROOST_WR_CMP_SWAP) {
		map_atomic(wr, r);
	} else {
		r->remote_addr = wr->wr.rdma.remote_addr;
		r->rkey = wr->wr.rdma.rkey;
	}
	return 0;
}

static int add_send(struct roost_verbs_qp *qp, const struct ibv_send_wr *wr)
{
	struct roost_send_wr r;
	int ret;

	roost_verbs_clear_wr(&r);
	r.wr_id = wr->wr_id;
	r.sges = (const struct roost_sge *)wr->sg_list;
	r.nb_sges = (uint32_t)wr->num_sge;
	r.imm_be = wr->imm_data;
	ret = roost_map_wr_opcode(wr->opcode, &r.opcode);
	if (ret == 0)
		ret = roost_map_send_flags(wr->send_flags, &r.flags);
	if (ret == 0)
		ret = map_target(&qp->ibv.ex.qp_base, wr, &r);
	if (ret == 0)
		ret = roost_qp_send_add(qp->qp, &r);
	return ret;
}

int roost_verbs_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);
	int ret = 0;

	roost_qp_send_begin(qp->qp);
	for (; wr; wr = wr->next) {
		ret = add_send(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	roost_device_send_end(qp->device, qp->qp);
	return roost_verbs_result(ret);
}

static struct roost_recv_wr map_recv(const struct ibv_recv_wr *wr)
{
	return (struct roost_recv_wr){
		.wr_id = wr->wr_id,
		.sges = (const struct roost_sge *)wr->sg_list,
		.nb_sges = (uint32_t)wr->num_sge,
	};
}

int roost_verbs_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	struct roost_qp *qp = roost_verbs_qp(ibv)->qp;
	int ret = 0;

	roost_qp_recv_begin(qp);
	for (; wr; wr = wr->next) {
		const struct roost_recv_wr r = map_recv(wr);

		ret = roost_qp_recv_add(qp, &r);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	roost_qp_recv_end(qp);
	return roost_verbs_result(ret);
}

int roost_verbs_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr)
{
	struct roost_srq *srq = roost_verbs_srq(ibv)->srq;
	int ret = 0;

	roost_srq_recv_begin(srq);
	for (; wr; wr = wr->next) {
		const struct roost_recv_wr r = map_recv(wr);

		ret = roost_srq_recv_add(srq, &r);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	roost_srq_recv_end(srq);
	return roost_verbs_result(ret);
}
