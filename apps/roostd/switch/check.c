/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per frame. No allocation, system call, log or lock.
 */
#include "apps/roostd/switch/check.h"

#include <string.h>

#define GROUP_QPN 0xffffffu

/* What a check of a MAD looks at. */
struct asked {
	const struct roost_lease *lease;
	const struct roost_seen_table *seen;
	const struct roost_sw_pkt *pkt;
	uint16_t client;
};

/* ---- messages of the CM -------------------------------------------------- */

static bool own_id(const struct asked *a, uint32_t id)
{
	return roost_lease_comm_owner(a->lease, id) == a->client;
}

static bool own_qpn(const struct asked *a, uint32_t qpn)
{
	return roost_lease_qpn_owner(a->lease, qpn) == a->client;
}

static bool own_gid(const struct asked *a, const struct roost_gid *gid)
{
	const struct roost_lease_addr *addr =
		roost_lease_addr_find(a->lease, gid);

	return addr && roost_lease_addr_is_of(a->lease, addr, a->client);
}

/*
 * Programs take the address of their peer from the IP addressing header of a
 * request for a service of the IP CM Service (IBTA Annex A11). Other services
 * may begin their private data with any bytes.
 */
static bool ip_hdr_ok(const struct asked *a, const struct roost_cm_msg *msg)
{
	const uint64_t ps = msg->service_id >> 16;
	struct roost_cm_ip_hdr ip;

	return (ps != ROOST_CM_PS_TCP && ps != ROOST_CM_PS_UDP) ||
	       !roost_cm_ip_hdr_decode(msg->data, &ip) ||
	       roost_gid_eq(&ip.src, &a->pkt->frame.sgid);
}

static enum roost_sw_drop check_req(const struct asked *a,
				    const struct roost_cm_msg *msg)
{
	if (!own_id(a, msg->local_id))
		return ROOST_SW_MAD_ID;
	/* Peers end other connections of a QPN that is used again. */
	if (!own_qpn(a, msg->qpn))
		return ROOST_SW_MAD_QPN;
	if (!roost_gid_eq(&msg->primary.local_gid, &a->pkt->frame.sgid) ||
	    (msg->alternate.local_lid != 0 &&
	     !own_gid(a, &msg->alternate.local_gid)) ||
	    !ip_hdr_ok(a, msg))
		return ROOST_SW_MAD_ADDR;
	return ROOST_SW_OK;
}

/* The client got a request with this number from there. */
static bool was_asked(const struct asked *a, uint32_t remote_id, bool sidr)
{
	const struct roost_seen *seen =
		roost_seen_by_peer(a->seen, &a->pkt->frame.dgid, remote_id,
				   sidr);

	return seen && seen->client == a->client;
}

static enum roost_sw_drop check_rep(const struct asked *a,
				    const struct roost_cm_msg *msg)
{
	if (!own_id(a, msg->local_id))
		return ROOST_SW_MAD_ID;
	/* A CM may look for the request by its own number alone. */
	if (!was_asked(a, msg->remote_id, false))
		return ROOST_SW_MAD_ANSWER;
	if ((msg->qpn != 0 && !own_qpn(a, msg->qpn)) ||
	    (msg->eecn != 0 && !own_qpn(a, msg->eecn)))
		return ROOST_SW_MAD_QPN;
	return ROOST_SW_OK;
}

/* REJ and MRA. An answer to a REQ need not have a number of its sender. */
static enum roost_sw_drop check_rej(const struct asked *a,
				    const struct roost_cm_msg *msg)
{
	if ((msg->local_id != 0 || msg->type == ROOST_CM_MRA) &&
	    !own_id(a, msg->local_id))
		return ROOST_SW_MAD_ID;
	if (msg->local_id != 0 && msg->about != ROOST_CM_ABOUT_REQ)
		return ROOST_SW_OK;
	return was_asked(a, msg->remote_id, false) ? ROOST_SW_OK
						   : ROOST_SW_MAD_ANSWER;
}

static enum roost_sw_drop check_sidr_rep(const struct asked *a,
					 const struct roost_cm_msg *msg)
{
	if (!was_asked(a, msg->local_id, true))
		return ROOST_SW_MAD_ANSWER;
	if (msg->status == ROOST_CM_SIDR_SUCCESS && !own_qpn(a, msg->qpn))
		return ROOST_SW_MAD_QPN;
	return ROOST_SW_OK;
}

