/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Requests with a response: READ, atomics, ATOMIC WRITE, FLUSH.
 *
 * The last max_dest_rd_atomic of them are on record. The answer to a READ is
 * made from memory each time that it is sent; the value that an atomic read is
 * kept, so that a duplicate is answered without being executed.
 */

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/core/probe.h"

static struct roost_resp_rd_atomic *rd_atomic_at(struct roost_qp *qp,
						 unsigned int i)
{
	return &qp->resp.rd_atomics[(qp->resp.rd_atomic_first + i) %
				    qp->resp.rd_atomic_room];
}

static void forget_oldest(struct roost_qp *qp)
{
	struct roost_responder *resp = &qp->resp;

	if (rd_atomic_at(qp, 0)->pending)
		resp->nb_rd_atomics_pending--;
	resp->rd_atomic_first =
		(uint8_t)((resp->rd_atomic_first + 1) % resp->rd_atomic_room);
	resp->nb_rd_atomics--;
}

struct roost_resp_rd_atomic *
roost_rd_atomic_resize(struct roost_qp *qp, struct roost_resp_rd_atomic *ring,
		       uint8_t n)
{
	struct roost_responder *resp = &qp->resp;
	struct roost_resp_rd_atomic *old = resp->rd_atomics;

	resp->rd_atomic_size = n;
	while (resp->nb_rd_atomics > n && rd_atomic_at(qp, 0)->answered)
		forget_oldest(qp);
	if (!ring)
		return NULL;
	for (unsigned int i = 0; i < resp->nb_rd_atomics; i++)
		ring[i] = *rd_atomic_at(qp, i);
	resp->rd_atomics = ring;
	resp->rd_atomic_room = n;
	resp->rd_atomic_first = 0;
	return old;
}

uint32_t roost_rd_atomic_psns(const struct roost_qp *qp,
			      const struct roost_pkt *pkt)
{
	if (pkt->info->op != ROOST_OP_READ_REQ ||
	    pkt->dma_len_bytes <= qp->mtu_bytes)
		return 1;
	return (uint32_t)(((uint64_t)pkt->dma_len_bytes + qp->mtu_bytes - 1) /
			  qp->mtu_bytes);
}

/* The oldest record makes room once it was answered, even while it is being
 * answered again: a peer that keeps to the limit loses nothing by that.
 */
bool roost_rd_atomic_has_room(struct roost_qp *qp)
{
	const struct roost_responder *resp = &qp->resp;

	/* After a modify there may be more than one too many. */
	for (unsigned int i = 0;
	     resp->nb_rd_atomics - i >= resp->rd_atomic_size; i++)
		if (i == resp->nb_rd_atomics || !rd_atomic_at(qp, i)->answered)
			return false;
	return true;
}

static void owe(struct roost_worker *w, struct roost_qp *qp,
		struct roost_resp_rd_atomic *rd_atomic)
{
	if (!rd_atomic->pending) {
		rd_atomic->pending = true;
		qp->resp.nb_rd_atomics_pending++;
	}
	roost_worker_want_ack(w, qp);
}

void roost_rd_atomic_add(struct roost_worker *w, struct roost_qp *qp,
			 const struct roost_pkt *pkt, uint64_t orig)
{
	struct roost_responder *resp = &qp->resp;
	struct roost_resp_rd_atomic *rd_atomic;

	while (resp->nb_rd_atomics >= resp->rd_atomic_size)
		forget_oldest(qp);
	rd_atomic = rd_atomic_at(qp, resp->nb_rd_atomics++);
	*rd_atomic = (struct roost_resp_rd_atomic){
		.first_psn = pkt->psn,
		.last_psn = roost_psn_add(pkt->psn,
					  roost_rd_atomic_psns(qp, pkt) - 1),
		.next_psn = pkt->psn,
		.va = pkt->va,
		.orig = orig,
		.rkey = pkt->rkey,
		.pd = resp->pd,
		.len_bytes = pkt->info->op == ROOST_OP_READ_REQ
				     ? pkt->dma_len_bytes
				     : 0,
		.msn = resp->msn,
		.op = pkt->info->op,
	};
	rd_atomic->end_bytes = rd_atomic->len_bytes;
	owe(w, qp, rd_atomic);
}

