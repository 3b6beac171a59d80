/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The ibv_wr_ calls: a builder begins a request, setters give its data and, on
 * UD and XRC, its target, in any order; several requests make a batch between
 * ibv_wr_start() and ibv_wr_complete(). Hot.
 *
 * ibv_wr_start() takes the send queue's lock and complete or abort gives it
 * back. A request goes to the engine, which copies it, as soon as nothing is
 * missing; data that comes before the target is kept until then. The first
 * error ends the batch: nothing of it is posted, and ibv_wr_complete() returns
 * that error.
 */

#include <stdlib.h>
#include <string.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

/* Setters that a request may wait for. */
#define DATA 1u
#define TARGET 2u

/* Buffers of one ibv_wr_set_inline_data_list(); a stack array. */
#define INLINE_BUFS_MAX 64

/* No QP has more. */
#define KEPT_SGES 32
#define KEPT_INLINE_BYTES 1024

struct roost_verbs_kept {
	struct roost_sge sges[KEPT_SGES];
	uint8_t inline_data[KEPT_INLINE_BYTES];
};

static struct roost_verbs_qp *qp_of(struct ibv_qp_ex *ibv)
{
	return roost_verbs_qp(&ibv->qp_base);
}

static void fail(struct roost_verbs_batch *b, int ret)
{
	if (b->error == 0)
		b->error = ret;
	b->missing = 0;
}

static void post(struct roost_verbs_qp *qp)
{
	int ret;

	ret = roost_qp_send_add(qp->qp, &qp->batch.wr);
	if (ret)
		fail(&qp->batch, ret);
}

/* A setter was called: post when it was the last one. */
static void given(struct roost_verbs_qp *qp, unsigned int what)
{
	qp->batch.missing &= (uint8_t)~what;
	if (qp->batch.missing == 0)
		post(qp);
}

/* End a request: without a data setter it has no data; without a target setter
 * it fails.
 */
static void close_request(struct roost_verbs_qp *qp)
{
	if (qp->batch.missing & TARGET)
		fail(&qp->batch, -EINVAL);
	else if (qp->batch.missing)
		given(qp, DATA);
}

/* TARGET if every request of this QP needs a target, else 0. */
static unsigned int target_of(const struct ibv_qp_ex *ibv)
{
	return ibv->qp_base.qp_type == IBV_QPT_UD ||
			       ibv->qp_base.qp_type == IBV_QPT_XRC_SEND
		       ? TARGET
		       : 0;
}

/* Begin a request. Returns it, for the members that the builder knows. The data
 * setter decides whether data is inline; the flag in wr_flags is ignored.
 */
static struct roost_send_wr *begin(struct ibv_qp_ex *ibv,
				   enum roost_wr_opcode opcode)
{
	struct roost_verbs_batch *b = &qp_of(ibv)->batch;

	close_request(qp_of(ibv));
	roost_verbs_clear_wr(&b->wr);
	b->wr.opcode = opcode;
	b->wr.wr_id = ibv->wr_id;
	if (roost_map_send_flags(ibv->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
				 &b->wr.flags))
		fail(b, -EINVAL);
	return &b->wr;
}

/* The builder is done. */
static void end(struct ibv_qp_ex *ibv, unsigned int missing)
{
	struct roost_verbs_qp *qp = qp_of(ibv);

	if (qp->batch.error)
		return;
	qp->batch.missing = (uint8_t)missing;
	if (missing == 0)
		post(qp);
}

/* A request with data, to a target. */
static void end_message(struct ibv_qp_ex *ibv)
{
	end(ibv, DATA | target_of(ibv));
}

/* The same, with immediate data or an rkey. */
static void build_message(struct ibv_qp_ex *ibv, enum roost_wr_opcode opcode,
			  uint32_t imm_be)
{
	begin(ibv, opcode)->imm_be = imm_be;
	end_message(ibv);
}

/* A request to remote memory. */
static struct roost_send_wr *begin_remote(struct ibv_qp_ex *ibv,
					  enum roost_wr_opcode opcode,
					  uint32_t rkey, uint64_t remote_addr)
{
	struct roost_send_wr *wr = begin(ibv, opcode);

	wr->remote_addr = remote_addr;
	wr->rkey = rkey;
	return wr;
}

static void wr_start(struct ibv_qp_ex *ibv)
{
	struct roost_verbs_qp *qp = qp_of(ibv);

	roost_qp_send_begin(qp->qp);
	qp->batch.missing = 0;
	qp->batch.error = 0;
}

static int wr_complete(struct ibv_qp_ex *ibv)
{
	struct roost_verbs_qp *qp = qp_of(ibv);
	int ret;

	close_request(qp);
	ret = qp->batch.error;
	if (ret) {
		roost_qp_send_abort(qp->qp);
		return roost_verbs_result(ret);
	}
	roost_device_send_end(qp->device, qp->qp);
	return 0;
}

static void wr_abort(struct ibv_qp_ex *ibv)
{
	struct roost_verbs_qp *qp = qp_of(ibv);

	qp->batch.missing = 0;
	roost_qp_send_abort(qp->qp);
}