static enum roost_sw_drop check_msg(const struct asked *a,
				    const struct roost_cm_msg *msg)
{
	switch (msg->type) {
	case ROOST_CM_REQ:
		return check_req(a, msg);
	case ROOST_CM_REP:
		return check_rep(a, msg);
	case ROOST_CM_REJ:
	case ROOST_CM_MRA:
		return check_rej(a, msg);
	case ROOST_CM_SIDR_REP:
		return check_sidr_rep(a, msg);
	case ROOST_CM_SIDR_REQ:
		if (!own_id(a, msg->local_id))
			return ROOST_SW_MAD_ID;
		return ip_hdr_ok(a, msg) ? ROOST_SW_OK : ROOST_SW_MAD_ADDR;
	case ROOST_CM_LAP:
		if (!own_id(a, msg->local_id))
			return ROOST_SW_MAD_ID;
		return own_gid(a, &msg->alternate.local_gid)
			       ? ROOST_SW_OK
			       : ROOST_SW_MAD_ADDR;
	case ROOST_CM_RTU:
	case ROOST_CM_DREQ:
	case ROOST_CM_DREP:
	case ROOST_CM_APR:
		return own_id(a, msg->local_id) ? ROOST_SW_OK : ROOST_SW_MAD_ID;
	case ROOST_CM_MSG_COUNT:
	default:
		return ROOST_SW_MAD_CLASS;
	}
}

enum roost_sw_drop roost_check_mad(const struct roost_lease *lease,
				   const struct roost_seen_table *seen,
				   uint16_t client,
				   const struct roost_sw_pkt *pkt)
{
	const struct asked a = { lease, seen, pkt, client };

	return check_msg(&a, &pkt->mad->msg);
}

/* ---- all frames ---------------------------------------------------------- */

static bool has_pkey(const struct roost_sw_port *port, uint16_t pkey)
{
	for (unsigned int i = 0; i < port->nb_pkeys; i++)
		if (port->pkeys[i] == pkey)
			return true;
	return false;
}

static enum roost_sw_drop check_outer(const struct roost_lease *lease,
				      const struct roost_sw_port *port,
				      uint16_t client,
				      const struct roost_sw_frame *frame,
				      const struct roost_sw_pkt *pkt)
{
	const size_t l2_len = (size_t)(pkt->frame.l3 - frame->head);
	const struct roost_lease_addr *from;

	if (frame->len_bytes != l2_len + pkt->frame.l3_len_bytes ||
	    frame->len_bytes > port->max_frame_bytes)
		return ROOST_SW_LENGTH;
	/* A tag with VLAN 0 gives a priority only. */
	if (!roost_sw_vlan_ok(port, &pkt->frame))
		return ROOST_SW_VLAN;
	if (memcmp(pkt->frame.src_mac, port->mac, sizeof(port->mac)) != 0)
		return ROOST_SW_SRC_MAC;
	from = roost_lease_addr_find(lease, &pkt->frame.sgid);
	if (!from || !roost_lease_addr_is_of(lease, from, client))
		return ROOST_SW_SRC_ADDR;
	return ROOST_SW_OK;
}

static enum roost_sw_drop check_inner(const struct roost_lease *lease,
				      const struct roost_sw_port *port,
				      uint16_t client,
				      const struct roost_sw_pkt *pkt)
{
	const bool to_group = roost_gid_is_multicast(&pkt->frame.dgid);

	if (to_group ? !roost_sw_is_ud(pkt) || pkt->pkt.dest_qpn != GROUP_QPN
		     : !roost_gid_is_unicast(&pkt->frame.dgid))
		return ROOST_SW_DST_ADDR;
	if (!has_pkey(port, pkt->pkt.pkey))
		return ROOST_SW_PKEY;
	if (!pkt->mad && roost_sw_is_ud(pkt) &&
	    roost_lease_qpn_owner(lease, pkt->pkt.src_qpn) != client)
		return ROOST_SW_SRC_QPN;
	return ROOST_SW_OK;
}

enum roost_sw_drop
roost_check(const struct roost_lease *lease, const struct roost_sw_port *port,
	    uint16_t client, const struct roost_sw_frame *frame,
	    struct roost_sw_mad *room, struct roost_sw_pkt *pkt)
{
	enum roost_sw_drop drop = roost_sw_parse(frame, room, pkt);

	if (drop == ROOST_SW_OK)
		drop = check_outer(lease, port, client, frame, pkt);
	if (drop == ROOST_SW_OK)
		drop = check_inner(lease, port, client, pkt);
	return drop;
}