/* Where the answer's packet of a PSN begins. */
static uint32_t offset_of(const struct roost_qp *qp,
			  const struct roost_resp_rd_atomic *rd_atomic,
			  struct roost_psn psn)
{
	return (uint32_t)roost_psn_diff(psn, rd_atomic->first_psn) *
	       qp->mtu_bytes;
}

/* A duplicate READ may ask for any part of the answer. */
static bool read_fits(const struct roost_qp *qp,
		      const struct roost_resp_rd_atomic *rd_atomic,
		      const struct roost_pkt *pkt)
{
	uint32_t offset_bytes = offset_of(qp, rd_atomic, pkt->psn);

	if (pkt->rkey != rd_atomic->rkey ||
	    pkt->va != rd_atomic->va + offset_bytes ||
	    pkt->dma_len_bytes > rd_atomic->len_bytes - offset_bytes ||
	    !(qp->attr.access & ROOST_ACCESS_REMOTE_READ))
		return false;
	/* If the key is gone, the peer gets no answer, but the connection
	 * stays.
	 */
	return pkt->dma_len_bytes == 0 ||
	       roost_mr_remote_may(qp->worker, rd_atomic->pd, qp->qpn,
				   pkt->rkey, pkt->va, pkt->dma_len_bytes, 0,
				   ROOST_ACCESS_REMOTE_READ);
}

/* A part of a READ is asked for again. Returns false: the packets from its
 * first PSN on are on their way to be sent already.
 *
 * A peer that goes back wants all from there on. One that misses single packets
 * asks for them, and for nothing behind them that was asked for before: what is
 * being sent goes on then.
 */
static bool ask_again(struct roost_qp *qp,
		      struct roost_resp_rd_atomic *rd_atomic,
		      const struct roost_pkt *pkt)
{
	uint32_t first_bytes = offset_of(qp, rd_atomic, pkt->psn);
	uint32_t end_bytes = first_bytes + pkt->dma_len_bytes;
	uint32_t next_bytes = offset_of(qp, rd_atomic, rd_atomic->next_psn);

	if (rd_atomic->pending && end_bytes <= next_bytes &&
	    rd_atomic->resume_bytes == 0) {
		rd_atomic->resume_psn = rd_atomic->next_psn;
		rd_atomic->resume_bytes = rd_atomic->end_bytes;
	} else if (rd_atomic->pending && end_bytes < rd_atomic->len_bytes) {
		/* One more: between the two may be some that are not wanted. */
		end_bytes = RTE_MAX(end_bytes, rd_atomic->end_bytes);
		if (first_bytes >= next_bytes) {
			rd_atomic->end_bytes = end_bytes;
			return false;
		}
	} else {
		rd_atomic->resume_bytes = 0;
	}
	rd_atomic->end_bytes = end_bytes;
	return true;
}

bool roost_rd_atomic_replay(struct roost_worker *w, struct roost_qp *qp,
			    const struct roost_pkt *pkt)
{
	/* The newest first: an old one may be a whole circle of PSNs ago. */
	for (unsigned int i = qp->resp.nb_rd_atomics; i-- > 0;) {
		struct roost_resp_rd_atomic *rd_atomic = rd_atomic_at(qp, i);

		if (roost_psn_diff(pkt->psn, rd_atomic->first_psn) < 0 ||
		    roost_psn_diff(pkt->psn, rd_atomic->last_psn) > 0)
			continue;
		if (rd_atomic->op != pkt->info->op)
			return false;
		if (rd_atomic->op == ROOST_OP_READ_REQ) {
			if (!read_fits(qp, rd_atomic, pkt))
				return false;
			if (!ask_again(qp, rd_atomic, pkt))
				return true;
		}
		rd_atomic->next_psn = pkt->psn;
		rd_atomic->begun = false;
		owe(w, qp, rd_atomic);
		return true;
	}
	return false;
}

/* ---- answers ---------------------------------------------------------- */

static uint8_t read_opcode(const struct roost_resp_rd_atomic *rd_atomic,
			   bool last)
{
	if (!rd_atomic->begun)
		return last ? ROOST_OPCODE_RC_READ_RESP_ONLY
			    : ROOST_OPCODE_RC_READ_RESP_FIRST;
	return last ? ROOST_OPCODE_RC_READ_RESP_LAST
		    : ROOST_OPCODE_RC_READ_RESP_MIDDLE;
}

