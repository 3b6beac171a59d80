/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Received messages: the connection that a message belongs to, and its effect
 * there. A message without an effect is dropped and counted. Control thread,
 * under the lock.
 */

#include <errno.h>
#include <string.h>

#include "cm/priv.h"
#include "lib/wire/bytes.h"

/* ---- finding the connection --------------------------------------------- */

static bool is_peer(const struct roost_cm_conn *conn,
		    const struct roost_gsi_msg *in)
{
	return conn->has_path && roost_gid_eq(&conn->addr.peer, &in->addr.peer);
}

/* An answer to a message of ours, which the peer may not have a number for. */
static bool is_first_answer(const struct roost_cm_msg *msg)
{
	return msg->type == ROOST_CM_REP || msg->type == ROOST_CM_SIDR_REP ||
	       ((msg->type == ROOST_CM_REJ || msg->type == ROOST_CM_MRA) &&
		msg->about == ROOST_CM_ABOUT_REQ);
}

static struct roost_cm_conn *find_conn(struct roost_cm *cm,
				       const struct roost_gsi_msg *in,
				       const struct roost_cm_msg *msg)
{
	uint32_t ours =
		msg->type == ROOST_CM_SIDR_REP ? msg->local_id : msg->remote_id;
	struct roost_cm_conn *conn = roost_idmap_get(&cm->ids, ours);

	if (!conn) {
		roost_cm_drop(cm, ROOST_CM_DROP_UNKNOWN);
		return NULL;
	}
	if (!is_peer(conn, in)) {
		roost_cm_drop(cm, ROOST_CM_DROP_PEER);
		return NULL;
	}
	if (conn->remote_id != 0 ? conn->remote_id != msg->local_id
				 : !is_first_answer(msg)) {
		roost_cm_drop(cm, ROOST_CM_DROP_UNKNOWN);
		return NULL;
	}
	return conn;
}

/* The sender of a REJ 4 may not know our number, but we know its own. */
static struct roost_cm_conn *find_rejected(struct roost_cm *cm,
					   const struct roost_gsi_msg *in,
					   const struct roost_cm_msg *msg)
{
	const struct roost_cm_key key = {
		.gid = in->addr.peer,
		.ca_guid = roost_be64_get(msg->info),
		.number = msg->local_id,
	};
	struct roost_cm_conn *conn = NULL;

	if (msg->reason == ROOST_CM_REJ_TIMEOUT && msg->info_len_bytes >= 8)
		conn = roost_cm_table_find(&cm->peer_ids, &key);
	return conn != NULL ? conn : find_conn(cm, in, msg);
}

/* ---- telling ------------------------------------------------------------ */

static void tell(struct roost_cm_conn *conn, unsigned int type, int status,
		 const struct roost_cm_msg *msg, struct roost_cm_peer *peer)
{
	struct roost_cm_event event = {
		.type = (enum roost_cm_event_type)type,
		.status = status,
		.data = msg->data,
		.data_len_bytes = roost_cm_msg_data_len(msg->type),
		.info = msg->info,
		.info_len_bytes = msg->info_len_bytes,
		.service_id = conn->service_id,
		.qpn = msg->qpn,
		.qkey = msg->qkey,
	};

	if (!conn->owned) {
		if (!roost_cm_conn_lingers(conn))
			roost_cm_conn_free(conn);
		return;
	}
	if (type == ROOST_CM_NO_EVENT)
		return;
	if (peer)
		event.peer = *peer;
	roost_cm_tell(conn, &event);
}

/* Process a message in the usual way: a step, and its event. */
static void step_and_tell(struct roost_cm_conn *conn, enum roost_cm_input input,
			  int status, const struct roost_cm_msg *msg)
{
	if (!roost_cm_step(conn->state, input)->valid) {
		roost_cm_drop(conn->cm, ROOST_CM_DROP_STATE);
		return;
	}
	tell(conn, roost_cm_take_input(conn, input, msg, 0), status, msg, NULL);
}

void roost_cm_got_stale(struct roost_cm_conn *conn)
{
	const struct roost_cm_msg msg = { .type = ROOST_CM_REJ };

	step_and_tell(conn, ROOST_CM_GOT_STALE, ROOST_CM_REJ_STALE_CONN, &msg);
}

void roost_cm_got_crowded(struct roost_cm_conn *conn)
{
	const struct roost_cm_msg msg = { .type = ROOST_CM_REJ };
	const int status = conn->state == ROOST_CM_REQ_RCVD
				   ? ROOST_CM_REJ_NO_RESOURCES
				   : -ETIMEDOUT;

	step_and_tell(conn, ROOST_CM_CROWDED_OUT, status, &msg);
}

