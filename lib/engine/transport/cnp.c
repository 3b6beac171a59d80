/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Congestion notification packets. No allocation but mbufs, no system call, log
 * or lock.
 */

#include <rte_mbuf.h>

#include "lib/engine/cc/cc.h"
#include "lib/engine/cc/dcqcn.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/cnp_priv.h"
#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/share_priv.h"

#define HOP_LIMIT 64
#define UDP_SOURCE_MIN 0xc000u /* A17.9.1 */
/* QPNs 0 and 1 are of management. */
#define MANAGEMENT_QPN_MAX 1u

/* The way back to the sender of a datagram: by the neighbour that it came from,
 * because this QP need not have an AH for the sender.
 */
static void path_back(struct roost_worker *w, unsigned int port_index,
		      const struct roost_frame *frame, struct roost_path *path)
{
	const struct roost_port *port = &w->dev->ports[port_index];
	struct roost_flow flow = {
		.sgid = frame->dgid,
		.dgid = frame->sgid,
		.hop_limit = HOP_LIMIT,
		.flow_label = frame->flow_label,
		.udp_src = frame->udp_src | UDP_SOURCE_MIN,
	};

	memcpy(flow.dst_mac, frame->src_mac, sizeof(flow.dst_mac));
	roost_port_mac_get(port, flow.src_mac);
	roost_port_tag(port, &flow, 0); /* CNPs have a priority of their own */
	*path = (struct roost_path){ .port_index = (uint8_t)port_index };
	roost_hdr_template_init(&path->template, &flow);
}

/* Returns false: there is no room for the CNP now, or no way back. */
static bool send_cnp(struct roost_worker *w, struct roost_path *path,
		     uint16_t pkey, uint32_t dest_qpn)
{
	const struct roost_ecn *ecn = &w->dev->ports[path->port_index].ecn;
	struct roost_hdr_template template;
	int tx_left = w->tx_left;
	struct rte_mbuf *mbuf;
	size_t len;

	/* The budgets of an iteration are for what QPs send by themselves; the
	 * interval bounds CNPs.
	 */
	w->tx_left = 1;
	mbuf = roost_tx_mbuf(w, path);
	w->tx_left = tx_left;
	if (!mbuf)
		return false;
	roost_path_refresh(path);
	template = path->template;
	roost_hdr_template_set_tclass(&template, (uint8_t)(ecn->cnp_dscp << 2));
	roost_hdr_template_set_priority(&template, (uint8_t)ecn->cnp_802p_prio);
	len = roost_cnp_build(&template, rte_pktmbuf_mtod(mbuf, uint8_t *),
			      pkey, dest_qpn);
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	roost_tx_queue(w, path, mbuf, true);
	w->tx_left = tx_left;
	return true;
}

static bool answer_datagram(struct roost_worker *w, struct roost_qp *qp,
			    unsigned int port_index,
			    const struct roost_frame *frame,
			    const struct roost_pkt *pkt)
{
	struct roost_path path;

	if (pkt->qkey != qp->attr.qkey || pkt->src_qpn <= MANAGEMENT_QPN_MAX)
		return false;
	path_back(w, port_index, frame, &path);
	return send_cnp(w, &path, qp->pkey, pkt->src_qpn);
}

void roost_cnp_answer(struct roost_worker *w, struct roost_qp *qp,
		      unsigned int port_index, const struct roost_frame *frame,
		      const struct roost_pkt *pkt)
{
	const struct roost_ecn *ecn = &w->dev->ports[port_index].ecn;
	bool sent;

	w->counters.ecn_marked_pkts++;
	/* The window of the READs is here: their peer has none for answers. */
	if (ecn->roce_rp_enable != 0 && roost_qp_is_reliable(qp) &&
	    !(pkt->info->flags & ROOST_OPF_REQUEST))
		roost_window_marked(qp, pkt->info->op == ROOST_OP_READ_RESP
						? ROOST_SHARE_READS
						: ROOST_SHARE_SENDS);
	if (frame->looped || frame->from != 0 || ecn->roce_np_enable == 0 ||
	    w->now_ns < (qp->trouble ? qp->trouble : &w->untold)->cnp_at_ns)
		return;
	if (qp->type == ROOST_QPT_UD)
		sent = answer_datagram(w, qp, port_index, frame, pkt);
	else if (roost_path_fits(&qp->path, frame))
		sent = send_cnp(w, &qp->path, qp->pkey, qp->dest_qpn);
	else
		sent = send_cnp(w, &qp->alt->path, qp->mig.alt_pkey,
				qp->dest_qpn);
	if (!sent)
		return;
	roost_count(w, qp, cnps_sent);
	roost_flight_note(qp, ROOST_FLIGHT_CNP_SENT, 0, 0);
	roost_qp_trouble(qp)->cnp_at_ns =
		w->now_ns + ecn->min_time_between_cnps * 1000ull;
}

/* States of a QP whose peer may be told of its packets: a responder sends the
 * responses to READs from RTR on.
 */
#define STATES                                                                 \
	(1u << ROOST_QPS_RTR | 1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD |     \
	 1u << ROOST_QPS_SQE)

static void slow_down(struct roost_qp *qp, const struct roost_port *port)
{
	struct roost_pacer *pacer = roost_qp_pacer(qp);

	if (pacer)
		roost_dcqcn_on_cnp(&pacer->dcqcn, &port->ecn, port->speed_mbps,
				   qp->worker->now_ns);
}

enum roost_drop roost_cnp_receive(struct roost_worker *w, struct roost_qp *qp,
				  const struct roost_frame *frame,
				  const struct roost_pkt *pkt)
{
	const struct roost_port *port;
	enum roost_drop drop;

	if (!(STATES & 1u << roost_qp_state_get(qp)))
		return ROOST_DROP_QP_STATE;
	if (qp->type != ROOST_QPT_UD) {
		drop = roost_mig_check_source(qp, frame, pkt);
		if (drop != ROOST_DROP_NONE)
			return drop;
	}
	port = &w->dev->ports[qp->path.port_index];
	/* A UD QP does not know which of its destinations the CNP is about. */
	if (qp->type == ROOST_QPT_UD || port->ecn.roce_rp_enable == 0 ||
	    !pkt->becn) {
		w->counters.cnps_ignored++;
		return ROOST_DROP_NONE;
	}
	roost_count(w, qp, cnps_handled);
	roost_flight_note(qp, ROOST_FLIGHT_CNP_HANDLED, 0, 0);
	/* It is about requests, which have a window, if they alone are on their
	 * way.
	 */
	if (!roost_qp_is_reliable(qp) || port->ecn.dcqcn != 0 ||
	    !roost_req_has_unacked(qp) || qp->resp.nb_rd_atomics_pending != 0)
		slow_down(qp, port);
	roost_pace_set(qp);
	roost_window_marked(qp, ROOST_SHARE_SENDS);
	return ROOST_DROP_NONE;
}
