/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: choosing and sending the next packet. No allocation except mbufs, no
 * system call, log or lock.
 */

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/raw_priv.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/core/probe.h"

/* In flight before anything is known of the path: 64 senders that begin at once
 * fit in a queue of 1,024 packets.
 */
#define FIRST_PKTS 16u
/* A READ of many packets is asked for in parts, as long as others wait to ask,
 * and else of so many that a window may be full of them. A QP that may have one
 * request only asks for all.
 */
#define SHORT_PART_SHIFT 4u
/* Requests of a QP that are begun and not complete. */
#define STARTED_MAX (2u * ROOST_CWND_MAX_PKTS)

void roost_req_reset(struct roost_qp *qp, struct roost_psn first_psn)
{
	uint32_t tail = roost_req_tail(qp);

	roost_req_forget(qp->worker, qp);
	roost_req_let_go(qp->worker, qp);
	qp->req.pieced = false;
	qp->req.selective =
		qp->dev->selective_repeat && roost_qp_is_reliable(qp)
			? ROOST_SELECTIVE_OFFERED
			: ROOST_SELECTIVE_OFF;
	qp->reorder_pkts = 0;
	qp->reorder_rounds = 0;
	qp->req.next_psn = first_psn;
	qp->req.end_psn = first_psn;
	qp->resumed_psn = first_psn;
	qp->req.oldest_unacked_psn = first_psn;
	qp->req.send_index = tail;
	qp->req.started_index = tail;
	qp->req.timeout_ns = roost_req_timeout_ns(qp->attr.timeout);
	qp->dev->cc->reset(&qp->req.cwnd, FIRST_PKTS, ROOST_CWND_MAX_PKTS);
	roost_rtt_reset(&qp->req);
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
	qp->req.rnr_wait = false;
	qp->req.response_gap = false;
	qp->req.nb_rd_atomics = 0;
	qp->asked_pkts = 0;
	qp->req.fault = false;
	roost_pace_reset(qp);
}

/* How many PSNs a request takes: one, even when it is empty. */
static uint32_t psns_of(const struct roost_qp *qp,
			const struct roost_send_wqe *wqe)
{
	if (wqe->len_bytes <= qp->mtu_bytes || wqe->opcode == ROOST_WR_FLUSH)
		return 1;
	return (uint32_t)(((uint64_t)wqe->len_bytes + qp->mtu_bytes - 1) /
			  qp->mtu_bytes);
}

static uint8_t part_shift_of(const struct roost_qp *qp)
{
	uint32_t most = qp->attr.max_rd_atomic;

	if (roost_share_reads_wait(qp))
		return SHORT_PART_SHIFT;
	if (most < 2)
		return ROOST_READ_MAX_SHIFT;
	return (uint8_t)rte_log2_u32(
		RTE_MAX(ROOST_CWND_MAX_PKTS / most, 1u << SHORT_PART_SHIFT));
}

static void start_wqe(struct roost_qp *qp, struct roost_send_wqe *wqe,
		      uint32_t nb_psns)
{
	wqe->responded = false;
	if (roost_req_is_rd_atomic(wqe))
		wqe->remote.part_shift = part_shift_of(qp);
	wqe->first_psn = qp->req.next_psn;
	wqe->last_psn = roost_psn_add(wqe->first_psn, nb_psns - 1);
	qp->req.started_index++;
}

/* A local operation is not counted in the window. The number of started
 * requests is bounded, so that one ACK completes a bounded number of them: a
 * local operation beyond the bound waits for an ACK.
 */
static bool may_do_local(const struct roost_qp *qp)
{
	const struct roost_requester *req = &qp->req;

	return req->send_index != req->started_index ||
	       !roost_req_has_unacked(qp) ||
	       req->started_index - roost_req_tail(qp) < STARTED_MAX;
}

/* The parts of a READ that has begun become as long as they would be if it
 * began now: shorter ones at once, longer ones after a window. All that were
 * asked for have come then, so no request covers two of the parts before.
 * Returns false: some have not come.
 */
