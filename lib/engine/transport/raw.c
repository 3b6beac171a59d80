/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot, where there are flow rules: no allocation but mbufs, no system call, log
 * or lock.
 */

#include <errno.h>
#include <netinet/in.h>

#include <isa-l/crc.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/core/transport.h"
#include "lib/engine/core/wq_priv.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/raw_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/wire/bytes.h"

#define RECEIVE_STATES                                                         \
	(1u << ROOST_QPS_RTR | 1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD |     \
	 1u << ROOST_QPS_SQE)

/* Where the first tag of an Ethernet frame would be. */
#define TAG_AT 12u

/* ---- sending ------------------------------------------------------------ */

int roost_raw_check(const struct roost_qp *qp, const struct roost_send_wr *wr,
		    uint32_t len_bytes)
{
	const struct roost_tso *tso = &wr->tso;

	if (wr->opcode != ROOST_WR_TSO)
		return len_bytes < ROOST_ETH_LEN ? -EINVAL : 0;
	return tso->mss_bytes == 0 || len_bytes > ROOST_TSO_MAX_BYTES ||
			       wr->flags & ROOST_SEND_INLINE ||
			       tso->header_bytes > qp->max_tso_header_bytes ||
			       !roost_raw_tso_is_header(tso->header,
							tso->header_bytes)
		       ? -EINVAL
		       : 0;
}

uint32_t roost_raw_frames(const struct roost_send_wqe *wqe)
{
	const uint32_t mss = wqe->tso.mss_bytes;

	if (wqe->opcode != ROOST_WR_TSO || wqe->len_bytes == 0)
		return 1;
	return (wqe->len_bytes + mss - 1) / mss;
}

uint32_t roost_raw_frame_bytes(const struct roost_send_wqe *wqe)
{
	if (wqe->opcode != ROOST_WR_TSO)
		return wqe->len_bytes;
	return wqe->tso.header_bytes +
	       RTE_MIN(wqe->len_bytes, (uint32_t)wqe->tso.mss_bytes);
}

static size_t build_segment(struct roost_qp *qp,
			    const struct roost_send_wqe *wqe, uint32_t index,
			    bool is_last, uint8_t *buf)
{
	const struct roost_sge *sges = roost_wqe_data(qp, wqe);
	const uint32_t offset = index * wqe->tso.mss_bytes;
	const uint32_t len =
		is_last ? wqe->len_bytes - offset : wqe->tso.mss_bytes;
	const size_t frame_bytes = wqe->tso.header_bytes + len;
	struct roost_fill fill;

	roost_fill_begin(&fill, &qp->path.template, buf, 0, 0);
	roost_fill_copy(&fill, (const uint8_t *)(sges + wqe->nb_sges),
			wqe->tso.header_bytes);
	if (roost_sge_gather(qp->dev, qp->pd, sges, wqe->nb_sges, offset, &fill,
			     len) != ROOST_SGE_OK)
		return 0;
	roost_raw_tso_segment(buf, frame_bytes, index, offset, is_last);
	return frame_bytes;
}

size_t roost_raw_build(struct roost_qp *qp, const struct roost_send_wqe *wqe,
		       uint32_t index, bool is_last, uint8_t *buf)
{
	struct roost_fill fill;

	if (wqe->opcode == ROOST_WR_TSO)
		return build_segment(qp, wqe, index, is_last, buf);
	/* No payload is announced, so that nothing is folded into an ICRC. */
	roost_fill_begin(&fill, &qp->path.template, buf, 0, 0);
	if (wqe->flags & ROOST_SEND_INLINE)
		roost_fill_copy(&fill, roost_wqe_data(qp, wqe), wqe->len_bytes);
	else if (roost_sge_gather(qp->dev, qp->pd, roost_wqe_data(qp, wqe),
				  wqe->nb_sges, 0, &fill,
				  wqe->len_bytes) != ROOST_SGE_OK)
		return 0;
	if (wqe->flags & ROOST_SEND_IP_CSUM)
		roost_raw_csum_fill(buf, wqe->len_bytes);
	return wqe->len_bytes;
}

/* ---- receiving ---------------------------------------------------------- */

/* A frame for rules. */
struct raw {
	struct rte_mbuf *mbuf;
	const uint8_t *head; /* private memory: all fields of key */
	struct roost_flow_key key;
	uint8_t csum; /* ROOST_WC_IP_CSUM_OK, if they are */
	bool summed;  /* csum is known */
};

static void begin(struct raw *raw, struct rte_mbuf *mbuf)
{
	*raw = (struct raw){
		.mbuf = mbuf,
		.head = rte_pktmbuf_mtod(mbuf, const uint8_t *),
	};
	roost_flow_key_read(&raw->key, raw->head, mbuf->data_len);
}

