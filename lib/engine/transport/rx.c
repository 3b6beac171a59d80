/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: once per received frame. No allocation, system call, log or lock. */

#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/transport/cnp_priv.h"
#include "lib/engine/transport/gsi_priv.h"
#include "lib/engine/core/ahead.h"
#include "lib/engine/core/in_place.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/raw_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/transport/rx_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/probe.h"

/* Which side of its service a QP takes: an XRC QP is only one of them. */
static const uint8_t takes[ROOST_QPT_COUNT] = {
	/* enum roost_opflag */
	[ROOST_QPT_RC] = ROOST_OPF_REQUEST | ROOST_OPF_RESPONSE,
	[ROOST_QPT_UC] = ROOST_OPF_REQUEST,
	[ROOST_QPT_UD] = ROOST_OPF_REQUEST,
	[ROOST_QPT_XRC_INI] = ROOST_OPF_RESPONSE,
	[ROOST_QPT_XRC_TGT] = ROOST_OPF_REQUEST,
};

/* States that take requests, and states that take responses. */
#define REQUEST_STATES                                                         \
	(1u << ROOST_QPS_RTR | 1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD |     \
	 1u << ROOST_QPS_SQE)
#define RESPONSE_STATES (1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD)

/* As check_frame(). whole_l3: the IP header in the whole frame, which has ICRC
 * and payload; NULL: that of *frame.
 */
static __rte_always_inline enum roost_drop
check_at(struct roost_dev *dev, unsigned int port_index, bool own,
	 const struct roost_frame *frame, const uint8_t *whole_l3,
	 struct roost_pkt *pkt, const struct roost_mcast_group **group)
{
	enum roost_drop drop;

	*group = NULL;
	if (unlikely(!own) &&
	    !roost_mcast_may_have(dev, port_index, &frame->dgid))
		return ROOST_DROP_NOT_OURS;
	if (!(whole_l3 ? roost_frame_icrc_ok_at(frame, whole_l3)
		       : roost_frame_icrc_ok(frame)))
		return ROOST_DROP_ICRC;
	if (unlikely(!own)) {
		*group = roost_mcast_find(dev, port_index, &frame->dgid);
		if (!*group)
			return ROOST_DROP_NOT_OURS;
	}
	drop = roost_pkt_parse(frame, pkt);
	if (drop == ROOST_DROP_NONE && pkt->payload_len_bytes > 0 &&
	    !(pkt->info->flags & ROOST_OPF_PAYLOAD))
		return ROOST_DROP_HDR_LEN;
	if (whole_l3)
		pkt->payload = whole_l3 + (pkt->payload - frame->l3);
	return drop;
}

/* A frame in place (lib/engine/core/in_place.h). */
static __rte_noinline enum roost_drop
check_in_place(struct roost_dev *dev, unsigned int port_index, bool own,
	       const struct roost_frame *frame, struct roost_pkt *pkt,
	       const struct roost_mcast_group **group)
{
	return check_at(dev, port_index, own, frame, frame->whole_l3, pkt,
			group);
}

/* The checks that need no QP: length, address, ICRC, opcode. own: it is for an
 * address of the port. group: the group
 * that the frame is for; NULL: it is for an address of the port.
 */
static enum roost_drop check_frame(struct roost_dev *dev,
				   unsigned int port_index, bool own,
				   const struct roost_frame *frame,
				   struct roost_pkt *pkt,
				   const struct roost_mcast_group **group)
{
	if (unlikely(frame->whole_l3 != NULL))
		return check_in_place(dev, port_index, own, frame, pkt, group);
	return check_at(dev, port_index, own, frame, NULL, pkt, group);
}

/* group: as of check_frame(). */
static enum roost_drop find_qp(struct roost_worker *w,
			       const struct roost_mcast_group *group,
			       const struct roost_pkt *pkt,
			       struct roost_qp **qp)
{
	if (unlikely(pkt->dest_qpn == 0))
		return ROOST_DROP_QPN_ZERO;
	/* A group is spoken to by its QPN alone (IBTA 10.5.2). */
	if (unlikely(group != NULL))
		return ROOST_DROP_QPN;
	*qp = roost_idmap_get(&w->dev->qps, pkt->dest_qpn);
	/* A QP that was created after the frame was sorted may belong to
	 * another worker.
	 */
	return !*qp || (*qp)->worker != w ? ROOST_DROP_QPN : ROOST_DROP_NONE;
}