static bool fit_parts(struct roost_qp *qp, struct roost_send_wqe *wqe)
{
	const struct roost_requester *req = &qp->req;
	uint32_t at = (uint32_t)roost_psn_diff(req->next_psn, wqe->first_psn);
	uint8_t shift = part_shift_of(qp);

	if (likely(shift == wqe->remote.part_shift) ||
	    !roost_psn_eq(req->next_psn, req->end_psn) ||
	    (shift > wqe->remote.part_shift && at % ROOST_CWND_MAX_PKTS != 0))
		return true;
	if (roost_req_has_unacked(qp))
		return false;
	wqe->remote.part_shift = shift;
	/* The answer begins in the midst of a longer part. */
	qp->resumed_psn = req->next_psn;
	return true;
}

/* True if the WQE at send_index may go on, by the rules of its kind. */
static bool may_send_wqe(struct roost_qp *qp)
{
	const struct roost_requester *req = &qp->req;
	struct roost_send_wqe *wqe = roost_req_wqe(qp, req->send_index);
	uint8_t kind = roost_wqe_info(wqe)->kind;

	if (wqe->flags & ROOST_SEND_FENCE && req->nb_rd_atomics > 0 &&
	    req->send_index == req->started_index)
		return false;
	if (kind == ROOST_WR_KIND_MESSAGE)
		return true;
	if (kind == ROOST_WR_KIND_LOCAL)
		return may_do_local(qp);
	if (wqe->opcode == ROOST_WR_READ &&
	    req->send_index != req->started_index && !fit_parts(qp, wqe))
		return false;
	/* If max_rd_atomic was lowered to 0, requests that were sent may still
	 * be retransmitted.
	 */
	return req->nb_rd_atomics < RTE_MAX(qp->attr.max_rd_atomic, 1);
}

/* True if the state of the QP allows the next packet. */
static bool may_send(struct roost_worker *w, struct roost_qp *qp)
{
	const struct roost_requester *req = &qp->req;
	enum roost_qp_state state = roost_qp_state_get(qp);

	if (req->send_index ==
	    atomic_load_explicit(&qp->sq.head, memory_order_acquire))
		return false;
	if (state != ROOST_QPS_RTS && state != ROOST_QPS_SQD)
		return false;
	if (req->rnr_wait ||
	    (req->fault && req->fault_index == req->send_index))
		return false;
	/* Draining: requests that have begun go on, no new one begins. */
	if (state == ROOST_QPS_SQD && req->send_index == req->started_index)
		return false;
	if (roost_req_flight_pkts(req) >= (int32_t)req->cwnd.pkts)
		return false;
	if (unlikely(req->spared_pkts != 0) &&
	    roost_psn_diff(req->next_psn, req->oldest_unacked_psn) >=
		    (int32_t)ROOST_SPAN_PKTS)
		return false;
	return may_send_wqe(qp) &&
	       !roost_share_stops(w, qp,
				  roost_share_kind_of(
					  roost_req_wqe(qp, req->send_index)));
}

static uint8_t base_opcode(const struct roost_wr_info *info, bool first,
			   bool last)
{
	if (first)
		return last ? info->only : info->first;
	return last ? info->last : info->middle;
}

/* The piece of a WQE at psn. */
static __rte_always_inline void cut_piece(const struct roost_qp *qp,
					  const struct roost_send_wqe *wqe,
					  struct roost_psn psn,
					  struct roost_req_piece *piece)
{
	const struct roost_wr_info *info = roost_wqe_info(wqe);
	bool rd_atomic = info->kind == ROOST_WR_KIND_RD_ATOMIC;
	uint32_t index = (uint32_t)roost_psn_diff(psn, wqe->first_psn);
	bool first = index == 0 || rd_atomic;