struct answer {
	uint8_t opcode; /* of RC; the service is put in later */
	bool last;
	uint32_t offset_bytes;
	uint32_t len_bytes;
	const uint8_t *payload;
};

/* Memory of a suspect region, as it is now; NULL: it is none. */
static const uint8_t *suspect(struct roost_qp *qp,
			      const struct roost_resp_rd_atomic *rd_atomic,
			      const struct answer *a)
{
	struct roost_place place;

	if (!roost_place_remote(qp->worker, rd_atomic->pd, qp->qpn,
				rd_atomic->rkey,
				rd_atomic->va + a->offset_bytes, a->len_bytes,
				ROOST_ACCESS_REMOTE_READ, &place))
		return NULL;
	return roost_place_get(&place, a->len_bytes);
}

/* Returns false when the memory to read is gone. On success it stays until
 * roost_mr_remote_done().
 */
static bool next_answer(struct roost_qp *qp,
			const struct roost_resp_rd_atomic *rd_atomic,
			struct answer *a)
{
	*a = (struct answer){ .opcode = ROOST_OPCODE_RC_ATOMIC_ACK,
			      .last = true };
	if (rd_atomic->op == ROOST_OP_CMP_SWAP ||
	    rd_atomic->op == ROOST_OP_FETCH_ADD)
		return true;
	a->offset_bytes = offset_of(qp, rd_atomic, rd_atomic->next_psn);
	a->len_bytes =
		RTE_MIN(rd_atomic->end_bytes - a->offset_bytes, qp->mtu_bytes);
	a->last = a->offset_bytes + a->len_bytes == rd_atomic->end_bytes;
	a->opcode = read_opcode(rd_atomic, a->last);
	if (a->len_bytes == 0)
		return true;
	a->payload =
		roost_mr_remote(qp->worker, rd_atomic->pd, qp->qpn,
				rd_atomic->rkey,
				rd_atomic->va + a->offset_bytes, a->len_bytes,
				a->len_bytes, ROOST_ACCESS_REMOTE_READ);
	if (unlikely(!a->payload))
		a->payload = suspect(qp, rd_atomic, a);
	return a->payload != NULL;
}

static size_t build_answer(struct roost_qp *qp,
			   const struct roost_resp_rd_atomic *rd_atomic,
			   const struct answer *a, uint8_t *buf, bool *sealed)
{
	uint8_t pad = (uint8_t)(-a->len_bytes & 3);
	uint8_t opcode = roost_qp_opcode(qp, a->opcode);
	const struct roost_opcode_info *op = &roost_opcodes[opcode];
	size_t ext = op->hdr_len_bytes - ROOST_BTH_LEN;
	struct roost_bth bth = {
		.opcode = opcode,
		.pad_bytes = pad,
		.migreq = qp->mig.state == ROOST_MIG_MIGRATED,
		.selective = qp->resp.selective,
		.pkey = qp->pkey,
		.dest_qpn = qp->dest_qpn,
		.psn = rd_atomic->next_psn,
	};
	size_t len = roost_hdr_emit(&qp->path.template, buf, &bth,
				    ext + a->len_bytes + pad);
	uint8_t *bth_at = buf + len - ROOST_BTH_LEN;
	struct roost_fill fill;

	ROOST_PROBE(packet_sent, qp->qpn, rd_atomic->next_psn.v, opcode,
		    a->len_bytes);
	if (op->hdrs & ROOST_HDR_BIT(AETH))
		roost_aeth_put(bth_at + op->hdr_off[ROOST_HDR_AETH],
			       ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
			       rd_atomic->msn);
	if (op->hdrs & ROOST_HDR_BIT(ATOMICACKETH))
		roost_atomicacketh_put(
			bth_at + op->hdr_off[ROOST_HDR_ATOMICACKETH],
			rd_atomic->orig);
	roost_fill_begin(&fill, &qp->path.template, buf, len + ext,
			 a->len_bytes);
	if (a->len_bytes > 0)
		roost_fill_copy(&fill, a->payload, a->len_bytes);
	roost_mr_note_fill(qp->dev, rd_atomic->rkey, &fill);
	return roost_fill_end(&fill, pad, sealed);
}