/* Check the packet's service and the QP's state. */
static enum roost_drop check_qp(const struct roost_qp *qp,
				const struct roost_pkt *pkt)
{
	uint32_t states = pkt->info->flags & ROOST_OPF_REQUEST
				  ? REQUEST_STATES
				  : RESPONSE_STATES;

	if (pkt->info->service != roost_qp_services[qp->type] ||
	    !(pkt->info->flags & takes[qp->type]))
		return ROOST_DROP_QP_TYPE;
	if (!(states & 1u << roost_qp_state_get(qp)))
		return ROOST_DROP_QP_STATE;
	return ROOST_DROP_NONE;
}

/* A UD QP takes datagrams from every source on its own port, except frames from
 * outside with an address of this device.
 */
static enum roost_drop deliver_datagram(struct roost_worker *w,
					struct roost_qp *qp,
					unsigned int port_index,
					const struct roost_frame *frame,
					const struct roost_pkt *pkt)
{
	if (qp->attr.port_num != port_index + 1)
		return ROOST_DROP_QPN;
	if (roost_port_is_feigned(w->dev, port_index, frame))
		return ROOST_DROP_SRC_ADDR;
	if (!roost_pkey_match(qp->pkey, pkt->pkey))
		return ROOST_DROP_PKEY;
	roost_ud_receive(w, qp, frame, pkt);
	return ROOST_DROP_NONE;
}

/* A connected QP takes packets of its peer only. */
static enum roost_drop deliver_connected(struct roost_worker *w,
					 struct roost_qp *qp,
					 const struct roost_frame *frame,
					 const struct roost_pkt *pkt)
{
	enum roost_mig_from from = roost_mig_from(qp, frame);

	if (from == ROOST_FROM_STRANGER) {
		roost_mig_receive_unknown(qp, pkt);
		return ROOST_DROP_SRC_ADDR;
	}
	if (!roost_pkey_match(roost_mig_pkey(qp, from), pkt->pkey))
		return ROOST_DROP_PKEY;
	if (qp->mig.state != ROOST_MIG_MIGRATED)
		roost_mig_receive(w, qp, from, pkt);
	if (pkt->info->flags & ROOST_OPF_REQUEST)
		roost_resp_receive(w, qp, pkt);
	else
		roost_req_receive(w, qp, pkt);
	return ROOST_DROP_NONE;
}

/* A request to a QP in ERR: its peer may have missed the reason. */
static enum roost_drop deliver_late(struct roost_worker *w, struct roost_qp *qp,
				    const struct roost_frame *frame,
				    const struct roost_pkt *pkt)
{
	enum roost_drop drop;

	if (roost_qp_state_get(qp) != ROOST_QPS_ERR || qp->resp.ended == 0 ||
	    !(pkt->info->flags & ROOST_OPF_REQUEST))
		return ROOST_DROP_QP_STATE;
	drop = roost_mig_check_source(qp, frame, pkt);
	if (drop == ROOST_DROP_NONE)
		roost_resp_repeat(w, qp, pkt);
	return drop;
}

/* A report comes as acknowledgements do: from the peer, to a QP that may have
 * requests in flight.
 */
static enum roost_drop deliver_report(struct roost_worker *w,
				      struct roost_qp *qp,
				      const struct roost_frame *frame,
				      const struct roost_pkt *pkt)
{
	enum roost_drop drop;

	if (!(takes[qp->type] & ROOST_OPF_RESPONSE))
		return ROOST_DROP_QP_TYPE;
	if (!(RESPONSE_STATES & 1u << roost_qp_state_get(qp)))
		return ROOST_DROP_QP_STATE;
	drop = roost_mig_check_source(qp, frame, pkt);
	return drop == ROOST_DROP_NONE ? roost_req_report(w, qp, pkt) : drop;
}