	piece->psn = psn;
	piece->is_rd_atomic = rd_atomic;
	/* The PSN behind this packet; a READ takes the PSNs of its response. */
	piece->next_psn = rd_atomic ? roost_req_read_part_end(wqe, psn)
				    : roost_psn_add(psn, 1);
	piece->offset_bytes = index * qp->mtu_bytes;
	piece->last =
		roost_psn_eq(roost_psn_sub(piece->next_psn, 1), wqe->last_psn);
	piece->opcode =
		roost_qp_opcode(qp, base_opcode(info, first,
						piece->last || rd_atomic));
	piece->left_bytes = wqe->len_bytes - piece->offset_bytes;
	if (rd_atomic && !piece->last)
		piece->left_bytes =
			(uint32_t)roost_psn_diff(piece->next_psn, psn) *
			qp->mtu_bytes;
	piece->len_bytes = RTE_MIN(piece->left_bytes, qp->mtu_bytes);
	if (!(roost_opcodes[piece->opcode].flags & ROOST_OPF_PAYLOAD))
		piece->len_bytes = 0;
}

/* True for the last packet of each part of the window, in a long message. A
 * window that is too small for parts is sent as a whole before an answer comes.
 */
static bool ends_part(const struct roost_qp *qp, struct roost_psn psn)
{
	uint32_t part_pkts = qp->req.cwnd.pkts / ROOST_CWND_PARTS;

	return part_pkts != 0 && psn.v % part_pkts == 0;
}

/* True for the last packet of a message, the end of each part of the window,
 * the packet that fills the window, and one that a rate limit or the share may
 * let none follow.
 */
static bool wants_ack(const struct roost_qp *qp,
		      const struct roost_req_piece *piece, bool ends_burst)
{
	struct roost_psn psn = qp->req.next_psn;

	if (!roost_qp_is_reliable(qp))
		return false;
	return piece->last || piece->is_rd_atomic || ends_part(qp, psn) ||
	       roost_pace_will_hold(qp) ||
	       roost_share_may_stop(qp, ends_burst) ||
	       roost_req_flight_pkts(&qp->req) ==
		       (int32_t)qp->req.cwnd.pkts - 1;
}

/* The WQE at send_index cannot be sent: it fails when all WQEs before it are
 * done.
 */
static void fault_wqe(struct roost_worker *w, struct roost_qp *qp,
		      enum roost_qp_error_code code)
{
	qp->req.fault = true;
	qp->req.fault_index = qp->req.send_index;
	qp->req.fault_code = (uint8_t)code;
	roost_req_check_fault(w, qp);
}

/* A local operation: done when all requests before it are. */
static bool do_local(struct roost_worker *w, struct roost_qp *qp,
		     struct roost_send_wqe *wqe)
{
	struct roost_requester *req = &qp->req;
	enum roost_qp_error_code code;

	if (req->send_index == req->started_index) {
		wqe->first_psn = roost_psn_sub(req->next_psn, 1);
		wqe->last_psn = wqe->first_psn;
		code = roost_req_local(qp, wqe);
		/* Not started then: no acknowledgement completes it. */
		if (code != ROOST_QPE_NONE) {
			fault_wqe(w, qp, code);
			return false;
		}
		req->started_index++;
	}
	req->send_index++;
	if (!roost_req_has_unacked(qp))
		roost_req_advance(w, qp, ROOST_SHARE_SENDS,
				  req->oldest_unacked_psn);
	return true;
}

/* Update the state after a packet was queued, and not sent yet. */
static void sent(struct roost_worker *w, struct roost_qp *qp,
		 const struct roost_send_wqe *wqe,
		 const struct roost_req_piece *piece, bool ackreq,
		 struct rte_mbuf *queued)
{
	struct roost_requester *req = &qp->req;

