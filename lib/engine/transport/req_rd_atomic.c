/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: responses that carry data. No allocation, system call, log or lock. */

#include <endian.h>

#include <rte_common.h>

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/sched/sched.h"

/*
 * True if the packet's FIRST, MIDDLE, LAST or ONLY is the one that is due at
 * its PSN. A response begins where a request was sent: at each part of the
 * READ, and at the PSN where the READ was resumed. At that PSN a MIDDLE or LAST
 * is valid, too: it may be a late packet of the response before, and
 * Soft-RoCE's response to a resumed READ begins so.
 */
static bool is_due(const struct roost_qp *qp, const struct roost_send_wqe *wqe,
		   const struct roost_pkt *pkt)
{
	bool last = roost_psn_eq(roost_psn_add(pkt->psn, 1),
				 roost_req_read_part_end(wqe, pkt->psn));
	bool begins = pkt->info->flags & ROOST_OPF_FIRST;

	/* An answer to a part of a part has its own first and last packets, and
	 * may be late.
	 */
	if (qp->req.pieced)
		return true;
	if (last != ((pkt->info->flags & ROOST_OPF_LAST) != 0))
		return false;
	if (roost_req_at_read_part(wqe, pkt->psn))
		return begins;
	return !begins || roost_psn_eq(pkt->psn, qp->resumed_psn);
}

static enum roost_qp_error_code check_read(const struct roost_qp *qp,
					   const struct roost_send_wqe *wqe,
					   const struct roost_pkt *pkt,
					   uint32_t offset_bytes)
{
	uint32_t left = wqe->opcode == ROOST_WR_READ
				? wqe->len_bytes - offset_bytes
				: 0;

	if (!is_due(qp, wqe, pkt))
		return ROOST_QPE_RESPONSE_ORDER;
	if (pkt->payload_len_bytes != RTE_MIN(left, qp->mtu_bytes))
		return ROOST_QPE_RESPONSE_LENGTH;
	return ROOST_QPE_NONE;
}

static enum roost_qp_error_code store(struct roost_qp *qp,
				      const struct roost_send_wqe *wqe,
				      uint32_t offset_bytes,
				      const uint8_t *data, uint32_t len_bytes)
{
	if (roost_sge_scatter(qp->dev, qp->pd, roost_wqe_data(qp, wqe),
			      wqe->nb_sges, offset_bytes, data,
			      len_bytes) != ROOST_SGE_OK)
		return ROOST_QPE_RESPONSE_MEMORY;
	return ROOST_QPE_NONE;
}

static enum roost_qp_error_code take(struct roost_qp *qp,
				     const struct roost_send_wqe *wqe,
				     const struct roost_pkt *pkt)
{
	uint32_t offset_bytes =
		(uint32_t)roost_psn_diff(pkt->psn, wqe->first_psn) *
		qp->mtu_bytes;
	enum roost_qp_error_code code;

	if (pkt->info->op == ROOST_OP_ATOMIC_ACK)
		return store(qp, wqe, 0, (const uint8_t *)&pkt->orig,
			     sizeof(pkt->orig));
	code = check_read(qp, wqe, pkt, offset_bytes);
	if (code != ROOST_QPE_NONE)
		return code;
	return store(qp, wqe, offset_bytes, pkt->payload,
		     pkt->payload_len_bytes);
}

/* Who has gone back asks for it no more: next_psn follows (req_ack.c). */
static void count_answered(struct roost_qp *qp,
			   const struct roost_send_wqe *wqe,
			   struct roost_psn psn)
{
	struct roost_requester *req = &qp->req;

	if (roost_psn_diff(req->next_psn, psn) <= 0)
		return;
	/* What was kept was counted when it came. */
	if (wqe->opcode == ROOST_WR_READ &&
	    !(req->keeps && roost_bit_test(qp->answers->score.received, psn)))
		qp->asked_pkts--;
	if (roost_psn_eq(roost_psn_add(psn, 1),
			 roost_req_read_part_end(wqe, psn)))
		req->nb_rd_atomics--;
}

/* The response at oldest_unacked_psn has come. */
static void receive_in_order(struct roost_worker *w, struct roost_qp *qp,
			     struct roost_send_wqe *wqe,
			     const struct roost_pkt *pkt)
{
	struct roost_psn next_psn = roost_psn_add(pkt->psn, 1);
	enum roost_qp_error_code code;

	if (pkt->info->op != roost_wqe_info(wqe)->response)
		code = ROOST_QPE_RESPONSE_OPCODE;
	else
		code = take(qp, wqe, pkt);
	if (code != ROOST_QPE_NONE) {
		roost_req_fail(w, qp, code, pkt);
		return;
	}
	count_answered(qp, wqe, pkt->psn);
	if (roost_psn_eq(pkt->psn, wqe->last_psn)) {
		wqe->responded = true;
		roost_req_advance(w, qp, roost_share_kind_of(wqe), next_psn);
	} else {
		/* Inside of an answer, or between two parts of it. */
		roost_window_acked(qp, ROOST_SHARE_READS, 1);
		qp->req.oldest_unacked_psn = next_psn;
		roost_req_progress(w, qp);
	}
}

void roost_req_response_receive(struct roost_worker *w, struct roost_qp *qp,
				const struct roost_pkt *pkt)
{
	struct roost_send_wqe *wqe;

	/* A response also acknowledges all PSNs before it. A PSN inside a
	 * response completes nothing, so there is only a comparison.
	 */
	if (!roost_psn_eq(pkt->psn, qp->req.oldest_unacked_psn) &&
	    (!roost_req_advance(w, qp, ROOST_SHARE_SENDS, pkt->psn) ||
	     !roost_psn_eq(pkt->psn, qp->req.oldest_unacked_psn))) {
		if (roost_qp_state_get(qp) != ROOST_QPS_ERR &&
		    !roost_req_keep(w, qp, pkt))
			roost_req_response_gap(w, qp);
		return;
	}
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return;
	wqe = roost_req_wqe(qp, roost_req_tail(qp));
	if (!roost_req_is_rd_atomic(wqe)) {
		roost_req_fail(w, qp, ROOST_QPE_RESPONSE_OPCODE, pkt);
		return;
	}
	receive_in_order(w, qp, wqe, pkt);
}
