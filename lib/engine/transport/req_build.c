/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: bytes of one request packet. No allocation, system call, log or lock.
 *
 * Packets are not kept for retransmission: a packet is made from its WQE and
 * the application's memory, as often as it is sent. Its row in roost_opcodes[]
 * has the set of its extension headers and their offsets.
 */

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/qp_priv.h"
#include "lib/engine/transport/req_priv.h"

/* Write the headers that many packets have. */
static void put_headers(const struct roost_qp *qp,
			const struct roost_send_wqe *wqe,
			const struct roost_req_piece *piece,
			const struct roost_opcode_info *op, uint8_t *bth)
{
	const uint8_t *off = op->hdr_off;

	if (op->hdrs & ROOST_HDR_BIT(XRCETH))
		roost_xrceth_put(bth + off[ROOST_HDR_XRCETH], wqe->xrc_srqn);
	if (op->hdrs & ROOST_HDR_BIT(DETH))
		/* A Q_Key with its top bit set means the QP's own (10.2.5). */
		roost_deth_put(bth + off[ROOST_HDR_DETH],
			       wqe->ud.qkey >> 31 ? qp->attr.qkey
						  : wqe->ud.qkey,
			       qp->qpn);
	if (op->hdrs & ROOST_HDR_BIT(FETH))
		roost_feth_put(bth + off[ROOST_HDR_FETH],
			       wqe->remote.flush_type, wqe->remote.flush_level);
	if (op->hdrs & ROOST_HDR_BIT(RETH))
		roost_reth_put(bth + off[ROOST_HDR_RETH],
			       wqe->remote.va + piece->offset_bytes,
			       wqe->remote.rkey, piece->left_bytes);
	if (op->hdrs & ROOST_HDR_BIT(ATOMICETH))
		roost_atomiceth_put(bth + off[ROOST_HDR_ATOMICETH],
				    wqe->remote.va, wqe->remote.rkey,
				    wqe->atomic.swap_add, wqe->atomic.compare);
	if (op->hdrs & ROOST_HDR_BIT(IMMDT))
		roost_immdt_put(bth + off[ROOST_HDR_IMMDT], wqe->imm_be);
	if (op->hdrs & ROOST_HDR_BIT(IETH))
		roost_ieth_put(bth + off[ROOST_HDR_IETH], wqe->imm_be);
}

static enum roost_sge_fault put_payload(struct roost_qp *qp,
					const struct roost_send_wqe *wqe,
					const struct roost_req_piece *piece,
					struct roost_fill *fill)
{
	if (wqe->flags & ROOST_SEND_INLINE) {
		roost_fill_copy(fill,
				(const uint8_t *)roost_wqe_data(qp, wqe) +
					piece->offset_bytes,
				piece->len_bytes);
		return ROOST_SGE_OK;
	}
	return roost_sge_gather(qp->dev, qp->pd, roost_wqe_data(qp, wqe),
				wqe->nb_sges, piece->offset_bytes, fill,
				piece->len_bytes);
}

size_t roost_req_build(struct roost_qp *qp, const struct roost_send_wqe *wqe,
		       const struct roost_path *path,
		       const struct roost_req_piece *piece, bool ackreq,
		       uint8_t *buf, bool *sealed)
{
	const struct roost_opcode_info *op = &roost_opcodes[piece->opcode];
	uint8_t pad = (uint8_t)(-piece->len_bytes & 3);
	size_t ext = op->hdr_len_bytes - ROOST_BTH_LEN;
	struct roost_bth bth = {
		.opcode = piece->opcode,
		.pad_bytes = pad,
		.solicited = piece->last && wqe->flags & ROOST_SEND_SOLICITED,
		.migreq = qp->mig.state == ROOST_MIG_MIGRATED,
		.ackreq = ackreq,
		.pkey = qp->pkey,
		.dest_qpn =
			qp->type == ROOST_QPT_UD ? wqe->ud.qpn : qp->dest_qpn,
		.selective =
			ackreq && qp->req.selective == ROOST_SELECTIVE_OFFERED,
		.psn = piece->psn,
	};
	size_t len = roost_hdr_emit(&path->template, buf, &bth,
				    ext + piece->len_bytes + pad);
	struct roost_fill fill;

	if (op->hdrs != 0)
		put_headers(qp, wqe, piece, op, buf + len - ROOST_BTH_LEN);
	roost_fill_begin(&fill, &path->template, buf, len + ext,
			 piece->len_bytes);
	if (put_payload(qp, wqe, piece, &fill) != ROOST_SGE_OK)
		return 0;
	return roost_fill_end(&fill, pad, sealed);
}