	ROOST_PROBE(packet_sent, qp->qpn, req->next_psn.v, piece->opcode,
		    piece->len_bytes);
	if (req->rtt_sent_ns == 0 && ackreq &&
	    roost_psn_eq(req->next_psn, req->end_psn)) {
		req->rtt_sent_ns = w->now_ns;
		req->rtt_psn = req->next_psn;
	}
	if (piece->is_rd_atomic)
		roost_req_count_asked(qp, wqe, piece->psn, piece->next_psn);
	req->next_psn = piece->next_psn;
	if (roost_psn_diff(req->next_psn, req->end_psn) > 0)
		req->end_psn = req->next_psn;
	else
		queued->port |= ROOST_AGAIN;
	if (piece->last)
		req->send_index++;
	/* No acknowledgement will come: count the packet as acknowledged. */
	if (!roost_qp_is_reliable(qp))
		roost_req_advance(w, qp, ROOST_SHARE_SENDS, req->next_psn);
}

/* Make and queue the packet of a piece. Returns false when an SGE is wrong. */
static __rte_always_inline bool
make(struct roost_worker *w, struct roost_qp *qp,
     const struct roost_send_wqe *wqe, struct roost_path *path,
     const struct roost_req_piece *piece, bool ackreq, struct rte_mbuf *mbuf)
{
	uint8_t *buf = rte_pktmbuf_mtod(mbuf, uint8_t *);
	bool sealed;
	size_t len;

	len = roost_req_build(qp, wqe, path, piece, ackreq, buf, &sealed);
	roost_path_readdress(path, buf);
	if (len == 0) {
		roost_mbuf_free(w, mbuf);
		return false;
	}
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	roost_tx_queue(w, path, mbuf, sealed);
	roost_pace_sent(w, qp, len);
	return true;
}

/* As send_one(), of a raw packet QP: a frame, or the next segment of TSO. */
static bool send_raw(struct roost_worker *w, struct roost_qp *qp,
		     struct roost_send_wqe *wqe)
{
	struct roost_requester *req = &qp->req;
	struct roost_req_piece piece = {
		.psn = req->next_psn,
		.next_psn = roost_psn_add(req->next_psn, 1),
		.opcode = roost_wqe_info(wqe)->only,
	};
	struct rte_mbuf *mbuf;
	size_t len;

	if (roost_raw_frame_bytes(wqe) > qp->mtu_bytes) {
		fault_wqe(w, qp, ROOST_QPE_LOCAL_LENGTH);
		return false;
	}
	mbuf = roost_tx_mbuf(w, &qp->path);
	if (!mbuf)
		return false;
	if (req->send_index == req->started_index)
		start_wqe(qp, wqe, roost_raw_frames(wqe));
	piece.last = roost_psn_eq(piece.psn, wqe->last_psn);
	len = roost_raw_build(qp, wqe,
			      (uint32_t)roost_psn_diff(piece.psn,
						       wqe->first_psn),
			      piece.last, rte_pktmbuf_mtod(mbuf, uint8_t *));
	if (len == 0) {
		roost_mbuf_free(w, mbuf);
		fault_wqe(w, qp, ROOST_QPE_LOCAL_MEMORY);
		return false;
	}
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	if (w->dev->ports[qp->path.port_index].has_flows)
		roost_raw_turn_back(w, qp, mbuf);
	roost_tx_queue(w, &qp->path, mbuf, true);
	roost_pace_sent(w, qp, len);
	sent(w, qp, wqe, &piece, false, mbuf);
	return true;
}

