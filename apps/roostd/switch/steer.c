/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per frame. No allocation, system call, log or lock.
 */
#include "apps/roostd/switch/steer.h"

#include "apps/roostd/switch/claim.h"

#define GROUP_QPN 0xffffffu

static void drop(struct roost_steer *way, enum roost_sw_drop reason)
{
	way->to = ROOST_STEER_DROP;
	way->drop = reason;
}

static void to_client(struct roost_steer *way, uint16_t client)
{
	way->to = ROOST_STEER_CLIENT;
	way->client = client;
}

/* ---- messages of the CM --------------------------------------------------
 * After a restart of the daemon nobody is answered in place of a client that is
 * not back yet: the peer sends its message again.
 */

static void answer_rej(struct roost_steer *way, const struct roost_cm_msg *msg,
		       enum roost_cm_about about, uint16_t reason)
{
	way->to = ROOST_STEER_ANSWER;
	way->answer = roost_cm_msg_rej(msg, about, reason);
}

/* As a CM without this connection answers. */
static void answer_stranger(struct roost_steer *way,
			    const struct roost_cm_msg *msg)
{
	if (msg->type == ROOST_CM_REP) {
		answer_rej(way, msg, ROOST_CM_ABOUT_REP,
			   ROOST_CM_REJ_INVALID_COMM_ID);
		return;
	}
	if (msg->type != ROOST_CM_DREQ) {
		drop(way, ROOST_SW_NO_CONN);
		return;
	}
	way->to = ROOST_STEER_ANSWER;
	way->answer = (struct roost_cm_msg){
		.type = ROOST_CM_DREP,
		.tid = msg->tid,
		.local_id = msg->remote_id,
		.remote_id = msg->local_id,
	};
}

