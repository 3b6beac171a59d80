/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/hold.h"
#include "tests/sim/sim.h"

/* As many packets as a QP may have unacknowledged. */
#define WINDOW_PKTS 256

static struct sim_qp *qp_by_number(struct sim *sim, uint32_t qpn)
{
	for (unsigned int i = 0; i < sim->nb_qps; i++)
		if (sim->qps[i] != NULL && sim->qps[i]->qpn == qpn)
			return sim->qps[i];
	return NULL;
}

static void check_outer(const struct sim_port *from, const uint8_t *data,
			const struct roost_frame *frame)
{
	const struct sim_end *ends = from->end->sim->ends;
	const struct sim_port *to =
		&ends[!from->end->side].ports[from->num - 1];

	assert_memory_equal(data + 6, from->mac, 6);
	if (roost_gid_is_multicast(&frame->dgid))
		return;
	assert_memory_equal(data, to->mac, 6);
	assert_true(frame->udp_src >= 0xc000);
	if (frame->ipv6) {
		assert_memory_equal(&frame->sgid, &from->gid6, 16);
		assert_memory_equal(&frame->dgid, &to->gid6, 16);
		return;
	}
	assert_memory_equal(&frame->sgid, &from->gid, 16);
	assert_memory_equal(&frame->dgid, &to->gid, 16);
	/* Don't fragment. */
	assert_int_equal(frame->l3[6] & 0xe0, 0x40);
}

uint32_t sim_read_psns(const struct sim_qp *qp, uint32_t len_bytes)
{
	uint32_t mtu_bytes = roost_mtu_bytes(qp->conf.mtu);

	return len_bytes == 0 ? 1 : (len_bytes + mtu_bytes - 1) / mtu_bytes;
}

/* A request is the next one, or one that was sent before and is repeated. */
static void check_psn(struct sim_qp *from, const struct roost_pkt *pkt)
{
	int32_t ahead = roost_psn_diff(pkt->psn, from->top_psn);
	int32_t window_pkts = WINDOW_PKTS;
	uint32_t psns = 1;

	if (pkt->info->op == ROOST_OP_READ_REQ)
		psns = sim_read_psns(from, pkt->dma_len_bytes);
	if ((int32_t)psns > from->read_psns)
		from->read_psns = (int32_t)psns;
	assert_true(ahead <= 0);
	/* A window goes on beyond what is received behind a loss. */
	if (from->end->dev->selective_repeat)
		window_pkts = (int32_t)ROOST_SPAN_PKTS;
	assert_true(ahead >= -(window_pkts + from->read_psns));
	if (ahead == 0)
		from->top_psn = roost_psn_add(pkt->psn, psns);
}

static void check_request(struct sim_qp *from, const struct roost_pkt *pkt)
{
	uint32_t mtu_bytes = roost_mtu_bytes(from->conf.mtu);

	if (pkt->info->flags & ROOST_OPF_LAST)
		assert_true(pkt->payload_len_bytes <= mtu_bytes);
	else
		assert_int_equal(pkt->payload_len_bytes, mtu_bytes);
	if (!(pkt->info->flags & ROOST_OPF_LAST))
		assert_false(pkt->solicited);
	else if (pkt->info->service != ROOST_SERVICE_UC)
		assert_true(pkt->ackreq);
	check_psn(from, pkt);
}

/* A QP that never had an alternate path is in state MIGRATED for ever. */
static void check_migreq(const struct sim_qp *to, const struct roost_pkt *pkt)
{
	if (to == NULL || to->peer == NULL || !to->peer->rearmed)
		assert_true(pkt->migreq);
}