void roost_cm_reject_msg(struct roost_cm *cm, const struct roost_gsi_msg *in,
			 const struct roost_cm_msg *msg,
			 enum roost_cm_about about, uint16_t reason)
{
	const struct roost_cm_msg rej = roost_cm_msg_rej(msg, about, reason);

	roost_cm_reply(cm, in, &rej);
}

/* ---- each message ------------------------------------------------------- */

static void got_mra(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_conn(cm, in, msg);
	enum roost_cm_input input;

	if (!conn)
		return;
	if (msg->about == ROOST_CM_ABOUT_OTHER) {
		roost_cm_got_mra_lap(conn, msg);
		return;
	}
	input = msg->about == ROOST_CM_ABOUT_REQ ? ROOST_CM_GOT_MRA_REQ
						 : ROOST_CM_GOT_MRA_REP;
	if (!roost_cm_step(conn->state, input)->valid) {
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return;
	}
	tell(conn,
	     roost_cm_take_input(conn, input, msg, roost_cm_mra_ns(conn, msg)),
	     0, msg, NULL);
}

static void got_rej(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_rejected(cm, in, msg);

	if (conn && msg->reason == ROOST_CM_REJ_NO_RESOURCES)
		roost_cm_tell_full(conn);
	if (conn)
		step_and_tell(conn,
			      msg->reason == ROOST_CM_REJ_STALE_CONN
				      ? ROOST_CM_GOT_REJ_STALE
				      : ROOST_CM_GOT_REJ,
			      msg->reason, msg);
}

/* Enter the peer's numbers into the tables. Returns false when another
 * connection has them.
 */
static bool enter_peer(struct roost_cm_conn *conn,
		       const struct roost_gsi_msg *in,
		       const struct roost_cm_msg *msg, uint32_t qpn)
{
	struct roost_cm *cm = conn->cm;
	struct roost_cm_key key = {
		.gid = in->addr.peer,
		.ca_guid = msg->ca_guid,
		.number = msg->local_id,
	};
	struct roost_cm_conn *other;

	if (roost_cm_table_add(&cm->peer_ids, &conn->by_id, &key, conn)) {
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return false;
	}
	key.number = qpn;
	other = roost_cm_table_add(&cm->peer_qpns, &conn->by_qpn, &key, conn);
	if (!other)
		return true;
	roost_cm_table_del(&conn->by_id);
	roost_cm_reject_msg(cm, in, msg, ROOST_CM_ABOUT_REP,
			    ROOST_CM_REJ_STALE_CONN);
	roost_cm_got_stale(other);
	return false;
}

static void remember_rep(struct roost_cm_conn *conn,
			 const struct roost_cm_msg *msg,
			 struct roost_cm_peer *peer)
{
	*peer = (struct roost_cm_peer){
		.qp_type = conn->qp_type,
		.qpn = conn->qp_type == ROOST_QPT_XRC_INI ? msg->eecn
							  : msg->qpn,
		.starting_psn = msg->starting_psn,
		.qkey = msg->qkey,
		.responder_resources = msg->initiator_depth,
		.initiator_depth = msg->responder_resources,
		.rnr_retry_count = msg->rnr_retry_count,
		.target_ack_delay = msg->target_ack_delay,
		.flow_control = msg->flow_control,
		.srq = msg->srq,
		.failover_accepted = msg->failover_accepted,
		.ca_guid = msg->ca_guid,
		.ece_vendor_id = (uint32_t)msg->vendor_high << 16 |
				 (uint32_t)msg->vendor_mid << 8 |
				 msg->vendor_low,
		.ece_attr_mod = msg->attr_mod,
	};
	conn->remote_id = msg->local_id;
	conn->remote_qpn = peer->qpn;
	conn->sq_psn = msg->starting_psn;
	conn->initiator_depth = msg->responder_resources;
	conn->responder_resources = msg->initiator_depth;
	conn->rnr_retry_count = msg->rnr_retry_count;
	conn->timeout = roost_cm_ack_timeout(msg->target_ack_delay,
					     (uint8_t)(conn->timeout - 1));
	if (conn->has_alternate)
		conn->alt_timeout =
			roost_cm_ack_timeout(msg->target_ack_delay,
					     (uint8_t)(conn->alt_timeout - 1));
}

/* The request was given up, so no RTU will be sent: reject the REP. */
static void refuse_rep(struct roost_cm *cm, const struct roost_gsi_msg *in,
		       const struct roost_cm_msg *msg)
{
	if (roost_cm_rate_take(cm, &in->addr.peer))
		roost_cm_reject_msg(cm, in, msg, ROOST_CM_ABOUT_REP,
				    ROOST_CM_REJ_INVALID_COMM_ID);
}

