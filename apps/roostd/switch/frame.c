/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per frame. No allocation, system call, log or lock.
 */
#include "apps/roostd/switch/frame.h"

#include <string.h>

#include "lib/wire/bytes.h"

#define HOP_LIMIT 64u
#define UDP_SRC 0xc000u

#define ETHERTYPE_AT 12u
#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_IPV6 0x86ddu
#define IPV6_NEXT_AT 6u
#define PROTO_UDP 17u

#define PKEY_FULL 0x8000u
#define PKEY_MASK 0x7fffu

/*
 * IPv6 extension headers may reach beyond the head, and nothing that we take
 * has one. All other headers that roost_frame_parse() reads are within the
 * head, whatever they say.
 */
static bool is_within_head(const struct roost_sw_frame *frame)
{
	const uint8_t *type = frame->head + ETHERTYPE_AT;

	if (frame->head_len_bytes >= frame->len_bytes)
		return true;
	if (roost_be16_get(type) == ETHERTYPE_VLAN)
		type += ROOST_VLAN_LEN;
	return roost_be16_get(type) != ETHERTYPE_IPV6 ||
	       type[2 + IPV6_NEXT_AT] == PROTO_UDP;
}

/* Messages to QP1 are between QPs 1, in one packet. */
static enum roost_sw_drop parse_mad(const struct roost_sw_frame *frame,
				    struct roost_sw_mad *room,
				    struct roost_sw_pkt *pkt)
{
	const struct roost_pkt *p = &pkt->pkt;
	const size_t in_head = frame->head_len_bytes < frame->len_bytes
				       ? frame->head_len_bytes
				       : frame->len_bytes;
	struct roost_frame copy = pkt->frame;
	enum roost_cm_drop drop;
	size_t mad_at;

	if (p->opcode != ROOST_OPCODE_UD_SEND_ONLY ||
	    p->src_qpn != ROOST_SW_GSI_QPN || p->qkey != ROOST_SW_GSI_QKEY)
		return ROOST_SW_DST_QPN;
	if (frame->len_bytes > sizeof(room->bytes) || p->pad_bytes != 0)
		return ROOST_SW_MAD_CLASS;
	memcpy(room->bytes, frame->head, in_head);
	if (frame->len_bytes > in_head)
		memcpy(room->bytes + in_head, frame->payload,
		       frame->len_bytes - in_head);
	copy.l3 = room->bytes + (copy.l3 - frame->head);
	mad_at = (size_t)(p->payload - frame->head);
	if (!roost_frame_icrc_ok(&copy))
		return ROOST_SW_MAD_ICRC;
	if (!roost_cm_msg_decode(room->bytes + mad_at, p->payload_len_bytes,
				 &room->msg, &drop))
		return ROOST_SW_MAD_CLASS;
	pkt->mad = room;
	return ROOST_SW_OK;
}

enum roost_sw_drop roost_sw_parse(const struct roost_sw_frame *frame,
				  struct roost_sw_mad *room,
				  struct roost_sw_pkt *pkt)
{
	pkt->mad = NULL;
	pkt->frame.vlan_tci = 0;
	pkt->frame.drop = ROOST_DROP_NONE;
	if (frame->len_bytes < ROOST_ETH_LEN)
		return ROOST_SW_MALFORMED;
	if (!is_within_head(frame))
		return ROOST_SW_NOT_ROCE;
	switch (roost_frame_parse(frame->head, frame->len_bytes, &pkt->frame)) {
	case ROOST_FRAME_ROCE:
		break;
	case ROOST_FRAME_OTHER:
		return ROOST_SW_NOT_ROCE;
	case ROOST_FRAME_BAD:
	default:
		return ROOST_SW_MALFORMED;
	}
	if (roost_pkt_parse(&pkt->frame, &pkt->pkt) != ROOST_DROP_NONE)
		return ROOST_SW_MALFORMED;
	if (pkt->pkt.dest_qpn > ROOST_SW_GSI_QPN)
		return ROOST_SW_OK;
	if (pkt->pkt.dest_qpn == 0)
		return ROOST_SW_DST_QPN;
	return parse_mad(frame, room, pkt);
}

uint16_t roost_sw_pkey_match(const struct roost_sw_port *port, uint16_t pkey)
{
	for (unsigned int i = 0; i < port->nb_pkeys; i++)
		if (((port->pkeys[i] ^ pkey) & PKEY_MASK) == 0 &&
		    ((port->pkeys[i] | pkey) & PKEY_FULL))
			return port->pkeys[i];
	return 0;
}

/* ---- messages of the daemon ---------------------------------------------- */

struct roost_sw_route roost_sw_route_back(const struct roost_sw_pkt *pkt)
{
	struct roost_sw_route route = {
		.local = pkt->frame.dgid,
		.peer = pkt->frame.sgid,
		.tclass = pkt->frame.tclass,
		.hop_limit = HOP_LIMIT,
		.flow_label = pkt->frame.flow_label,
		.udp_src = UDP_SRC,
		.pkey = pkt->pkt.pkey,
	};

	memcpy(route.peer_mac, pkt->frame.src_mac, sizeof(route.peer_mac));
	return route;
}

struct roost_sw_route roost_sw_route_on(const struct roost_sw_pkt *pkt,
					const uint8_t *head)
{
	struct roost_sw_route route = {
		.local = pkt->frame.sgid,
		.peer = pkt->frame.dgid,
		.tclass = pkt->frame.tclass,
		.hop_limit = pkt->frame.hop_limit,
		.flow_label = pkt->frame.flow_label,
		.udp_src = pkt->frame.udp_src,
		.pkey = pkt->pkt.pkey,
	};

	memcpy(route.peer_mac, head, sizeof(route.peer_mac));
	return route;
}

uint32_t roost_sw_compose(const struct roost_sw_port *port,
			  const struct roost_sw_route *route,
			  const struct roost_cm_msg *msg,
			  uint8_t frame[ROOST_SW_GSI_FRAME_MAX])
{
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_UD_SEND_ONLY,
		.migreq = true,
		.pkey = roost_sw_pkey_match(port, route->pkey),
		.dest_qpn = ROOST_SW_GSI_QPN,
	};
	struct roost_flow flow = {
		.tagged = port->vlan_id != 0,
		.vlan_tci = roost_vlan_tci(port->vlan_id, route->tclass >> 5),
		.sgid = route->local,
		.dgid = route->peer,
		.tclass = route->tclass,
		.hop_limit = route->hop_limit,
		.flow_label = route->flow_label,
		.udp_src = route->udp_src,
	};
	struct roost_hdr_template t;
	size_t len;

	memcpy(flow.src_mac, port->mac, sizeof(flow.src_mac));
	memcpy(flow.dst_mac, route->peer_mac, sizeof(flow.dst_mac));
	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, frame, &bth,
			     ROOST_DETH_LEN + ROOST_CM_MAD_LEN);
	roost_deth_put(frame + len, ROOST_SW_GSI_QKEY, ROOST_SW_GSI_QPN);
	len += ROOST_DETH_LEN;
	roost_cm_msg_encode(msg, frame + len);
	len += ROOST_CM_MAD_LEN;
	roost_frame_seal(&t, frame, len);
	return (uint32_t)(len + ROOST_ICRC_LEN);
}