static void answer_no_listener(struct roost_steer *way,
			       const struct roost_cm_msg *msg)
{
	if (msg->type == ROOST_CM_REQ) {
		answer_rej(way, msg, ROOST_CM_ABOUT_REQ,
			   ROOST_CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	way->to = ROOST_STEER_ANSWER;
	way->answer = (struct roost_cm_msg){
		.type = ROOST_CM_SIDR_REP,
		.tid = msg->tid,
		.local_id = msg->local_id,
		.service_id = msg->service_id,
		.status = ROOST_CM_SIDR_UNSUPPORTED,
	};
}

/* A request again goes where it went before. */
static void steer_request(const struct roost_lease *lease,
			  const struct roost_seen_table *seen,
			  const struct roost_sw_pkt *pkt,
			  const struct roost_lease_addr *to,
			  struct roost_steer *way)
{
	const struct roost_cm_msg *msg = &pkt->mad->msg;
	const struct roost_seen *known =
		roost_seen_by_peer(seen, &pkt->frame.sgid, msg->local_id,
				   msg->type == ROOST_CM_SIDR_REQ);
	struct roost_cm_ip_hdr ip;
	uint16_t client;
	bool has_ip;

	if (known && known->tid == msg->tid &&
	    roost_lease_addr_is_of(lease, to, known->client)) {
		to_client(way, known->client);
		return;
	}
	has_ip = roost_cm_ip_hdr_decode(msg->data, &ip) &&
		 roost_gid_eq(&ip.src, &pkt->frame.sgid) &&
		 roost_gid_eq(&ip.dst, &pkt->frame.dgid);
	client = roost_lease_listener(lease, msg->service_id, to, has_ip);
	if (client == ROOST_CLIENT_NONE && lease->nb_away > 0)
		drop(way, ROOST_SW_NO_CONN);
	else if (client == ROOST_CLIENT_NONE)
		answer_no_listener(way, msg);
	else
		to_client(way, client);
}

/* The receiver's number in a message that is no request; 0: it has none. */
static uint32_t receiver_of(const struct roost_cm_msg *msg)
{
	return msg->type == ROOST_CM_SIDR_REP ? msg->local_id : msg->remote_id;
}

static void steer_mad(const struct roost_lease *lease,
		      const struct roost_seen_table *seen,
		      const struct roost_sw_pkt *pkt,
		      const struct roost_lease_addr *to,
		      struct roost_steer *way)
{
	const struct roost_cm_msg *msg = &pkt->mad->msg;
	const struct roost_seen *known;
	uint16_t client;

	if (msg->type == ROOST_CM_REQ || msg->type == ROOST_CM_SIDR_REQ) {
		steer_request(lease, seen, pkt, to, way);
		return;
	}
	client = roost_lease_comm_owner(lease, receiver_of(msg));
	/* The sender of a REQ that nobody answered knows its own number only.
	 */
	if (receiver_of(msg) == 0 && msg->type == ROOST_CM_REJ) {
		known = roost_seen_by_peer(seen, &pkt->frame.sgid,
					   msg->local_id, false);
		if (known)
			client = known->client;
	}
	if (client == ROOST_CLIENT_NONE && lease->nb_away > 0)
		drop(way, ROOST_SW_NO_CONN);
	else if (client == ROOST_CLIENT_NONE)
		answer_stranger(way, msg);
	else if (!roost_lease_addr_is_of(lease, to, client))
		drop(way, ROOST_SW_NO_CONN);
	else
		to_client(way, client);
}

/* ---- all frames ---------------------------------------------------------- */

/* To an address of the port, or of a client of its own. */
static void steer_unicast(const struct roost_lease *lease,
			  const struct roost_seen_table *seen,
			  const struct roost_sw_pkt *pkt,
			  const struct roost_lease_addr *to,
			  struct roost_steer *way)
{
	uint16_t client;

	if (pkt->mad) {
		steer_mad(lease, seen, pkt, to, way);
		return;
	}
	client = roost_lease_qpn_owner(lease, pkt->pkt.dest_qpn);
	if (client == ROOST_CLIENT_NONE ||
	    !roost_lease_addr_is_of(lease, to, client))
		drop(way, ROOST_SW_NO_QP);
	else
		to_client(way, client);
}

static void steer_group(const struct roost_lease *lease,
			const struct roost_sw_pkt *pkt, struct roost_steer *way)
{
	way->to = ROOST_STEER_GROUP;
	way->group = roost_lease_group(lease, &pkt->frame.dgid);
}

void roost_steer_from_port(const struct roost_lease *lease,
			   const struct roost_sw_port *port,
			   const struct roost_seen_table *seen,
			   const struct roost_sw_pkt *pkt,
			   enum roost_sw_drop parsed, struct roost_steer *way)
{
	const struct roost_lease_addr *to;

	/* Other VLANs are a twin's, whatever they carry. */
	if (parsed == ROOST_SW_NOT_ROCE || pkt->frame.drop == ROOST_DROP_QINQ ||
	    !roost_sw_vlan_ok(port, &pkt->frame)) {
		way->to = ROOST_STEER_HOST;
		return;
	}
	if (parsed != ROOST_SW_OK) {
		drop(way, parsed);
		return;
	}
	if (pkt->mad && roost_sw_pkey_match(port, pkt->pkt.pkey) == 0) {
		drop(way, ROOST_SW_PKEY);
		return;
	}
	/* Nobody outside has an address of ours. */
	if (roost_lease_addr_find(lease, &pkt->frame.sgid)) {
		drop(way, ROOST_SW_SRC_ADDR);
		return;
	}
	if (roost_gid_is_multicast(&pkt->frame.dgid)) {
		steer_group(lease, pkt, way);
		if (!way->group || !roost_sw_is_ud(pkt) ||
		    pkt->pkt.dest_qpn != GROUP_QPN)
			drop(way, ROOST_SW_NO_MEMBER);
		return;
	}
	to = roost_lease_addr_find(lease, &pkt->frame.dgid);
	if (to)
		steer_unicast(lease, seen, pkt, to, way);
	else
		drop(way, ROOST_SW_NOT_OURS);
}

void roost_steer_from_client(const struct roost_lease *lease,
			     const struct roost_seen_table *seen,
			     const struct roost_sw_pkt *pkt,
			     struct roost_steer *way)
{
	const struct roost_lease_addr *to;

	if (roost_gid_is_multicast(&pkt->frame.dgid)) {
		steer_group(lease, pkt, way);
		return;
	}
	to = roost_lease_addr_find(lease, &pkt->frame.dgid);
	if (to)
		steer_unicast(lease, seen, pkt, to, way);
	else
		way->to = ROOST_STEER_PORT;
}
