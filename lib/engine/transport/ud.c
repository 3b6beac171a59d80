/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: datagrams. No allocation, system call, log or lock. */

#include <netinet/in.h>

#include <rte_common.h>

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/wq_priv.h"

/* Room for a GRH stands before every datagram; an IPv4 header stands in its
 * last 20 bytes (IBTA A17.4.5.2).
 */
#define GRH_BYTES 40u

static void fill_grh(const struct roost_frame *frame, uint8_t grh[GRH_BYTES])
{
	size_t len = frame->ipv6 ? ROOST_IPV6_LEN : ROOST_IPV4_LEN;

	memset(grh, 0, GRH_BYTES - len);
	memcpy(grh + GRH_BYTES - len, frame->l3, len);
}

/* pd: the PD of the WQE's memory. */
static enum roost_fault store(struct roost_qp *qp, const struct roost_pd *pd,
			      const struct roost_recv_wqe *wqe,
			      const struct roost_frame *frame,
			      const struct roost_pkt *pkt)
{
	uint8_t grh[GRH_BYTES];

	if (wqe->len_bytes < GRH_BYTES + pkt->payload_len_bytes)
		return ROOST_FAULT_TOO_LONG;
	fill_grh(frame, grh);
	if (roost_sge_scatter(qp->dev, pd, wqe->sges, wqe->nb_sges, 0, grh,
			      GRH_BYTES) != ROOST_SGE_OK ||
	    roost_sge_scatter(qp->dev, pd, wqe->sges, wqe->nb_sges, GRH_BYTES,
			      pkt->payload,
			      pkt->payload_len_bytes) != ROOST_SGE_OK)
		return ROOST_FAULT_RECV_PROT;
	return ROOST_FAULT_NONE;
}

/* A QP with a table of WQs: an error stops the WQ; the QP and the other WQs go
 * on.
 */
static void receive_spread(struct roost_worker *w, struct roost_qp *qp,
			   const struct roost_frame *frame,
			   const struct roost_pkt *pkt)
{
	const size_t at = frame->ipv6 ? 0 : 12;
	struct roost_wq *wq =
		roost_ind_table_pick(qp->ind_table, qp->hash,
				     &(struct roost_hashed){
					     .src_ip = frame->sgid.b + at,
					     .dst_ip = frame->dgid.b + at,
					     .src_port = frame->udp_src,
					     .dst_port = ROOST_UDP_PORT,
					     .ip_version = frame->ipv6 ? 6 : 4,
					     .l4 = IPPROTO_UDP,
				     });
	const struct roost_recv_wqe *wqe = roost_wq_wqe(wq);
	struct roost_cqe cqe = {
		.src_qpn = pkt->src_qpn,
		.byte_len = GRH_BYTES + pkt->payload_len_bytes,
		.flags = ROOST_WC_GRH,
		.sl = roost_datagram_sl(pkt),
		.vlan_tci = pkt->vlan_tci,
		.solicited = pkt->solicited,
	};
	enum roost_qp_error_code error = ROOST_QPE_NONE;
	enum roost_fault fault;

	if (!wqe) {
		roost_worker_drop(w, ROOST_DROP_RNR_WAIT);
		return;
	}
	if (pkt->info->hdrs & ROOST_HDR_BIT(IMMDT)) {
		cqe.flags |= ROOST_WC_WITH_IMM;
		cqe.imm_be = pkt->imm_be;
	}
	fault = store(qp, wq->pd, wqe, frame, pkt);
	if (fault != ROOST_FAULT_NONE) {
		error = fault == ROOST_FAULT_TOO_LONG
				? ROOST_QPE_RECEIVE_LENGTH
				: ROOST_QPE_RECEIVE_MEMORY;
		w->counters.errors[error]++;
		cqe.status = roost_qp_error_infos[error].wc_status;
		cqe.vendor_err = error;
		cqe.solicited = true;
	}
	roost_wq_complete(w, wq, &cqe);
	if (fault == ROOST_FAULT_RECV_PROT)
		roost_wq_fail(w, wq, error);
}

void roost_ud_receive(struct roost_worker *w, struct roost_qp *qp,
		      const struct roost_frame *frame,
		      const struct roost_pkt *pkt)
{
	const struct roost_recv_wqe *wqe;
	enum roost_fault fault;

	if (pkt->qkey != qp->attr.qkey) {
		roost_worker_drop(w, ROOST_DROP_QKEY);
		roost_flight_drop_at(qp, frame, pkt, ROOST_DROP_QKEY);
		atomic_fetch_add_explicit(
			&qp->dev->ports[qp->attr.port_num - 1].qkey_violations,
			1, memory_order_relaxed);
		return;
	}
	if (qp->ind_table) {
		receive_spread(w, qp, frame, pkt);
		return;
	}
	wqe = roost_recv_wqe(qp, pkt);
	if (!wqe) {
		roost_worker_drop(w, ROOST_DROP_RNR_WAIT);
		roost_flight_drop_at(qp, frame, pkt, ROOST_DROP_RNR_WAIT);
		return;
	}
	qp->resp.offset_bytes = GRH_BYTES + pkt->payload_len_bytes;
	fault = store(qp, roost_recv_pd(qp), wqe, frame, pkt);
	if (fault == ROOST_FAULT_NONE) {
		roost_recv_complete(w, qp, pkt, ROOST_WC_SUCCESS);
	} else if (fault == ROOST_FAULT_TOO_LONG) {
		/* The QP stays: no datagram may stop the others. */
		roost_resp_blame(w, qp, ROOST_QPE_RECEIVE_LENGTH, 0, pkt);
		roost_recv_complete(w, qp, pkt, ROOST_WC_LOC_LEN_ERR);
	} else {
		roost_resp_blame(w, qp, ROOST_QPE_RECEIVE_MEMORY, 0, pkt);
		roost_recv_complete(w, qp, pkt, ROOST_WC_LOC_PROT_ERR);
		roost_qp_to_err(w, qp, -1);
	}
}
