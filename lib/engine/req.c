/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: packets of our requests. No allocation but mbufs, no system call, log
 * or lock.
 *
 * Nothing is kept for retransmission: a packet is made from its WQE and the
 * application's memory, as often as it takes.
 */

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/mr_priv.h"
#include "lib/engine/qp_priv.h"
#include "lib/engine/worker_priv.h"

void roost_req_reset(struct roost_qp *qp, struct roost_psn first_psn)
{
	uint32_t tail = atomic_load(&qp->sq.tail);

	qp->req.next_psn = first_psn;
	qp->req.end_psn = first_psn;
	qp->req.oldest_unacked_psn = first_psn;
	qp->req.send_index = tail;
	qp->req.started_index = tail;
	qp->req.timeout_ns = roost_req_timeout_ns(qp->attr.timeout);
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
	qp->req.rnr_wait = false;
	qp->req.fault = false;
}

static struct roost_send_wqe *wqe_at(struct roost_qp *qp, uint32_t index)
{
	return roost_queue_at(&qp->sq, index);
}

/* How many packets a message takes: one, even when it is empty. */
static uint32_t pkts_of(const struct roost_qp *qp, uint32_t len_bytes)
{
	return len_bytes == 0
		       ? 1
		       : (uint32_t)(((uint64_t)len_bytes + qp->mtu_bytes - 1) /
				    qp->mtu_bytes);
}

static void start_wqe(struct roost_qp *qp, struct roost_send_wqe *wqe)
{
	wqe->first_psn = qp->req.next_psn;
	wqe->last_psn =
		roost_psn_add(wqe->first_psn, pkts_of(qp, wqe->len_bytes) - 1);
	qp->req.started_index++;
}

/* May the next packet be made, as far as the QP itself is concerned? */
static bool may_send(struct roost_qp *qp)
{
	const struct roost_requester *req = &qp->req;
	enum roost_qp_state state = roost_qp_state_get(qp);

	if (state != ROOST_QPS_RTS && state != ROOST_QPS_SQD)
		return false;
	if (req->rnr_wait ||
	    (req->fault && req->fault_index == req->send_index))
		return false;
	if (req->send_index ==
	    atomic_load_explicit(&qp->sq.head, memory_order_acquire))
		return false;
	/* Draining: what has begun goes on, nothing new begins. */
	if (state == ROOST_QPS_SQD && req->send_index == req->started_index)
		return false;
	return roost_psn_diff(req->next_psn, req->oldest_unacked_psn) <
	       ROOST_WINDOW_PKTS;
}

/* The part of a message that one packet carries. */
struct piece {
	const struct roost_wr_info *info;
	uint32_t offset_bytes;
	uint32_t len_bytes;
	bool first;
	bool last;
};

static struct piece piece_of(const struct roost_qp *qp,
			     const struct roost_send_wqe *wqe)
{
	uint32_t index =
		(uint32_t)roost_psn_diff(qp->req.next_psn, wqe->first_psn);
	struct piece piece = {
		.info = roost_wr_info(wqe->opcode),
		.offset_bytes = index * qp->mtu_bytes,
		.first = index == 0,
		.last = roost_psn_eq(qp->req.next_psn, wqe->last_psn),
	};

	piece.len_bytes =
		RTE_MIN(wqe->len_bytes - piece.offset_bytes, qp->mtu_bytes);
	return piece;
}

static uint8_t opcode_of(const struct piece *piece)
{
	if (piece->first)
		return piece->last ? piece->info->only : piece->info->first;
	return piece->last ? piece->info->last : piece->info->middle;
}

/* The last packet, some on the way, and the one that closes the window. */
static bool wants_ack(const struct roost_qp *qp, const struct piece *piece)
{
	struct roost_psn psn = qp->req.next_psn;

	return piece->last || psn.v % ROOST_ACKREQ_PKTS == 0 ||
	       roost_psn_diff(psn, qp->req.oldest_unacked_psn) ==
		       ROOST_WINDOW_PKTS - 1;
}