/* IBTA A17.9.3, and the port's parameters. */
static void check_cnp(const struct sim_port *from,
		      const struct roost_frame *frame,
		      const struct roost_pkt *pkt)
{
	static const uint8_t zeros[ROOST_CNP_LEN];
	struct roost_ecn ecn;

	assert_int_equal(roost_port_query_ecn(from->end->dev, from->num, &ecn),
			 0);
	assert_int_equal(frame->tclass, ecn.cnp_dscp << 2);
	if (from->end->vlan_id != 0)
		assert_int_equal(frame->vlan_tci >> ROOST_VLAN_PCP_SHIFT,
				 ecn.cnp_802p_prio);
	assert_true(pkt->becn && !pkt->fecn);
	assert_false(pkt->solicited || pkt->migreq || pkt->ackreq);
	assert_int_equal(pkt->psn.v, 0);
	assert_int_equal(pkt->payload_len_bytes + pkt->pad_bytes, 0);
	assert_memory_equal(pkt->payload - ROOST_CNP_LEN, zeros, sizeof(zeros));
}

void sim_check_frame(const struct sim_port *from, const void *data, size_t len,
		     struct roost_pkt *pkt)
{
	struct roost_frame frame;
	struct sim_qp *to;

	assert_int_equal(roost_frame_parse(data, len, &frame),
			 ROOST_FRAME_ROCE);
	assert_int_equal(frame.l3_len_bytes,
			 len - (size_t)(frame.l3 - (const uint8_t *)data));
	assert_true(roost_frame_icrc_ok(&frame));
	assert_int_equal(roost_pkt_parse(&frame, pkt), ROOST_DROP_NONE);
	check_outer(from, data, &frame);

	assert_int_equal((pkt->payload_len_bytes + pkt->pad_bytes) % 4, 0);
	for (unsigned int i = 0; i < pkt->pad_bytes; i++)
		assert_int_equal(pkt->payload[pkt->payload_len_bytes + i], 0);
	assert_int_equal(pkt->pkey, 0xffff);
	to = qp_by_number(from->end->sim, pkt->dest_qpn);
	if (pkt->opcode == ROOST_OPCODE_CNP)
		check_cnp(from, &frame, pkt);
	else
		check_migreq(to, pkt);
	/* Its peer may have been destroyed. */
	if (to == NULL || to->peer == NULL || to->conf.type == ROOST_QPT_UD)
		return;
	assert_int_equal(to->end->side, !from->end->side);
	if (pkt->info->flags & ROOST_OPF_REQUEST)
		check_request(to->peer, pkt);
}

/* ---- frames of our own making --------------------------------------- */

struct roost_flow sim_flow_to(struct sim_qp *qp)
{
	const struct sim_end *to = qp->end, *from = qp->peer->end;
	struct roost_flow flow = {
		.sgid = qp->conf.ipv6 ? from->gid6 : from->gid,
		.dgid = qp->conf.ipv6 ? to->gid6 : to->gid,
		.hop_limit = 64,
		.udp_src = 0xc123,
	};

	memcpy(flow.src_mac, from->ports[0].mac, 6);
	memcpy(flow.dst_mac, to->ports[0].mac, 6);
	return flow;
}

void sim_forge_on(struct sim_qp *qp, const struct roost_flow *flow,
		  const struct roost_bth *bth, const void *after_bth,
		  size_t len)
{
	uint8_t frame[ROOST_FRAME_OVERHEAD_MAX + 8192];
	struct roost_hdr_template template;
	size_t at;

	assert_true(len <= 8192);
	roost_hdr_template_init(&template, flow);
	at = roost_hdr_emit(&template, frame, bth, len);
	if (len > 0)
		memcpy(frame + at, after_bth, len);
	at += len;
	roost_frame_seal(&template, frame, at);
	sim_link_put(qp->sim, qp->peer->end->side, frame, at + ROOST_ICRC_LEN);
}

void sim_forge(struct sim_qp *qp, const struct roost_bth *bth,
	       const void *after_bth, size_t len)
{
	struct roost_flow flow = sim_flow_to(qp);

	sim_forge_on(qp, &flow, bth, after_bth, len);
}

void sim_forge_ack(struct sim_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct roost_bth bth = {
		.opcode = ROOST_OPCODE_RC_ACK,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
		.psn = roost_psn(psn),
	};
	uint8_t aeth[ROOST_AETH_LEN];

	roost_aeth_put(aeth, syndrome, 0);
	sim_forge(qp, &bth, aeth, sizeof(aeth));
}