static void no_longer_pending(struct roost_qp *qp,
			      struct roost_resp_rd_atomic *rd_atomic)
{
	rd_atomic->pending = false;
	qp->resp.nb_rd_atomics_pending--;
}

static void answered(struct roost_qp *qp,
		     struct roost_resp_rd_atomic *rd_atomic, bool last)
{
	struct roost_responder *resp = &qp->resp;

	/* A response also acknowledges all PSNs before it. */
	if (resp->owed &&
	    (resp->owed_syndrome & ROOST_AETH_TYPE_MASK) == ROOST_AETH_ACK &&
	    roost_psn_diff(resp->owed_psn, rd_atomic->next_psn) < 0)
		resp->owed = false;
	rd_atomic->next_psn = roost_psn_add(rd_atomic->next_psn, 1);
	rd_atomic->begun = true;
	if (!last)
		return;
	if (rd_atomic->resume_bytes != 0) {
		rd_atomic->next_psn = rd_atomic->resume_psn;
		rd_atomic->end_bytes = rd_atomic->resume_bytes;
		rd_atomic->resume_bytes = 0;
		return;
	}
	no_longer_pending(qp, rd_atomic);
	rd_atomic->answered |= rd_atomic->end_bytes == rd_atomic->len_bytes;
}

/* The region was removed after the request was taken: treat the request as one
 * with a wrong key. A duplicate is just not answered.
 */
static void refuse(struct roost_worker *w, struct roost_qp *qp,
		   struct roost_resp_rd_atomic *rd_atomic)
{
	struct roost_responder *resp = &qp->resp;
	struct roost_psn psn = rd_atomic->next_psn;

	if (rd_atomic->answered) {
		no_longer_pending(qp, rd_atomic);
		roost_worker_drop(w, ROOST_DROP_DUPLICATE);
		return;
	}
	/* Remove this record and those behind it; all before it are answered.
	 */
	do
		resp->nb_rd_atomics--;
	while (rd_atomic_at(qp, resp->nb_rd_atomics) != rd_atomic);
	resp->nb_rd_atomics_pending = 0;
	resp->owed = false;
	roost_rd_atomic_blame(w, qp, rd_atomic);
	roost_qp_to_err(w, qp, ROOST_EVENT_QP_ACCESS_ERR);
	roost_resp_end(w, qp, ROOST_NAK_REM_ACCESS, psn);
}

/* Send one answer, up to *burst packets. Not inlined: most of the time there is
 * none.
 */
static __rte_noinline bool send_answer(struct roost_worker *w,
				       struct roost_qp *qp,
				       struct roost_resp_rd_atomic *rd_atomic,
				       unsigned int *burst)
{
	while (rd_atomic->pending && *burst > 0) {
		struct rte_mbuf *mbuf;
		struct answer a;
		bool sealed;
		size_t len;

		if (roost_pace_holds_answer(w, qp))
			return false;
		mbuf = roost_tx_mbuf(w, &qp->path);
		if (!mbuf)
			return false;
		if (!next_answer(qp, rd_atomic, &a)) {
			roost_mbuf_free(w, mbuf);
			refuse(w, qp, rd_atomic);
			break;
		}
		len = build_answer(qp, rd_atomic, &a,
				   rte_pktmbuf_mtod(mbuf, uint8_t *), &sealed);
		roost_mr_remote_done(w);
		mbuf->data_len = (uint16_t)len;
		mbuf->pkt_len = (uint32_t)len;
		roost_tx_queue(w, &qp->path, mbuf, sealed);
		if (unlikely(rd_atomic->answered))
			mbuf->port |= ROOST_AGAIN;
		roost_pace_answered(w, qp, len);
		answered(qp, rd_atomic, a.last);
		--*burst;
	}
	return !rd_atomic->pending;
}

bool roost_rd_atomic_send(struct roost_worker *w, struct roost_qp *qp,
			  unsigned int *burst)
{
	if (qp->resp.nb_rd_atomics_pending == 0)
		return true;
	roost_path_refresh(&qp->path);
	for (unsigned int i = 0; i < qp->resp.nb_rd_atomics; i++)
		if (rd_atomic_at(qp, i)->pending &&
		    !send_answer(w, qp, rd_atomic_at(qp, i), burst))
			return false;
	return true;
}
