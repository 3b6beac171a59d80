/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: answers to the peer's requests. */

#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/mbuf.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/core/probe.h"

static bool is_ack(uint8_t syndrome)
{
	return (syndrome & ROOST_AETH_TYPE_MASK) == ROOST_AETH_ACK;
}

void roost_ack_owe(struct roost_worker *w, struct roost_qp *qp,
		   uint8_t syndrome, struct roost_psn psn)
{
	struct roost_responder *resp = &qp->resp;

	/* A NAK includes everything that an earlier ACK says. */
	if (resp->owed && is_ack(syndrome) && !is_ack(resp->owed_syndrome) &&
	    roost_psn_diff(psn, resp->owed_psn) < 0)
		return;
	resp->owed = true;
	resp->owed_syndrome = syndrome;
	resp->owed_psn = psn;
	roost_worker_want_ack(w, qp);
}

/* The NAK is sent after the answers to earlier requests. */
void roost_resp_end(struct roost_worker *w, struct roost_qp *qp,
		    uint8_t syndrome, struct roost_psn psn)
{
	qp->resp.ended = syndrome;
	qp->resp.expected_psn = psn;
	roost_ack_owe(w, qp, syndrome, psn);
}

static void count(struct roost_worker *w, struct roost_qp *qp, uint8_t syndrome)
{
	switch (syndrome & ROOST_AETH_TYPE_MASK) {
	case ROOST_AETH_ACK:
		w->counters.acks_sent++;
		break;
	case ROOST_AETH_RNR_NAK:
		roost_count(w, qp, rnr_naks_sent);
		roost_flight_note(qp, ROOST_FLIGHT_NAK_SENT, syndrome,
				  qp->resp.owed_psn.v);
		break;
	default:
		w->counters.naks_sent++;
		roost_count(w, qp, naks_sent_of[syndrome % ROOST_NAK_KINDS]);
		roost_flight_note(qp, ROOST_FLIGHT_NAK_SENT, syndrome,
				  qp->resp.owed_psn.v);
		break;
	}
}

/* What of the requests behind a gap has come. */
static __rte_noinline bool send_report(struct roost_worker *w,
				       struct roost_qp *qp)
{
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_REPORT,
		.migreq = qp->mig.state == ROOST_MIG_MIGRATED,
		.selective = true,
		.pkey = qp->pkey,
		.dest_qpn = qp->dest_qpn,
		.psn = qp->resp.expected_psn,
	};
	uint8_t bits[ROOST_REPORT_MAX_BITS / 8], *buf;
	size_t nb = roost_resp_report(qp, bits), len;
	struct rte_mbuf *mbuf = roost_tx_mbuf(w, &qp->path);

	if (!mbuf)
		return false;
	roost_path_refresh(&qp->path);
	buf = rte_pktmbuf_mtod(mbuf, uint8_t *);
	len = roost_hdr_emit(&qp->path.template, buf, &bth, nb);
	memcpy(buf + len, bits, nb);
	len += nb + ROOST_ICRC_LEN;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	roost_tx_queue(w, &qp->path, mbuf, false);
	roost_count(w, qp, reports_sent);
	qp->resp.report = false;
	return true;
}

static bool send_ack(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_responder *resp = &qp->resp;
	const struct roost_bth bth = {
		.opcode = roost_qp_opcode(qp, ROOST_OPCODE_RC_ACK),
		.migreq = qp->mig.state == ROOST_MIG_MIGRATED,
		.selective = resp->selective,
		.pkey = qp->pkey,
		.dest_qpn = qp->dest_qpn,
		.psn = resp->owed_psn,
	};
	struct rte_mbuf *mbuf;
	uint8_t *buf;
	size_t len;

	mbuf = roost_tx_mbuf(w, &qp->path);
	if (!mbuf)
		return false;
	roost_path_refresh(&qp->path);
	buf = rte_pktmbuf_mtod(mbuf, uint8_t *);
	len = roost_hdr_emit(&qp->path.template, buf, &bth, ROOST_AETH_LEN);
	roost_aeth_put(buf + len, resp->owed_syndrome, resp->msn);
	len += ROOST_AETH_LEN + ROOST_ICRC_LEN;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	roost_tx_queue(w, &qp->path, mbuf, false);
	ROOST_PROBE(packet_sent, qp->qpn, bth.psn.v, bth.opcode, 0);
	count(w, qp, resp->owed_syndrome);
	resp->owed = false;
	return true;
}

bool roost_ack_send(struct roost_worker *w, struct roost_qp *qp,
		    unsigned int *burst)
{
	struct roost_responder *resp = &qp->resp;

	/* Answers keep the order of their requests. */
	if (!roost_rd_atomic_send(w, qp, burst))
		return roost_pace_holds_answer(w, qp);
	if (resp->owed && !send_ack(w, qp))
		return false;
	return likely(!resp->report) || send_report(w, qp);
}
