/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot: the plain request of one packet, which small messages are: a SEND or a
 * WRITE of a connected QP, with inline data or one SGE, that is sent for the
 * first time. It has a PSN, asks for an acknowledgement, and ends with its
 * packet. Its frame is what roost_req_build() makes.
 */

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/probe.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/wire/emit.h"
#include "lib/wire/guard.h"

/* The longest payload. A longer one is folded into the ICRC while it is copied
 * (lib/wire/frame.h).
 */
#define PLAIN_MAX_BYTES 256u

/* Where the payload is; NULL: not in one piece that is simply there. */
static __rte_always_inline const uint8_t *
payload_of(const struct roost_qp *qp, const struct roost_send_wqe *wqe)
{
	const struct roost_sge *sge = roost_wqe_data(qp, wqe);
	const struct roost_mr *mr;
	uint32_t rights;

	if (wqe->flags & ROOST_SEND_INLINE)
		return (const uint8_t *)sge;
	if (wqe->nb_sges != 1)
		return NULL;
	mr = roost_idmap_get(&qp->dev->mrs, sge->lkey);
	if (unlikely(!mr))
		return NULL;
	rights = roost_mr_rights(mr);
	if (unlikely(!roost_mr_allows(mr, rights, qp->pd, sge->addr,
				      wqe->len_bytes, 0) ||
		     rights & (ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_BAD)))
		return NULL;
	return roost_mr_at(mr, sge->addr);
}

/* The frame has room for a word and a chunk behind the payload; the ICRC's four
 * bytes are written later.
 */
static __rte_always_inline void put_payload(const struct roost_qp *qp,
					    const struct roost_send_wqe *wqe,
					    uint8_t *to, const uint8_t *from)
{
	const uint32_t zeros = 0;

	if (from == wqe->near)
		memcpy(to, from, ROOST_WQE_NEAR_BYTES);
	else if (unlikely(roost_guard_copy(to, from, wqe->len_bytes)))
		roost_place_faulted(
			qp->dev,
			((const struct roost_sge *)roost_wqe_data(qp, wqe))
				->lkey,
			false);
	memcpy(to + wqe->len_bytes, &zeros, sizeof(zeros));
}

/* Returns the length of the frame, with the ICRC. */
static __rte_always_inline size_t build(const struct roost_qp *qp,
					const struct roost_send_wqe *wqe,
					uint8_t opcode, uint8_t *buf,
					const uint8_t *from)
{
	uint32_t pad = -wqe->len_bytes & 3;
	uint32_t reth =
		opcode == ROOST_OPCODE_RC_WRITE_ONLY ? ROOST_RETH_LEN : 0;
	uint32_t after = reth + wqe->len_bytes + pad;
	struct roost_bth_words words = {
		.opcode = (uint32_t)opcode << 24 | pad << (16 + BTH_PAD_SHIFT) |
			  qp->pkey,
		.dest_qpn = qp->dest_qpn,
		.psn = qp->req.next_psn.v | BTH_ACKREQ,
	};
	size_t len;

	if (wqe->flags & ROOST_SEND_SOLICITED)
		words.opcode |= BTH_SOLICITED << 16;
	if (qp->mig.state == ROOST_MIG_MIGRATED)
		words.opcode |= BTH_MIGREQ << 16;
	if (unlikely(qp->req.selective == ROOST_SELECTIVE_OFFERED))
		words.psn |= BTH_SELECTIVE;
	len = roost_hdr_emit_words(&qp->path.template, buf, words, after);
	if (reth != 0)
		roost_reth_put(buf + len, wqe->remote.va, wqe->remote.rkey,
			       wqe->len_bytes);
	put_payload(qp, wqe, buf + len + reth, from);
	return len + after + ROOST_ICRC_LEN;
}

/* The request has its PSN, and its packet is queued. */
static __rte_always_inline void
sent(struct roost_worker *w, struct roost_qp *qp, struct roost_send_wqe *wqe)
{
	struct roost_requester *req = &qp->req;

	wqe->responded = false;
	wqe->first_psn = req->next_psn;
	wqe->last_psn = req->next_psn;
	if (req->rtt_sent_ns == 0) {
		req->rtt_sent_ns = w->now_ns;
		req->rtt_psn = req->next_psn;
	}
	req->next_psn = roost_psn_add(req->next_psn, 1);
	req->end_psn = req->next_psn;
	req->started_index++;
	req->send_index++;
}

static __rte_always_inline enum roost_only
send_one(struct roost_worker *w, struct roost_qp *qp, bool first)
{
	const struct roost_requester *req = &qp->req;
	struct roost_send_wqe *wqe = roost_req_wqe(qp, req->send_index);
	struct rte_mbuf *mbuf;
	const uint8_t *from;
	uint8_t opcode, *buf;
	size_t len;

	if (qp->type != ROOST_QPT_RC || req->send_index != req->started_index ||
	    !roost_psn_eq(req->next_psn, req->end_psn) ||
	    wqe->len_bytes > PLAIN_MAX_BYTES || wqe->len_bytes > qp->mtu_bytes)
		return ROOST_ONLY_OTHER;
	if (wqe->opcode == ROOST_WR_SEND)
		opcode = ROOST_OPCODE_RC_SEND_ONLY;
	else if (wqe->opcode == ROOST_WR_WRITE)
		opcode = ROOST_OPCODE_RC_WRITE_ONLY;
	else
		return ROOST_ONLY_OTHER;
	if (!first && unlikely(wqe->flags & ROOST_SEND_FENCE))
		return ROOST_ONLY_OTHER;
	from = payload_of(qp, wqe);
	if (unlikely(!from))
		return ROOST_ONLY_OTHER;
	mbuf = roost_tx_mbuf(w, &qp->path);
	if (unlikely(!mbuf))
		return ROOST_ONLY_LATER;
	buf = rte_pktmbuf_mtod(mbuf, uint8_t *);
	len = build(qp, wqe, opcode, buf, from);
	roost_path_readdress(&qp->path, buf);
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	roost_tx_queue_plain(w, &qp->path, mbuf);
	ROOST_PROBE(packet_sent, qp->qpn, req->next_psn.v, opcode,
		    wqe->len_bytes);
	roost_pace_sent(w, qp, len);
	sent(w, qp, wqe);
	return ROOST_ONLY_SENT;
}

enum roost_only roost_req_only(struct roost_worker *w, struct roost_qp *qp,
			       unsigned int most, unsigned int *n)
{
	enum roost_only only = ROOST_ONLY_SENT;
	unsigned int i;

	for (i = 0; i < most; i++) {
		only = send_one(w, qp, i == 0);
		if (only != ROOST_ONLY_SENT)
			break;
	}
	*n += i;
	return only;
}