/* The NIC's word, or our own sums. */
static uint8_t csum_flag(struct raw *raw)
{
	const uint64_t good =
		RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	const struct rte_mbuf *mbuf = raw->mbuf;

	if (raw->summed)
		return raw->csum;
	raw->summed = true;
	if ((mbuf->ol_flags & good) == good ||
	    (mbuf->data_len == mbuf->pkt_len &&
	     roost_raw_csum_ok(raw->head, mbuf->data_len)))
		raw->csum = ROOST_WC_IP_CSUM_OK;
	return raw->csum;
}

/* Where a frame goes, piece by piece. */
struct store {
	struct roost_dev *dev;
	const struct roost_pd *pd;
	const struct roost_recv_wqe *wqe;
	uint32_t at; /* offset of the next byte */
	enum roost_sge_fault fault;
	uint32_t skip_end; /* bytes [TAG_AT, skip_end) are left out; 0: none */
	uint32_t fcs;      /* of the frame so far */
};

static void put(struct store *s, const uint8_t *data, uint32_t len)
{
	if (s->fault == ROOST_SGE_OK)
		s->fault = roost_sge_scatter(s->dev, s->pd, s->wqe->sges,
					     s->wqe->nb_sges, s->at, data, len);
	s->at += len;
}

/* The bytes from offset on, all before those of the next call. */
static void put_piece(struct store *s, uint8_t flags, const uint8_t *data,
		      uint32_t offset, uint32_t len)
{
	uint32_t head = 0;

	if (flags & ROOST_STORE_FCS)
		s->fcs = crc32_gzip_refl(s->fcs, data, len);
	/* A tag is in the first piece, where rules have read it. */
	if (offset == 0 && s->skip_end != 0) {
		put(s, data, TAG_AT);
		head = s->skip_end;
	}
	put(s, data + head, len - head);
}

static bool has_cvlan(const struct raw *raw)
{
	return raw->key.is_tagged != 0 &&
	       roost_be16_get(raw->head + TAG_AT) == RTE_ETHER_TYPE_VLAN;
}

/* flags: enum roost_store_flags. cqe->byte_len: what it would take. */
static enum roost_qp_error_code scatter(struct roost_qp *qp,
					const struct roost_pd *pd,
					const struct roost_recv_wqe *wqe,
					uint8_t flags, struct raw *raw,
					struct roost_cqe *cqe)
{
	struct rte_mbuf *mbuf = raw->mbuf;
	const uint32_t len = mbuf->pkt_len;
	struct store s = { .dev = qp->dev, .pd = pd, .wqe = wqe };
	const uint8_t *rest = NULL;
	uint32_t offset = 0;

	if (flags & ROOST_STORE_STRIP_CVLAN && has_cvlan(raw))
		s.skip_end = TAG_AT + RTE_VLAN_HLEN;
	cqe->byte_len = len - (s.skip_end != 0 ? RTE_VLAN_HLEN : 0) +
			(flags & ROOST_STORE_FCS ? RTE_ETHER_CRC_LEN : 0);
	if (wqe->len_bytes < cqe->byte_len)
		return ROOST_QPE_RECEIVE_LENGTH;
	/* The bytes that rules were compared with, and the others behind. */
	if (roost_is_in_place(mbuf))
		rest = roost_in_place_frame(mbuf);
	for (; mbuf; mbuf = mbuf->next) {
		put_piece(&s, flags, rte_pktmbuf_mtod(mbuf, const uint8_t *),
			  offset, mbuf->data_len);
		offset += mbuf->data_len;
	}
	if (rest)
		put_piece(&s, flags, rest + offset, offset, len - offset);
	if (flags & ROOST_STORE_FCS) {
		const rte_le32_t fcs = rte_cpu_to_le_32(s.fcs);

		put(&s, (const uint8_t *)&fcs, sizeof(fcs));
	}
	return s.fault == ROOST_SGE_OK ? ROOST_QPE_NONE
				       : ROOST_QPE_RECEIVE_MEMORY;
}

/* As the receive queue of the QP, its WQs stay whatever happens to one frame.
 */
static void store_spread(struct roost_worker *w, struct roost_qp *qp,
			 struct raw *raw, struct roost_cqe *cqe)
{
	const struct roost_flow_key *key = &raw->key;
	struct roost_wq *wq = roost_ind_table_pick(
		qp->ind_table, qp->hash,
		&(struct roost_hashed){
			.src_ip = key->src_ip,
			.dst_ip = key->dst_ip,
			.src_port = roost_be16_get(key->src_port),
			.dst_port = roost_be16_get(key->dst_port),
			.ip_version = key->ip_version,
			.l4 = key->l4,
		});
	const struct roost_recv_wqe *wqe = roost_wq_wqe(wq);
	enum roost_qp_error_code error;

