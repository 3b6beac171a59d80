/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Recording the error of a QP. Called after errors only. Holder of the turn.
 */

#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/core/worker_base.h"

const struct roost_qp_error_info roost_qp_error_infos[ROOST_QPE_END] = {
#define X(number, NAME, word, finder, status, line)                            \
	[number] = { .name = (word),                                           \
		     .text = (line),                                           \
		     .found_by = ROOST_FOUND_BY_##finder,                      \
		     .wc_status = ROOST_WC_##status },
	ROOST_QP_ERRORS(X)
#undef X
};

static struct roost_qp_error *error_of(struct roost_qp *qp)
{
	return &roost_qp_trouble(qp)->error;
}

struct roost_qp_error *roost_qp_blame(struct roost_worker *w,
				      struct roost_qp *qp,
				      enum roost_qp_error_code code)
{
	struct roost_qp_error *e = error_of(qp);

	w->counters.errors[code]++;
	*e = (struct roost_qp_error){
		.code = (uint8_t)code,
		.at_ns = w->now_ns,
	};
	return e;
}

static void note_memory(struct roost_qp_error *e, uint64_t addr, uint32_t key,
			uint32_t len_bytes)
{
	e->has_memory = true;
	e->addr = addr;
	e->key = key;
	e->len_bytes = len_bytes;
}

/* Note the first SGE that cannot be accessed as a whole; the failed access was
 * to it, or to a part of it.
 */
static void note_sge(struct roost_qp *qp, const struct roost_pd *pd,
		     const struct roost_sge *sges, uint32_t nb_sges,
		     uint32_t access)
{
	struct roost_qp_error *e = error_of(qp);
	struct roost_place place;

	for (uint32_t i = 0; i < nb_sges; i++) {
		const struct roost_sge *s = &sges[i];

		if (s->len_bytes == 0 ||
		    roost_mr_access(qp->dev, pd, s->lkey, s->addr, s->len_bytes,
				    s->len_bytes, access) != NULL ||
		    roost_place_find(qp->dev, pd, s->lkey, s->addr,
				     s->len_bytes, access, &place))
			continue;
		note_memory(e, s->addr, s->lkey, s->len_bytes);
		e->why = (uint8_t)roost_key_why(qp->dev, pd, qp->qpn, s->lkey,
						s->addr, s->len_bytes, access);
		return;
	}
}

void roost_qp_end(struct roost_qp *qp, enum roost_qp_error_code code, int event)
{
	if (roost_qp_state_get(qp) == ROOST_QPS_ERR)
		return;
	roost_qp_blame(qp->worker, qp, code);
	roost_qp_to_err(qp->worker, qp, event);
}

/* ---- our requests ----------------------------------------------------- */

/* The opcode of the packet at psn; a request without PSNs yet counts as one
 * packet.
 */
static uint8_t opcode_at(struct roost_qp *qp, const struct roost_send_wqe *wqe,
			 struct roost_psn psn)
{
	const struct roost_wr_info *info = roost_wqe_info(wqe);
	bool first = roost_psn_eq(psn, wqe->first_psn);
	uint8_t base = info->middle;

	if (info->kind == ROOST_WR_KIND_RD_ATOMIC ||
	    qp->req.started_index == roost_req_tail(qp) ||
	    roost_psn_eq(wqe->first_psn, wqe->last_psn))
		base = info->only;
	else if (first)
		base = info->first;
	else if (roost_psn_eq(psn, wqe->last_psn))
		base = info->last;
	return roost_qp_opcode(qp, base);
}

static void note_wqe_memory(struct roost_qp *qp,
			    const struct roost_send_wqe *wqe)
{
	const struct roost_mw_bind_wqe *bind;
	struct roost_qp_error *e = error_of(qp);

	if (e->code == ROOST_QPE_LOCAL_MEMORY ||
	    e->code == ROOST_QPE_RESPONSE_MEMORY)
		note_sge(qp, qp->pd, roost_wqe_data(qp, wqe), wqe->nb_sges,
			 e->code == ROOST_QPE_LOCAL_MEMORY
				 ? 0
				 : ROOST_ACCESS_LOCAL_WRITE);
	else if (wqe->opcode == ROOST_WR_LOCAL_INV)
		note_memory(e, 0, wqe->imm_be, 0);
	else if (wqe->opcode == ROOST_WR_BIND_MW) {
		bind = roost_wqe_spill(qp, wqe);
		note_memory(e, bind->addr, bind->rkey,
			    (uint32_t)bind->len_bytes);
	} else if (qp->type != ROOST_QPT_UD && qp->type != ROOST_QPT_RAW &&
		   wqe->opcode != ROOST_WR_SEND &&
		   wqe->opcode != ROOST_WR_SEND_IMM &&
		   wqe->opcode != ROOST_WR_SEND_INV)
		note_memory(e, wqe->remote.va, wqe->remote.rkey,
			    wqe->len_bytes);
}

/* A response of another length than ours: the peer's path MTU differs. */
static bool is_of_other_mtu(const struct roost_qp *qp,
			    const struct roost_pkt *pkt)
{
	return pkt->info->flags & ROOST_OPF_LAST
		       ? pkt->payload_len_bytes > qp->mtu_bytes
		       : pkt->payload_len_bytes != qp->mtu_bytes;
}

static uint8_t why_of_request(const struct roost_qp *qp,
			      enum roost_qp_error_code code,
			      const struct roost_pkt *pkt)
{
	if (code == ROOST_QPE_RESPONSE_LENGTH && pkt &&
	    is_of_other_mtu(qp, pkt))
		return ROOST_WHY_PATH_MTU;
	if ((code == ROOST_QPE_NO_ANSWER || code == ROOST_QPE_NO_ALTERNATE) &&
	    roost_qp_port_is_down(qp))
		return ROOST_WHY_PORT_DOWN;
	return ROOST_WHY_NONE;
}

void roost_req_blame(struct roost_worker *w, struct roost_qp *qp,
		     enum roost_qp_error_code code, const struct roost_pkt *pkt)
{
	const struct roost_send_wqe *wqe =
		roost_req_wqe(qp, roost_req_tail(qp));
	struct roost_qp_error *e = roost_qp_blame(w, qp, code);
	struct roost_psn psn = qp->req.oldest_unacked_psn;

	/* A packet that cannot be made: its PSN is behind those in flight. */
	if (qp->req.fault)
		psn = qp->req.next_psn;
	if (pkt) {
		psn = pkt->psn;
		e->syndrome = pkt->info->op == ROOST_OP_ACK ? pkt->syndrome : 0;
		e->payload_bytes = pkt->payload_len_bytes;
	}
	e->why = why_of_request(qp, code, pkt);
	e->psn = psn.v;
	e->has_packet = roost_wqe_info(wqe)->kind != ROOST_WR_KIND_LOCAL;
	/* A wrong response: its own opcode; else the opcode of the request. */
	if (pkt && pkt->info->op != ROOST_OP_ACK)
		e->opcode = pkt->opcode;
	else if (e->has_packet)
		e->opcode = opcode_at(qp, wqe, psn);
	note_wqe_memory(qp, wqe);
}

/* ---- the peer's ------------------------------------------------------- */

static void note_pkt_memory(struct roost_qp *qp, const struct roost_pkt *pkt)
{
	const struct roost_responder *resp = &qp->resp;
	struct roost_qp_error *e = error_of(qp);
	uint32_t hdrs = pkt->info->hdrs;

	if (e->code == ROOST_QPE_INVALIDATE_KEY)
		note_memory(e, 0, pkt->inv_rkey, 0);
	else if (hdrs & ROOST_HDR_BIT(RETH))
		note_memory(e, pkt->va, pkt->rkey, pkt->dma_len_bytes);
	else if (hdrs & ROOST_HDR_BIT(ATOMICETH))
		note_memory(e, pkt->va, pkt->rkey, sizeof(uint64_t));
	else if (pkt->info->op == ROOST_OP_WRITE &&
		 e->code != ROOST_QPE_REQUEST_ORDER)
		note_memory(e, resp->va + resp->offset_bytes, resp->rkey,
			    pkt->payload_len_bytes);
}

void roost_resp_blame(struct roost_worker *w, struct roost_qp *qp,
		      enum roost_qp_error_code code, uint8_t syndrome,
		      const struct roost_pkt *pkt)
{
	struct roost_qp_error *e = roost_qp_blame(w, qp, code);
	const struct roost_recv_wqe *wqe;

	e->has_packet = true;
	e->psn = pkt->psn.v;
	e->opcode = pkt->opcode;
	e->syndrome = syndrome;
	e->payload_bytes = pkt->payload_len_bytes;
	e->why = (uint8_t)roost_resp_why(qp, code, pkt);
	if (code != ROOST_QPE_RECEIVE_MEMORY) {
		note_pkt_memory(qp, pkt);
		return;
	}
	wqe = roost_recv_wqe_in_use(qp);
	note_sge(qp, roost_recv_pd(qp), wqe->sges, wqe->nb_sges,
		 ROOST_ACCESS_LOCAL_WRITE);
}

void roost_rd_atomic_blame(struct roost_worker *w, struct roost_qp *qp,
			   const struct roost_resp_rd_atomic *rd_atomic)
{
	struct roost_qp_error *e =
		roost_qp_blame(w, qp, ROOST_QPE_REMOTE_KEY_GONE);

	e->has_packet = true;
	e->psn = rd_atomic->next_psn.v;
	e->opcode = roost_qp_opcode(qp, ROOST_OPCODE_RC_READ_REQ);
	e->syndrome = ROOST_NAK_REM_ACCESS;
	e->why = (uint8_t)roost_key_why(qp->dev, rd_atomic->pd, qp->qpn,
					rd_atomic->rkey, rd_atomic->va,
					rd_atomic->len_bytes,
					ROOST_ACCESS_REMOTE_READ);
	note_memory(e, rd_atomic->va, rd_atomic->rkey, rd_atomic->len_bytes);
}