/* ---- builders ----------------------------------------------------------- */

static void wr_send(struct ibv_qp_ex *ibv)
{
	build_message(ibv, ROOST_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ibv, __be32 imm_data)
{
	build_message(ibv, ROOST_WR_SEND_IMM, imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ibv, uint32_t invalidate_rkey)
{
	build_message(ibv, ROOST_WR_SEND_INV, invalidate_rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *ibv, uint32_t rkey,
			  uint64_t remote_addr)
{
	begin_remote(ibv, ROOST_WR_WRITE, rkey, remote_addr);
	end_message(ibv);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibv, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	begin_remote(ibv, ROOST_WR_WRITE_IMM, rkey, remote_addr)->imm_be =
		imm_data;
	end_message(ibv);
}

static void wr_rdma_read(struct ibv_qp_ex *ibv, uint32_t rkey,
			 uint64_t remote_addr)
{
	begin_remote(ibv, ROOST_WR_READ, rkey, remote_addr);
	end_message(ibv);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibv, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct roost_send_wr *wr =
		begin_remote(ibv, ROOST_WR_CMP_SWAP, rkey, remote_addr);

	wr->swap_add = swap;
	wr->compare = compare;
	end_message(ibv);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibv, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	begin_remote(ibv, ROOST_WR_FETCH_ADD, rkey, remote_addr)->swap_add =
		add;
	end_message(ibv);
}

/* Its eight bytes come with the call, not with a setter. */
static void wr_atomic_write(struct ibv_qp_ex *ibv, uint32_t rkey,
			    uint64_t remote_addr, const void *value)
{
	const struct roost_sge sge = {
		.addr = (uintptr_t)value,
		.len_bytes = sizeof(uint64_t),
	};
	struct roost_send_wr *wr =
		begin_remote(ibv, ROOST_WR_ATOMIC_WRITE, rkey, remote_addr);

	wr->sges = &sge;
	wr->nb_sges = 1;
	wr->flags |= ROOST_SEND_INLINE;
	end(ibv, 0);
	wr->sges = NULL;
}

static void wr_flush(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr,
		     size_t len, uint8_t type, uint8_t level)
{
	struct roost_send_wr *wr =
		begin_remote(ibv, ROOST_WR_FLUSH, rkey, remote_addr);

	wr->flush_len_bytes = (uint32_t)len;
	wr->flush_type = type;
	wr->flush_level = level;
	if (len > UINT32_MAX)
		fail(&qp_of(ibv)->batch, -EINVAL);
	end(ibv, 0);
}

static void wr_local_inv(struct ibv_qp_ex *ibv, uint32_t invalidate_rkey)
{
	begin(ibv, ROOST_WR_LOCAL_INV)->imm_be = invalidate_rkey;
	end(ibv, 0);
}

static void wr_bind_mw(struct ibv_qp_ex *ibv, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct roost_send_wr *wr = begin(ibv, ROOST_WR_BIND_MW);
	int ret;

	ret = roost_verbs_map_bind(mw, IBV_MW_TYPE_2, rkey, info, &wr->bind);
	if (ret)
		fail(&qp_of(ibv)->batch, ret);
	end(ibv, 0);
}

/* The header may change before a setter gives the data: it is kept. */
static void wr_send_tso(struct ibv_qp_ex *ibv, void *hdr, uint16_t hdr_sz,
			uint16_t mss)
{
	struct roost_verbs_batch *b = &qp_of(ibv)->batch;
	struct roost_send_wr *wr = begin(ibv, ROOST_WR_TSO);

	if (ibv->qp_base.qp_type != IBV_QPT_RAW_PACKET || !hdr ||
	    hdr_sz > KEPT_INLINE_BYTES) {
		fail(b, -EINVAL);
		return;
	}
	wr->tso = (struct roost_tso){ b->kept->inline_data, hdr_sz, mss };
	memcpy(b->kept->inline_data, hdr, hdr_sz);
	end_message(ibv);
}

/* ---- setters ------------------------------------------------------------ */

/* Inline data, copied into one piece. Returns 0, -EINVAL. */
static int keep_inline(struct roost_verbs_kept *kept, struct roost_send_wr *wr)
{
	uint32_t len_bytes = 0;

	for (uint32_t i = 0; i < wr->nb_sges; i++) {
		const struct roost_sge *sge = &wr->sges[i];

		if (sge->len_bytes > KEPT_INLINE_BYTES - len_bytes)
			return -EINVAL;
		memcpy(kept->inline_data + len_bytes,
		       (const void *)(uintptr_t)sge->addr, sge->len_bytes);
		len_bytes += sge->len_bytes;
	}
	kept->sges[0] = (struct roost_sge){
		.addr = (uintptr_t)kept->inline_data,
		.len_bytes = len_bytes,
	};
	wr->nb_sges = 1;
	return 0;
}

/* The program may reuse the list as soon as the setter returns. */
static int keep(struct roost_verbs_kept *kept, struct roost_send_wr *wr)
{
	int ret = 0;

	if (wr->flags & ROOST_SEND_INLINE)
		ret = keep_inline(kept, wr);
	else if (wr->nb_sges > KEPT_SGES)
		ret = -EINVAL;
	else if (wr->nb_sges)
		memcpy(kept->sges, wr->sges, wr->nb_sges * sizeof(wr->sges[0]));
	wr->sges = kept->sges;
	return ret;
}

static void set_data(struct ibv_qp_ex *ibv, const struct roost_sge *sges,
		     size_t nb_sges, uint32_t flags)
{
	struct roost_verbs_qp *qp = qp_of(ibv);
	struct roost_verbs_batch *b = &qp->batch;
	int ret;

	if (!(b->missing & DATA))
		return;
	b->wr.sges = sges;
	b->wr.nb_sges = nb_sges > UINT32_MAX ? UINT32_MAX : (uint32_t)nb_sges;
	b->wr.flags |= flags;
	if (b->missing & TARGET) {
		ret = keep(b->kept, &b->wr);
		if (ret) {
			fail(b, ret);
			return;
		}
	}
	given(qp, DATA);
}

static void wr_set_sge(struct ibv_qp_ex *ibv, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct roost_sge sge = {
		.addr = addr,
		.len_bytes = length,
		.lkey = lkey,
	};

	set_data(ibv, &sge, 1, 0);
}

static void wr_set_sge_list(struct ibv_qp_ex *ibv, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	set_data(ibv, (const struct roost_sge *)sg_list, num_sge, 0);
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
	set_data(ibv, sges, num_buf, ROOST_SEND_INLINE);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibv, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ibv, 1, &buf);
}

/* Another type's setter is a mistake, one too many means nothing. */
static bool wants_target(struct ibv_qp_ex *ibv, enum ibv_qp_type type)
{
	if (ibv->qp_base.qp_type != type)
		fail(&qp_of(ibv)->batch, -EINVAL);
	return qp_of(ibv)->batch.missing & TARGET;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibv, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct roost_send_wr *wr = &qp_of(ibv)->batch.wr;

	if (!wants_target(ibv, IBV_QPT_UD))
		return;
	wr->ah = ah ? roost_verbs_ah(ah)->ah : NULL;
	wr->dest_qpn = remote_qpn;
	wr->qkey = remote_qkey;
	given(qp_of(ibv), TARGET);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibv, uint32_t remote_srqn)
{
	if (!wants_target(ibv, IBV_QPT_XRC_SEND))
		return;
	qp_of(ibv)->batch.wr.xrc_srqn = remote_srqn;
	given(qp_of(ibv), TARGET);
}

static const struct ibv_qp_ex calls = {
	.wr_atomic_cmp_swp = wr_atomic_cmp_swp,
	.wr_atomic_fetch_add = wr_atomic_fetch_add,
	.wr_atomic_write = wr_atomic_write,
	.wr_bind_mw = wr_bind_mw,
	.wr_local_inv = wr_local_inv,
	.wr_rdma_read = wr_rdma_read,
	.wr_rdma_write = wr_rdma_write,
	.wr_rdma_write_imm = wr_rdma_write_imm,
	.wr_send = wr_send,
	.wr_send_imm = wr_send_imm,
	.wr_send_inv = wr_send_inv,
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

/* ---- what a QP can be asked for -------------------------------------------
 */

#define RC (1u << ROOST_QPT_RC)
#define UC (1u << ROOST_QPT_UC)
#define UD (1u << ROOST_QPT_UD)
#define XRC (1u << ROOST_QPT_XRC_INI)
#define RAW (1u << ROOST_QPT_RAW)

static const struct {
	uint64_t op;
	uint32_t types;
} ops[] = {
	{ IBV_QP_EX_WITH_RDMA_WRITE, RC | UC | XRC },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, RC | UC | XRC },
	{ IBV_QP_EX_WITH_SEND, RC | UC | UD | XRC | RAW },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM, RC | UC | UD | XRC },
	{ IBV_QP_EX_WITH_RDMA_READ, RC | XRC },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, RC | XRC },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, RC | XRC },
	{ IBV_QP_EX_WITH_LOCAL_INV, RC | UC | XRC },
	{ IBV_QP_EX_WITH_BIND_MW, RC | UC | XRC },
	{ IBV_QP_EX_WITH_SEND_WITH_INV, RC | XRC },
	{ IBV_QP_EX_WITH_TSO, RAW },
	{ ROOST_VERBS_QP_EX_WITH_FLUSH, RC },
	{ IBV_QP_EX_WITH_ATOMIC_WRITE, RC },
};

int roost_verbs_qp_ex_init(struct roost_verbs_qp *qp, enum roost_qp_type type,
			   uint64_t send_ops)
{
	uint64_t have = 0;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].types & 1u << type)
			have |= ops[i].op;
	if (send_ops & ~have)
		return -EOPNOTSUPP;
	if ((UD | XRC | RAW) & 1u << type) {
		qp->batch.kept = malloc(sizeof(*qp->batch.kept));
		if (!qp->batch.kept)
			return -ENOMEM;
	}
	qp->ibv.ex = calls;
	qp->ibv.wr_flush = wr_flush;
	qp->has_ex = true;
	return 0;
}