static enum roost_sge_fault put_payload(struct roost_qp *qp,
					const struct roost_send_wqe *wqe,
					const struct piece *piece, uint8_t *dst)
{
	if (wqe->flags & ROOST_SEND_INLINE) {
		memcpy(dst, wqe->inline_data + piece->offset_bytes,
		       piece->len_bytes);
		return ROOST_SGE_OK;
	}
	return roost_sge_gather(qp->dev, qp->pd, wqe->sges, wqe->nb_sges,
				piece->offset_bytes, dst, piece->len_bytes);
}

/* Write the whole frame at buf. Returns its length with the ICRC, 0: a local
 * fault.
 */
static size_t build_frame(struct roost_qp *qp, const struct roost_send_wqe *wqe,
			  const struct piece *piece, uint8_t *buf)
{
	uint8_t pad = (uint8_t)(-piece->len_bytes & 3);
	bool has_imm = piece->last && piece->info->has_imm;
	size_t after_bth =
		piece->len_bytes + pad + (has_imm ? ROOST_IMMDT_LEN : 0);
	struct roost_bth bth = {
		.opcode = opcode_of(piece),
		.pad_bytes = pad,
		.solicited = piece->last && wqe->flags & ROOST_SEND_SOLICITED,
		.migreq = true,
		.ackreq = wants_ack(qp, piece),
		.pkey = qp->pkey,
		.dest_qpn = qp->dest_qpn,
		.psn = qp->req.next_psn,
	};
	size_t len = roost_hdr_emit(&qp->path.template, buf, &bth, after_bth);

	if (has_imm) {
		roost_immdt_put(buf + len, wqe->imm_be);
		len += ROOST_IMMDT_LEN;
	}
	if (put_payload(qp, wqe, piece, buf + len) != ROOST_SGE_OK)
		return 0;
	len += piece->len_bytes;
	memset(buf + len, 0, pad);
	len += pad;
	roost_frame_seal(&qp->path.template, buf, len);
	return len + ROOST_ICRC_LEN;
}

/* Make the next packet. Returns false when it could not be made. */
static bool send_one(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_requester *req = &qp->req;
	struct roost_send_wqe *wqe = wqe_at(qp, req->send_index);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(w->dev->pool);
	struct piece piece;
	size_t len;

	if (mbuf == NULL) {
		roost_worker_drop(w, ROOST_DROP_NO_BUFFER);
		return false;
	}
	if (req->send_index == req->started_index)
		start_wqe(qp, wqe);
	piece = piece_of(qp, wqe);
	len = build_frame(qp, wqe, &piece, rte_pktmbuf_mtod(mbuf, uint8_t *));
	if (len == 0) {
		rte_pktmbuf_free(mbuf);
		req->fault = true;
		req->fault_index = req->send_index;
		req->fault_status = ROOST_WC_LOC_PROT_ERR;
		roost_req_check_fault(w, qp);
		return false;
	}
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	roost_worker_tx(w, qp, mbuf);
	req->next_psn = roost_psn_add(req->next_psn, 1);
	if (roost_psn_diff(req->next_psn, req->end_psn) > 0)
		req->end_psn = req->next_psn;
	if (piece.last)
		req->send_index++;
	return true;
}

unsigned int roost_req_transmit(struct roost_worker *w, struct roost_qp *qp)
{
	unsigned int n = 0;

	roost_path_refresh(&qp->path);
	while (n < ROOST_QP_BURST_PKTS && may_send(qp) &&
	       roost_worker_tx_room(w, qp) && send_one(w, qp))
		n++;
	/* A local fault may have ended it: then it has no timer any more. */
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return n;
	if (may_send(qp))
		roost_worker_want_send(w, qp);
	if (n > 0 && !roost_timer_is_set(&qp->req.timer))
		roost_req_arm_timer(w, qp);
	return n;
}