static enum roost_drop deliver(struct roost_worker *w, struct roost_qp *qp,
			       unsigned int port_index,
			       const struct roost_frame *frame,
			       const struct roost_pkt *pkt)
{
	enum roost_drop drop = check_qp(qp, pkt);

	if (drop == ROOST_DROP_QP_STATE)
		return deliver_late(w, qp, frame, pkt);
	/* CNPs have a service of their own, which is that of no QP. */
	if (drop == ROOST_DROP_QP_TYPE && pkt->opcode == ROOST_OPCODE_CNP)
		return roost_cnp_receive(w, qp, frame, pkt);
	/* So have reports. */
	if (drop == ROOST_DROP_QP_TYPE && pkt->opcode == ROOST_OPCODE_REPORT)
		return deliver_report(w, qp, frame, pkt);
	if (drop != ROOST_DROP_NONE)
		return drop;
	if (qp->type == ROOST_QPT_UD)
		return deliver_datagram(w, qp, port_index, frame, pkt);
	return deliver_connected(w, qp, frame, pkt);
}

/* True for a multicast of the QP itself, if the QP has block_self_mcast. */
static bool is_blocked(const struct roost_qp *qp, const struct roost_port *port,
		       const struct roost_frame *frame,
		       const struct roost_pkt *pkt)
{
	return qp->block_self_mcast && pkt->src_qpn == qp->qpn &&
	       roost_port_owns(port, &frame->sgid);
}

/* Deliver to every member of the group that belongs to this worker. */
static enum roost_drop deliver_multicast(struct roost_worker *w,
					 const struct roost_mcast_group *group,
					 const struct roost_frame *frame,
					 const struct roost_pkt *pkt)
{
	unsigned int port_index = group->port_index;
	const struct roost_port *port = &w->dev->ports[port_index];
	enum roost_drop drop = ROOST_DROP_QPN, one;
	const struct roost_mcast *m;

	for (m = roost_turn_list_next(&group->members); m;
	     m = roost_turn_list_next(&m->link)) {
		if (m->qp->worker != w)
			continue;
		if (is_blocked(m->qp, port, frame, pkt))
			one = ROOST_DROP_NONE;
		else
			one = deliver(w, m->qp, port_index, frame, pkt);
		if (drop != ROOST_DROP_NONE)
			drop = one;
	}
	return drop;
}

/* A frame straight from another client of a shared port: the checks that the
 * switch makes of all others. The QP's address check follows.
 */
static __rte_noinline enum roost_drop
check_sender(const struct roost_port *port, const struct roost_frame *frame,
	     const struct roost_pkt *pkt, const struct roost_qp *qp)
{
	const struct roost_frame_io *io = &port->frame_io;
	const uint32_t qpn =
		qp->type == ROOST_QPT_UD ? pkt->src_qpn : qp->dest_qpn;
	uint8_t own[6];

	roost_neigh_mac(atomic_load_explicit(&port->own.mac_gen,
					     memory_order_relaxed),
			own);
	if (memcmp(frame->src_mac, own, sizeof(own)) != 0 ||
	    !roost_port_owns(port, &frame->sgid))
		return ROOST_DROP_SRC_ADDR;
	return io->may_send(io->ctx, frame->from, qpn) ? ROOST_DROP_NONE
						       : ROOST_DROP_QPN;
}

/* Its sender; 0: the switch has checked the frame, or there is none. */
static __rte_noinline uint32_t sender_of(struct rte_mbuf *mbuf, bool looped)
{
	return looped ? 0 : roost_in_place_from(mbuf);
}