	if (!wqe) {
		roost_worker_drop(w, ROOST_DROP_RNR_WAIT);
		return;
	}
	error = scatter(qp, wq->pd, wqe, wq->store_flags, raw, cqe);
	if (error != ROOST_QPE_NONE) {
		w->counters.errors[error]++;
		cqe->status = roost_qp_error_infos[error].wc_status;
		cqe->vendor_err = (uint8_t)error;
		cqe->flags = 0;
		cqe->solicited = true;
	}
	roost_wq_complete(w, wq, cqe);
}

/* As with datagrams, the QP stays whatever happens to one frame. */
static void store(struct roost_worker *w, const struct roost_flow_rule *flow,
		  struct raw *raw)
{
	struct roost_qp *qp = flow->qp;
	struct roost_cqe cqe = {
		.imm_be = flow->init.tag,
		.opcode = ROOST_WC_RECV,
		.flags = csum_flag(raw),
		.vlan_tci = roost_be16_get(raw->key.vlan_tci),
	};
	const struct roost_recv_wqe *wqe;
	enum roost_qp_error_code error;

	if (qp->ind_table) {
		store_spread(w, qp, raw, &cqe);
		return;
	}
	wqe = roost_recv_wqe(qp, NULL);
	if (!wqe) {
		roost_worker_drop(w, ROOST_DROP_RNR_WAIT);
		return;
	}
	error = scatter(qp, roost_recv_pd(qp), wqe, qp->store_flags, raw, &cqe);
	if (error != ROOST_QPE_NONE) {
		roost_qp_blame(w, qp, error);
		cqe.status = roost_qp_error_infos[error].wc_status;
		cqe.flags = 0;
	}
	roost_recv_complete_raw(w, qp, &cqe);
}

static void deliver(struct roost_worker *w, const struct roost_flow_rule *flow,
		    struct raw *raw)
{
	struct roost_flow_counters *counters = flow->init.counters;

	if (counters) {
		atomic_fetch_add_explicit(&counters->pkts, 1,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&counters->bytes, raw->mbuf->pkt_len,
					  memory_order_relaxed);
	}
	/* With a table the states are those of its WQs. */
	if (!flow->init.drops &&
	    (flow->qp->ind_table ||
	     RECEIVE_STATES & 1u << roost_qp_state_get(flow->qp)))
		store(w, flow, raw);
}

/* Who has the turn of another worker than the first only asks. */
static bool is_asking(const struct roost_worker *w)
{
	return w->index != 0;
}

/* Returns true if a sniffer wants the frame. */
static bool sniff(struct roost_worker *w, const struct roost_port *port,
		  struct raw *raw)
{
	const struct roost_flow_rule *flow;

	if (!port->has_sniffers)
		return false;
	for (flow = roost_turn_list_next(&port->flows.sniffers); flow;
	     flow = roost_turn_list_next(&flow->link))
		if (!is_asking(w))
			deliver(w, flow, raw);
	return true;
}

/* ARP, and ICMPv6 with Neighbour Discovery: the port needs them, too. */
static bool is_of_host(const struct roost_flow_key *key)
{
	return roost_be16_get(key->ether_type) == RTE_ETHER_TYPE_ARP ||
	       (key->ip_version == 6 && key->ip_proto == IPPROTO_ICMPV6);
}

/*
 * The rules of the first rank that fits have the frame, all of them; then those
 * of the next ranks, until one of a rank traps it. from: the sender's context,
 * whose rules do not count; NULL: the frame was received. *wanted: set if any
 * fits. Returns true if the frame is trapped.
 */
static bool lead(struct roost_worker *w, const struct roost_port *port,
		 const struct roost_ctx *from, struct raw *raw, bool *wanted)
{
	const struct roost_flow_rule *flow;
	bool trapped = false;
	uint32_t rank = 0;

	for (flow = roost_turn_list_next(&port->flows.rules); flow;
	     flow = roost_turn_list_next(&flow->link)) {
		if (trapped && flow->rank != rank)
			break;
		if (flow->qp->pd->ctx == from ||
		    !roost_flow_matches(flow, &raw->key))
			continue;
		rank = flow->rank;
		trapped |= flow->init.type == ROOST_FLOW_NORMAL &&
			   !flow->init.dont_trap;
		*wanted = true;
		if (!is_asking(w))
			deliver(w, flow, raw);
	}
	return trapped && !is_of_host(&raw->key);
}