/* As send_one(), of any request. */
static __rte_noinline bool send_any(struct roost_worker *w, struct roost_qp *qp,
				    bool ends_burst)
{
	struct roost_requester *req = &qp->req;
	struct roost_send_wqe *wqe = roost_req_wqe(qp, req->send_index);
	struct roost_path *path = qp->type == ROOST_QPT_UD
					  ? roost_ah_path(wqe->ud.ah)
					  : &qp->path;
	struct roost_req_piece piece;
	struct rte_mbuf *mbuf;
	bool ackreq;

	if (roost_wqe_info(wqe)->kind == ROOST_WR_KIND_LOCAL)
		return do_local(w, qp, wqe);
	if (unlikely(qp->type == ROOST_QPT_RAW))
		return send_raw(w, qp, wqe);
	if (qp->type == ROOST_QPT_UD && wqe->len_bytes > qp->mtu_bytes) {
		fault_wqe(w, qp, ROOST_QPE_LOCAL_LENGTH);
		return false;
	}
	/* The request was posted before a modify set max_rd_atomic to 0. */
	if (req->send_index == req->started_index &&
	    roost_req_is_rd_atomic(wqe) && qp->attr.max_rd_atomic == 0) {
		fault_wqe(w, qp, ROOST_QPE_NO_RD_ATOMIC);
		return false;
	}
	mbuf = roost_tx_mbuf(w, path);
	if (!mbuf)
		return false;
	if (req->send_index == req->started_index)
		start_wqe(qp, wqe, psns_of(qp, wqe));
	cut_piece(qp, wqe, req->next_psn, &piece);
	ackreq = wants_ack(qp, &piece, ends_burst);
	if (!make(w, qp, wqe, path, &piece, ackreq, mbuf)) {
		fault_wqe(w, qp, ROOST_QPE_LOCAL_MEMORY);
		return false;
	}
	sent(w, qp, wqe, &piece, ackreq, mbuf);
	return true;
}

/* The number of requests of one packet each, from send_index on, that
 * may_send() would allow one after the other, but for fences: up to burst.
 * Called after may_send().
 */
static uint32_t run_of(const struct roost_qp *qp, uint32_t burst)
{
	const struct roost_requester *req = &qp->req;
	uint32_t posted =
		atomic_load_explicit(&qp->sq.head, memory_order_acquire) -
		req->send_index;
	uint32_t room = req->cwnd.pkts - (uint32_t)roost_req_flight_pkts(req);

	if (unlikely(qp->req_limited || req->spared_pkts != 0 || req->fault ||
		     roost_qp_state_get(qp) != ROOST_QPS_RTS))
		return 1;
	room = RTE_MIN(room, roost_share_room(qp));
	return RTE_MIN(RTE_MIN(posted, room), burst);
}

/* Make the next packets, up to burst. Returns how many; 0: the next one could
 * not be made.
 */
static unsigned int send_some(struct roost_worker *w, struct roost_qp *qp,
			      unsigned int burst)
{
	unsigned int n = 0;
	enum roost_only only = roost_req_only(w, qp, run_of(qp, burst), &n);

	if (n == 0 && only == ROOST_ONLY_OTHER)
		return send_any(w, qp, burst == 1);
	return n;
}

/* Of a READ, ask only for the responses that are lost from psn on. */
static void cut_lost(struct roost_qp *qp, struct roost_req_piece *piece)
{
	const struct roost_score *score = &qp->answers->score;
	struct roost_psn psn = roost_psn_add(piece->psn, 1);

	qp->req.pieced = true;
	while (roost_psn_diff(psn, piece->next_psn) < 0 &&
	       roost_psn_diff(psn, score->base_psn) <
		       (int32_t)ROOST_SPAN_PKTS &&
	       roost_bit_test(score->lost, psn))
		psn = roost_psn_add(psn, 1);
	/* A probe asks for all, to behind what the score has room for. */
	if (roost_psn_diff(psn, score->base_psn) == (int32_t)ROOST_SPAN_PKTS ||
	    roost_psn_eq(psn, piece->next_psn))
		return;
	piece->next_psn = psn;
	piece->left_bytes =
		(uint32_t)roost_psn_diff(psn, piece->psn) * qp->mtu_bytes;
}

/* Send the packet of an unacknowledged PSN again. An RD/atomic is sent whole,
 * and *psn gets its first PSN, unless it is about responses. *next_psn: behind
 * it. Returns false when it does not go now.
 */