static void receive(struct roost_worker *w, unsigned int port_index, bool own,
		    const struct roost_frame *frame)
{
	struct roost_port *port = &w->dev->ports[port_index];
	const struct roost_mcast_group *group;
	struct roost_pkt pkt;
	struct roost_qp *qp;
	enum roost_drop drop;

	drop = check_frame(w->dev, port_index, own, frame, &pkt, &group);
	if (unlikely(drop != ROOST_DROP_NONE))
		goto drop;
	ROOST_PROBE(packet_received, pkt.dest_qpn, pkt.psn.v, pkt.opcode,
		    pkt.payload_len_bytes);
	if (unlikely(pkt.dest_qpn == ROOST_GSI_QPN)) {
		drop = frame->from ? ROOST_DROP_QPN
				   : roost_gsi_take(w, port_index, frame, &pkt);
	} else if (unlikely(pkt.dest_qpn == ROOST_MCAST_QPN)) {
		drop = !group || frame->from
			       ? ROOST_DROP_QPN
			       : deliver_multicast(w, group, frame, &pkt);
	} else {
		drop = find_qp(w, group, &pkt, &qp);
		if (drop == ROOST_DROP_NONE && unlikely(frame->from != 0))
			drop = check_sender(port, frame, &pkt, qp);
		if (drop == ROOST_DROP_NONE)
			drop = deliver(w, qp, port_index, frame, &pkt);
		if (unlikely(roost_frame_is_marked(frame)) &&
		    drop == ROOST_DROP_NONE && pkt.opcode != ROOST_OPCODE_CNP)
			roost_cnp_answer(w, qp, port_index, frame, &pkt);
	}
	if (likely(drop == ROOST_DROP_NONE))
		return;
drop:
	roost_worker_drop(w, drop);
	roost_flight_drop(w, frame, &pkt, drop);
	if (drop == ROOST_DROP_PKEY)
		atomic_fetch_add_explicit(&port->bad_pkeys, 1,
					  memory_order_relaxed);
}

/*
 * A peer that sends RoCEv1 gets no answer, and its user does not see why. A few
 * of its frames (drop number 1, 2, 4, 8, ...) are punted, so that a line for
 * the user can be printed.
 */
static bool is_worth_telling(const struct roost_worker *w, enum roost_drop drop)
{
	const uint64_t nb = w->counters.drops[drop];

	return drop == ROOST_DROP_ROCE_V1 && (nb & (nb - 1)) == 0;
}

/* Also for a frame of another VLAN that is not RoCEv2, because it may be an ARP
 * or ND request for this port: one in 10 ms, whatever their number.
 */
#define STRAY_NS 10000000u

static bool is_stray_worth_telling(struct roost_worker *w,
				   enum roost_frame_class class,
				   enum roost_drop drop)
{
	if (class != ROOST_FRAME_OTHER || drop != ROOST_DROP_VLAN ||
	    w->now_ns < w->stray_at_ns)
		return false;
	w->stray_at_ns = w->now_ns + STRAY_NS;
	return true;
}

/* A frame with two tags is in no VLAN of ours: one may be behind the port. */
static bool is_behind(const struct roost_port *port,
		      const struct roost_frame *frame)
{
	return frame->drop == ROOST_DROP_QINQ && port->punts_vlans;
}

/* A frame of another VLAN is not for this port. A frame with two tags keeps its
 * own drop reason.
 */
static enum roost_frame_class class_by_vlan(const struct roost_port *port,
					    enum roost_frame_class class,
					    struct roost_frame *frame)
{
	if (roost_vlan_id(frame->vlan_tci) == port->vlan_id)
		return class;
	if (port->punts_vlans)
		return ROOST_FRAME_OTHER;
	if (class != ROOST_FRAME_BAD || frame->drop != ROOST_DROP_QINQ)
		frame->drop = ROOST_DROP_VLAN;
	return ROOST_FRAME_BAD;
}

static void punt(struct roost_worker *w, struct roost_port *port,
		 struct rte_mbuf *mbuf)
{
	w->counters.punted_pkts++;
	port->frame_io.punt(port->frame_io.ctx, mbuf);
}

static __rte_noinline enum roost_frame_class
parse_in_place(struct rte_mbuf *mbuf, struct roost_frame *frame)
{
	const uint8_t *copy = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	const uint8_t *whole = roost_in_place_frame(mbuf);
	enum roost_frame_class class;

	class = roost_frame_parse(copy, mbuf->pkt_len, frame);
	frame->whole_l3 =
		class == ROOST_FRAME_ROCE ? whole + (frame->l3 - copy) : whole;
	return class;
}

/* Where headers like these are remembered: any function of bytes that frames of
 * different flows and lengths may differ in.
 */
static struct roost_seen *place_of(struct roost_worker *w, const uint8_t *data,
				   size_t len)
{
	const unsigned int udp_src_low = ROOST_ETH_LEN + ROOST_IPV4_LEN + 1;
	const unsigned int length_low = ROOST_ETH_LEN + 3;
	unsigned int i = 0;

	if (likely(len > udp_src_low))
		i = data[udp_src_low] ^ data[length_low] >> 2;
	return &w->seen[i % ROOST_SEEN_MAX];
}

