/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The ibv_wr_ calls: a builder begins a request, a setter gives its data,
 * several make a batch between ibv_wr_start() and ibv_wr_complete(). Hot.
 *
 * ibv_wr_start() takes the send queue's lock and complete or abort gives it
 * back. A request goes to the engine, which copies it, as soon as its data is
 * known. The first error ends the batch: nothing of it is posted, and
 * ibv_wr_complete() returns that error.
 */

#include <string.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

/* Buffers of one ibv_wr_set_inline_data_list(); a stack array. */
#define INLINE_BUFS_MAX 64

static struct roost_verbs_qp *qp_of(struct ibv_qp_ex *ibv)
{
	return (struct roost_verbs_qp *)ibv;
}

static void fail(struct roost_verbs_batch *b, int rc)
{
	if (b->error == 0)
		b->error = rc;
	b->open = false;
}

static void add(struct roost_verbs_qp *qp, const struct roost_sge *sges,
		size_t nb_sges, uint32_t flags)
{
	struct roost_verbs_batch *b = &qp->batch;
	int rc;

	if (!b->open)
		return;
	b->open = false;
	b->wr.sges = sges;
	b->wr.nb_sges = (uint32_t)nb_sges;
	b->wr.flags |= flags;
	rc = roost_qp_send_add(qp->qp, &b->wr);
	if (rc)
		fail(b, rc);
}

/* A request whose data nobody set has none. */
static void close_request(struct roost_verbs_qp *qp)
{
	add(qp, NULL, 0, 0);
}

/* Whether data is inline is the setter's word; a flag changes nothing. */
static void begin(struct ibv_qp_ex *ibv, enum roost_wr_opcode opcode,
		  __be32 imm)
{
	struct roost_verbs_qp *qp = qp_of(ibv);
	struct roost_verbs_batch *b = &qp->batch;
	uint32_t flags;

	close_request(qp);
	if (b->error)
		return;
	if (roost_map_send_flags(ibv->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
				 &flags)) {
		fail(b, -EINVAL);
		return;
	}
	b->wr = (struct roost_send_wr){
		.wr_id = ibv->wr_id,
		.opcode = opcode,
		.flags = flags,
		.imm_be = imm,
	};
	b->open = true;
}

static void unsupported(struct ibv_qp_ex *ibv)
{
	fail(&qp_of(ibv)->batch, -EOPNOTSUPP);
}

static void wr_start(struct ibv_qp_ex *ibv)
{
	struct roost_verbs_qp *qp = qp_of(ibv);

	roost_qp_send_begin(qp->qp);
	qp->batch.open = false;
	qp->batch.error = 0;
}

static int wr_complete(struct ibv_qp_ex *ibv)
{
	struct roost_verbs_qp *qp = qp_of(ibv);
	int rc;

	close_request(qp);
	rc = qp->batch.error;
	if (rc) {
		roost_qp_send_abort(qp->qp);
		return roost_verbs_result(rc);
	}
	roost_qp_send_end(qp->qp);
	roost_device_help(qp->device);
	return 0;
}

static void wr_abort(struct ibv_qp_ex *ibv)
{
	struct roost_verbs_qp *qp = qp_of(ibv);

	qp->batch.open = false;
	roost_qp_send_abort(qp->qp);
}

/* ---- builders ----------------------------------------------------------- */