static bool send_at(struct roost_worker *w, struct roost_qp *qp,
		    const struct roost_score *score, struct roost_psn *psn,
		    struct roost_psn *next_psn)
{
	struct roost_send_wqe *wqe =
		roost_req_wqe(qp, roost_req_index_of(qp, *psn));
	struct roost_req_piece piece;
	struct rte_mbuf *mbuf;

	if (roost_pace_is_early(w, qp))
		return false;
	mbuf = roost_tx_mbuf(w, &qp->path);
	if (!mbuf) {
		roost_worker_want_send(w, qp);
		return false;
	}
	/* The part of its answer that has come is not asked for again; the
	 * answer to the rest has its own first packet.
	 */
	if (roost_req_is_rd_atomic(wqe) && score == qp->score) {
		*psn = roost_req_read_part(wqe, *psn);
		if (roost_psn_diff(*psn, qp->req.oldest_unacked_psn) < 0) {
			*psn = qp->req.oldest_unacked_psn;
			qp->req.pieced = true;
		}
	}
	cut_piece(qp, wqe, *psn, &piece);
	if (score != qp->score)
		cut_lost(qp, &piece);
	*next_psn = piece.next_psn;
	/* Its memory is gone: it fails when it is its turn. */
	if (!make(w, qp, wqe, &qp->path, &piece, true, mbuf)) {
		roost_req_go_back(w, qp, qp->req.oldest_unacked_psn);
		return false;
	}
	mbuf->port |= ROOST_AGAIN;
	return true;
}

/* Packets that are lost go before new ones, and requests for responses that
 * are.
 */
static unsigned int send_again(struct roost_worker *w, struct roost_qp *qp,
			       struct roost_score *score, unsigned int burst)
{
	struct roost_requester *req = &qp->req;
	enum roost_qp_state state = roost_qp_state_get(qp);
	unsigned int n = 0;

	if ((state != ROOST_QPS_RTS && state != ROOST_QPS_SQD) || req->rnr_wait)
		return 0;
	while (n < burst) {
		struct roost_psn psn, next_psn;

		if (!roost_score_first_lost(score, &psn))
			break;
		/* The first one goes, however small cwnd has become. */
		if (roost_req_flight_pkts(req) >= (int32_t)req->cwnd.pkts &&
		    !roost_psn_eq(psn, score->front_psn))
			break;
		if (!send_at(w, qp, score, &psn, &next_psn))
			break;
		roost_score_sent_again(w, qp, score, psn, next_psn);
		n++;
	}
	return n;
}

unsigned int roost_req_transmit(struct roost_worker *w, struct roost_qp *qp,
				unsigned int burst)
{
	unsigned int n = 0;
	bool may;

	if (unlikely(qp->req.lost)) {
		n = send_again(w, qp, qp->score, burst);
		qp->req.lost = qp->score && qp->score->nb_lost != 0;
	}
	if (unlikely(qp->req.keeps)) {
		roost_req_keeps_next(w, qp);
		if (qp->req.keeps && qp->answers->score.nb_lost != 0)
			n += send_again(w, qp, &qp->answers->score, burst - n);
	}
	may = may_send(w, qp) && !roost_pace_is_early(w, qp);
	/* A QP sends its owed answers before its requests: a peer that has the
	 * reply also has the ACK, and sees completions in the order that
	 * hardware gives them.
	 */
	if (may && qp->answer_place != 0)
		roost_worker_answer(w, qp);
	while (may && n < burst) {
		unsigned int made = send_some(w, qp, burst - n);

		may = may_send(w, qp) && !roost_pace_is_early(w, qp);
		if (made == 0)
			break;
		n += made;
	}
	/* A local fault may have moved the QP to ERR, which has no timer. */
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return n;
	if (may && n < burst)
		roost_worker_keep_turn(w, qp, burst - n);
	else if (may || unlikely(qp->req.lost && n == burst))
		roost_worker_want_send(w, qp);
	if (n > 0 && !roost_timer_is_set(&qp->req.timer))
		roost_req_arm_timer(w, qp);
	roost_share_count(w, qp, !(may && n < burst));
	return n;
}