/* Parse the outer headers, unless equal ones were parsed before. */
static enum roost_frame_class parse(struct roost_seen *seen, unsigned int from,
				    const uint8_t *data, size_t len)
{
	enum roost_frame_class class = ROOST_FRAME_ROCE;

	if (unlikely(seen->from != from ||
		     !roost_frame_is_known(&seen->known, data, len))) {
		class = roost_frame_learn(&seen->known, data, len);
		seen->from = from;
		seen->is_own = false;
	}
	seen->known.frame.whole_l3 = NULL;
	return class;
}

/* Is it for an address of the port? */
static bool is_own(struct roost_seen *seen, struct roost_dev *dev,
		   const struct roost_port *port)
{
	uint32_t gid_gen =
		atomic_load_explicit(&dev->gid_gen, memory_order_relaxed);

	if (likely(seen->is_own && seen->gid_gen == gid_gen))
		return true;
	seen->is_own = roost_port_owns(port, &seen->known.frame.dgid);
	seen->gid_gen = gid_gen;
	return seen->is_own;
}

/* Take a ROOST_FRAME_ROCE. */
static void take(struct roost_worker *w, struct roost_seen *seen,
		 unsigned int from, struct rte_mbuf *mbuf)
{
	const unsigned int port_index = from & ROOST_PORT_MASK;
	struct roost_port *port = &w->dev->ports[port_index];
	struct roost_frame *frame = &seen->known.frame;

	frame->looped = from & ROOST_LOOPED;
	frame->from = 0;
	if (unlikely(port->frame_io.may_send != NULL))
		frame->from = sender_of(mbuf, frame->looped);
	w->counters.rx_pkts++;
	w->counters.rx_bytes += mbuf->pkt_len;
	receive(w, port_index, is_own(seen, w->dev, port), frame);
}

void roost_rx_frame(struct roost_worker *w, unsigned int from,
		    struct rte_mbuf *mbuf)
{
	const unsigned int port_index = from & ROOST_PORT_MASK;
	struct roost_port *port = &w->dev->ports[port_index];
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	const size_t len = rte_pktmbuf_data_len(mbuf);
	struct roost_seen *seen = place_of(w, data, len);
	struct roost_frame *frame = &seen->known.frame;
	enum roost_frame_class class = parse(seen, from, data, len);

	if (unlikely(port->has_flows) &&
	    roost_raw_receive(w, from, class, frame, mbuf)) {
		roost_mbuf_free(w, mbuf);
		return;
	}
again:
	switch (class_by_vlan(port, class, frame)) {
	case ROOST_FRAME_OTHER:
		punt(w, port, mbuf);
		return;
	case ROOST_FRAME_BAD:
		/* The copy of the headers is too short for a frame. */
		if (roost_is_in_place(mbuf) && !frame->whole_l3) {
			class = parse_in_place(mbuf, frame);
			goto again;
		}
		if (is_behind(port, frame)) {
			punt(w, port, mbuf);
			return;
		}
		roost_worker_drop(w, frame->drop);
		if (is_worth_telling(w, frame->drop) ||
		    is_stray_worth_telling(w, class, frame->drop)) {
			port->frame_io.punt(port->frame_io.ctx, mbuf);
			return;
		}
		break;
	case ROOST_FRAME_ROCE:
		take(w, seen, from, mbuf);
		break;
	}
	roost_mbuf_free(w, mbuf);
}

void roost_rx_burst(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n)
{
	if (n > 1 && roost_ahead_pays(w) &&
	    roost_rx_ahead(w, port_index, pkts, n))
		return;
	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 1], void *));
		roost_rx_frame(w, port_index, pkts[i]);
	}
}

void roost_rx_each(struct roost_worker *w, struct rte_mbuf **pkts,
		   unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 1], void *));
		if (unlikely(pkts[i]->port &
			     (ROOST_RAW_SNIFFED | ROOST_RAW_LED)))
			roost_raw_passed(w, pkts[i]);
		else
			roost_rx_frame(w, pkts[i]->port, pkts[i]);
	}
}