static void wr_send(struct ibv_qp_ex *ibv)
{
	begin(ibv, ROOST_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ibv, __be32 imm_data)
{
	begin(ibv, ROOST_WR_SEND_IMM, imm_data);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibv, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	(void)rkey;
	(void)remote_addr;
	(void)compare;
	(void)swap;
	unsupported(ibv);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibv, uint32_t rkey,
				uint64_t remote_addr, uint64_t add_value)
{
	(void)rkey;
	(void)remote_addr;
	(void)add_value;
	unsupported(ibv);
}

static void wr_atomic_write(struct ibv_qp_ex *ibv, uint32_t rkey,
			    uint64_t remote_addr, const void *value)
{
	(void)rkey;
	(void)remote_addr;
	(void)value;
	unsupported(ibv);
}

static void wr_bind_mw(struct ibv_qp_ex *ibv, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	(void)mw;
	(void)rkey;
	(void)bind_info;
	unsupported(ibv);
}

static void wr_with_rkey(struct ibv_qp_ex *ibv, uint32_t invalidate_rkey)
{
	(void)invalidate_rkey;
	unsupported(ibv);
}

static void wr_rdma(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr)
{
	(void)rkey;
	(void)remote_addr;
	unsupported(ibv);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibv, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	(void)rkey;
	(void)remote_addr;
	(void)imm_data;
	unsupported(ibv);
}

static void wr_send_tso(struct ibv_qp_ex *ibv, void *hdr, uint16_t hdr_sz,
			uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	unsupported(ibv);
}

/* ---- setters ------------------------------------------------------------ */

static void wr_set_sge(struct ibv_qp_ex *ibv, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct roost_sge sge = {
		.addr = addr,
		.len_bytes = length,
		.lkey = lkey,
	};

	add(qp_of(ibv), &sge, 1, 0);
}

static void wr_set_sge_list(struct ibv_qp_ex *ibv, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	add(qp_of(ibv), (const struct roost_sge *)sg_list, num_sge, 0);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibv, size_t num_buf,
				    const struct ibv_data_buf *bufs)
{
	struct roost_sge sges[INLINE_BUFS_MAX];

	if (num_buf > INLINE_BUFS_MAX) {
		fail(&qp_of(ibv)->batch, -EINVAL);
		return;
	}
	for (size_t i = 0; i < num_buf; i++) {
		if (bufs[i].length > UINT32_MAX) {
			fail(&qp_of(ibv)->batch, -EINVAL);
			return;
		}
		sges[i] = (struct roost_sge){
			.addr = (uintptr_t)bufs[i].addr,
			.len_bytes = (uint32_t)bufs[i].length,
		};
	}
	add(qp_of(ibv), sges, num_buf, ROOST_SEND_INLINE);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibv, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ibv, 1, &buf);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibv, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	(void)ah;
	(void)remote_qpn;
	(void)remote_qkey;
	unsupported(ibv);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibv, uint32_t remote_srqn)
{
	(void)remote_srqn;
	unsupported(ibv);
}

static const struct ibv_qp_ex calls = {
	.wr_atomic_cmp_swp = wr_atomic_cmp_swp,
	.wr_atomic_fetch_add = wr_atomic_fetch_add,
	.wr_atomic_write = wr_atomic_write,
	.wr_bind_mw = wr_bind_mw,
	.wr_local_inv = wr_with_rkey,
	.wr_rdma_read = wr_rdma,
	.wr_rdma_write = wr_rdma,
	.wr_rdma_write_imm = wr_rdma_write_imm,
	.wr_send = wr_send,
	.wr_send_imm = wr_send_imm,
	.wr_send_inv = wr_with_rkey,
	.wr_send_tso = wr_send_tso,
	.wr_set_ud_addr = wr_set_ud_addr,
	.wr_set_xrc_srqn = wr_set_xrc_srqn,
	.wr_set_inline_data = wr_set_inline_data,
	.wr_set_inline_data_list = wr_set_inline_data_list,
	.wr_set_sge = wr_set_sge,
	.wr_set_sge_list = wr_set_sge_list,
	.wr_start = wr_start,
	.wr_complete = wr_complete,
	.wr_abort = wr_abort,
};

int roost_verbs_qp_ex_init(struct roost_verbs_qp *qp, uint64_t send_ops)
{
	const uint64_t have =
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

	if (send_ops & ~have)
		return -EOPNOTSUPP;
	qp->ibv = calls;
	qp->has_ex = true;
	return 0;
}