static void got_rep(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_conn(cm, in, msg);
	struct roost_cm_peer peer;
	uint32_t qpn;

	if (!conn && !roost_idmap_get(&cm->ids, msg->remote_id))
		refuse_rep(cm, in, msg);
	if (!conn)
		return;
	qpn = conn->qp_type == ROOST_QPT_XRC_INI ? msg->eecn : msg->qpn;
	if (!roost_cm_step(conn->state, ROOST_CM_GOT_REP)->valid ||
	    conn->passive) {
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return;
	}
	if (qpn < 2) {
		roost_cm_drop(cm, ROOST_CM_DROP_FIELD);
		return;
	}
	/* Known already: it is repeated. */
	if (conn->remote_id != 0) {
		roost_cm_take_input(conn, ROOST_CM_GOT_REP, msg, 0);
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return;
	}
	if (!enter_peer(conn, in, msg, qpn))
		return;
	remember_rep(conn, msg, &peer);
	tell(conn, roost_cm_take_input(conn, ROOST_CM_GOT_REP, msg, 0), 0, msg,
	     &peer);
}

static void got_rtu(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_conn(cm, in, msg);

	if (conn)
		step_and_tell(conn, ROOST_CM_GOT_RTU, 0, msg);
}

/* Answer a DREQ for an unknown connection: it has ended, and the peer can end
 * its side, too.
 */
static void answer_dreq(struct roost_cm *cm, const struct roost_gsi_msg *in,
			const struct roost_cm_msg *msg)
{
	const struct roost_cm_msg drep = {
		.type = ROOST_CM_DREP,
		.tid = msg->tid,
		.local_id = msg->remote_id,
		.remote_id = msg->local_id,
	};

	if (roost_cm_rate_take(cm, &in->addr.peer))
		roost_cm_reply(cm, in, &drep);
}

static void got_dreq(struct roost_cm *cm, const struct roost_gsi_msg *in,
		     const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = roost_idmap_get(&cm->ids, msg->remote_id);

	if (!conn || conn->remote_id != msg->local_id)
		answer_dreq(cm, in, msg);
	conn = find_conn(cm, in, msg);
	if (!conn)
		return;
	if (conn->local_qpn != msg->qpn) {
		roost_cm_drop(cm, ROOST_CM_DROP_FIELD);
		return;
	}
	conn->tid = msg->tid;
	step_and_tell(conn, ROOST_CM_GOT_DREQ, 0, msg);
}

static void got_drep(struct roost_cm *cm, const struct roost_gsi_msg *in,
		     const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_conn(cm, in, msg);

	if (conn)
		step_and_tell(conn, ROOST_CM_GOT_DREP, 0, msg);
}

static void got_sidr_rep(struct roost_cm *cm, const struct roost_gsi_msg *in,
			 const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_conn(cm, in, msg);

	if (!conn)
		return;
	if (conn->service_id != msg->service_id) {
		roost_cm_drop(cm, ROOST_CM_DROP_FIELD);
		return;
	}
	step_and_tell(conn, ROOST_CM_GOT_SIDR_REP, msg->status, msg);
}

static void got_path(struct roost_cm *cm, const struct roost_gsi_msg *in,
		     const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn = find_conn(cm, in, msg);

	if (!conn)
		return;
	if (msg->type == ROOST_CM_LAP)
		roost_cm_got_lap(conn, msg);
	else
		roost_cm_got_apr(conn, msg);
}

void roost_cm_input(struct roost_cm *cm, const struct roost_gsi_msg *in)
{
	static void (*const got[ROOST_CM_MSG_COUNT])(
		struct roost_cm * cm, const struct roost_gsi_msg *in,
		const struct roost_cm_msg *msg) = {
		[ROOST_CM_REQ] = roost_cm_got_req,
		[ROOST_CM_MRA] = got_mra,
		[ROOST_CM_REJ] = got_rej,
		[ROOST_CM_REP] = got_rep,
		[ROOST_CM_RTU] = got_rtu,
		[ROOST_CM_DREQ] = got_dreq,
		[ROOST_CM_DREP] = got_drep,
		[ROOST_CM_SIDR_REQ] = roost_cm_got_sidr_req,
		[ROOST_CM_SIDR_REP] = got_sidr_rep,
		[ROOST_CM_LAP] = got_path,
		[ROOST_CM_APR] = got_path,
	};
	struct roost_cm_msg msg;
	enum roost_cm_drop drop;

	if (in->src_qpn != ROOST_GSI_QPN) {
		roost_cm_drop(cm, ROOST_CM_DROP_PEER);
		return;
	}
	if (!roost_cm_msg_decode(in->mad, in->len_bytes, &msg, &drop)) {
		roost_cm_drop(cm, drop);
		return;
	}
	cm->counters.rx[msg.type]++;
	got[msg.type](cm, in, &msg);
}