/* ---- other workers ------------------------------------------------------ */

static struct rte_mbuf *copy_of(struct roost_worker *w, struct rte_mbuf *mbuf)
{
	struct rte_mempool *pool = w->dev->pool;
	struct rte_mbuf *copy;
	uint8_t *to;

	if (!roost_is_in_place(mbuf))
		return rte_pktmbuf_copy(mbuf, pool, 0, UINT32_MAX);
	copy = rte_pktmbuf_alloc(pool);
	if (!copy)
		return NULL;
	to = mbuf->pkt_len > UINT16_MAX
		     ? NULL
		     : (uint8_t *)rte_pktmbuf_append(copy,
						     (uint16_t)mbuf->pkt_len);
	if (!to) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	memcpy(to, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len);
	memcpy(to + mbuf->data_len, roost_in_place_frame(mbuf) + mbuf->data_len,
	       mbuf->pkt_len - mbuf->data_len);
	return copy;
}

/* bits: ROOST_RAW_SNIFFED or ROOST_RAW_LED. */
static void pass(struct roost_worker *w, unsigned int port_index,
		 struct rte_mbuf *mbuf, unsigned int bits)
{
	struct rte_mbuf *copy = copy_of(w, mbuf);

	if (!copy) {
		roost_worker_drop(w, ROOST_DROP_NO_BUFFER);
		return;
	}
	copy->port = (uint16_t)(port_index | bits);
	roost_worker_pass(w, 0, copy);
}

void roost_raw_passed(struct roost_worker *w, struct rte_mbuf *mbuf)
{
	struct roost_port *port = &w->dev->ports[mbuf->port & ROOST_PORT_MASK];
	bool wanted;
	struct raw raw;

	begin(&raw, mbuf);
	sniff(w, port, &raw);
	if (mbuf->port & ROOST_RAW_LED)
		lead(w, port, NULL, &raw, &wanted);
	roost_mbuf_free(w, mbuf);
}

/* ---- which frames are the rules' ----------------------------------------- */

/* Frames of RoCE for this device are led to no other QP than their own, as in a
 * NIC with RDMA.
 */
static bool is_roce(struct roost_dev *dev, unsigned int port_index,
		    enum roost_frame_class class,
		    const struct roost_frame *parsed)
{
	const struct roost_port *port = &dev->ports[port_index];

	if (class == ROOST_FRAME_BAD)
		return parsed->drop != ROOST_DROP_QINQ;
	return class == ROOST_FRAME_ROCE &&
	       roost_vlan_id(parsed->vlan_tci) == port->vlan_id &&
	       (roost_port_owns(port, &parsed->dgid) ||
		roost_mcast_may_have(dev, port_index, &parsed->dgid));
}

bool roost_raw_receive(struct roost_worker *w, unsigned int from,
		       enum roost_frame_class class,
		       const struct roost_frame *parsed, struct rte_mbuf *mbuf)
{
	const unsigned int port_index = from & ROOST_PORT_MASK;
	const struct roost_port *port = &w->dev->ports[port_index];
	bool is_led = !is_roce(w->dev, port_index, class, parsed);
	bool wanted = false, trapped = false;
	struct raw raw;

	begin(&raw, mbuf);
	/* Those that went to a group were seen when they left. */
	if (!(from & ROOST_LOOPED && raw.key.dst_mac[0] & 1))
		wanted = sniff(w, port, &raw);
	if (is_led)
		trapped = lead(w, port, NULL, &raw, &wanted);
	if (wanted && is_asking(w))
		pass(w, port_index, mbuf,
		     is_led ? ROOST_RAW_LED : ROOST_RAW_SNIFFED);
	return trapped;
}

void roost_raw_sniff(struct roost_worker *w, unsigned int port_index,
		     struct rte_mbuf **frames, unsigned int n)
{
	const struct roost_port *port = &w->dev->ports[port_index];
	struct raw raw;

	for (unsigned int i = 0; i < n; i++) {
		begin(&raw, frames[i]);
		if (sniff(w, port, &raw) && is_asking(w))
			pass(w, port_index, frames[i], ROOST_RAW_SNIFFED);
	}
}

void roost_raw_turn_back(struct roost_worker *w, const struct roost_qp *qp,
			 struct rte_mbuf *frame)
{
	bool wanted;
	struct raw raw;

	begin(&raw, frame);
	lead(w, &w->dev->ports[qp->path.port_index], qp->pd->ctx, &raw,
	     &wanted);
}
