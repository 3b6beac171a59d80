/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Received requests: REQ and SIDR_REQ. Each may be a duplicate. The cost of a
 * flood of them is bounded per peer, per listener and for the whole CM. Thread:
 * that runs the CM, under the lock.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/priv.h"

/* Longest time between two REPs, whatever a peer asks for: 8.6 s. */
#define RETRY_CODE_MAX 21u

/* Drop half-open requests, the oldest first, to make room for one more. Owners
 * get an event, so everything that the caller looked up before must be looked
 * up again.
 */
static void make_room(struct roost_cm *cm, const struct roost_gsi_msg *in)
{
	struct roost_cm_conn *conn;

	while ((conn = roost_cm_crowded_out(cm, &in->addr.peer)) != NULL) {
		roost_cm_drop(cm, ROOST_CM_DROP_HALF_OPEN);
		roost_cm_got_crowded(conn);
	}
}

/* A peer that uses a number again has a new request: the answer that was kept
 * for the old one is dropped.
 */
static struct roost_cm_conn *not_another(struct roost_cm_conn *conn,
					 const struct roost_cm_msg *msg)
{
	if (!conn || conn->tid == msg->tid || !roost_cm_is_kept(conn->state))
		return conn;
	roost_cm_table_del(&conn->by_id);
	if (!conn->owned && !roost_cm_conn_lingers(conn))
		roost_cm_conn_free(conn);
	return NULL;
}

/* Create a conn that belongs to the listener until its owner takes it. */
static struct roost_cm_conn *new_passive(struct roost_cm_listener *l,
					 const struct roost_cm_msg *msg)
{
	struct roost_cm_conn *conn;

	if (roost_cm_conn_new(l->cm, &conn) != 0)
		return NULL;
	conn->passive = true;
	conn->callback = l->callback;
	conn->arg = l->arg;
	conn->remote_id = msg->local_id;
	conn->tid = msg->tid;
	conn->service_id = msg->service_id;
	conn->backlog = l;
	l->nb_waiting++;
	l->nb_requests++;
	return conn;
}

/* True if the header has the addresses of the packet. */
static bool names(const struct roost_cm_ip_hdr *ip,
		  const struct roost_gsi_msg *in)
{
	return roost_gid_eq(&ip->src, &in->addr.peer) &&
	       roost_gid_eq(&ip->dst, &in->addr.local);
}

/* Enter the state, as if the request were a step from IDLE. */
static void enter(struct roost_cm_conn *conn, enum roost_cm_state state)
{
	conn->state = state;
	roost_cm_opened(conn);
}

static void give_up(struct roost_cm_conn *conn)
{
	roost_cm_take_step(conn, roost_cm_step(conn->state, ROOST_CM_TIME_OVER),
			   NULL, 0);
	roost_cm_conn_free(conn);
}

/*
 * True if the header has other addresses than the packet. The program relies on
 * the header to know its peer, so a request of the IP CM Service must come from
 * the address in its header, to the address in its header. Other services may
 * begin their private data with any bytes.
 */
static bool lies(const struct roost_gsi_msg *in, const struct roost_cm_msg *msg)
{
	const uint64_t ps = msg->service_id >> 16;
	struct roost_cm_ip_hdr ip;

	return (ps == ROOST_CM_PS_TCP || ps == ROOST_CM_PS_UDP) &&
	       roost_cm_ip_hdr_decode(msg->data, &ip) && !names(&ip, in);
}

/* The listener for a request, if it has room. */
static struct roost_cm_listener *listener_of(struct roost_cm *cm,
					     const struct roost_gsi_msg *in,
					     const struct roost_cm_msg *msg,
					     struct roost_cm_event *event)
{
	event->has_ip = roost_cm_ip_hdr_decode(msg->data, &event->ip) &&
			names(&event->ip, in);
	event->service_id = msg->service_id;
	event->data = msg->data;
	event->data_len_bytes = roost_cm_msg_data_len(msg->type);
	event->listener =
		roost_cm_find_listener(cm, msg->service_id,
				       event->has_ip ? &event->ip : NULL);
	/* Without a listener for the header's address, the bytes are private
	 * data that only looks like a header.
	 */
	if (!event->listener && event->has_ip) {
		event->listener =
			roost_cm_find_listener(cm, msg->service_id, NULL);
		event->has_ip = false;
	}
	if (event->has_ip) {
		event->data += ROOST_CM_IP_HDR_LEN;
		event->data_len_bytes -= ROOST_CM_IP_HDR_LEN;
	}
	return event->listener;
}

/* ---- early requests ------------------------------------------------------ */

static bool is_early(const struct roost_cm *cm, const struct roost_gsi_msg *in)
{
	const struct roost_cm_early *early;

	/* A repeated message has the same bytes. */
	TAILQ_FOREACH(early, &cm->early, link)
		if (roost_gid_eq(&early->in.addr.peer, &in->addr.peer) &&
		    memcmp(early->in.mad, in->mad, sizeof(in->mad)) == 0)
			return true;
	return false;
}

/* Nobody listens for a request: may it wait? Where not, it is to be refused. */
static bool await_listener(struct roost_cm *cm, const struct roost_gsi_msg *in)
{
	struct roost_cm_early *early;

	if (cm->now_ns >= cm->young_until_ns)
		return false;
	if (is_early(cm, in)) {
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return true;
	}
	early = cm->nb_early < ROOST_CM_EARLY_MAX ? malloc(sizeof(*early))
						  : NULL;
	if (!early)
		return false;
	early->in = *in;
	TAILQ_INSERT_TAIL(&cm->early, early, link);
	cm->nb_early++;
	return true;
}

static struct roost_cm_early *take_early(struct roost_cm *cm)
{
	struct roost_cm_early *early = TAILQ_FIRST(&cm->early);

	TAILQ_REMOVE(&cm->early, early, link);
	cm->nb_early--;
	return early;
}

uint64_t roost_cm_run_early(struct roost_cm *cm)
{
	struct roost_cm_early *early;
	struct roost_cm_msg msg;
	enum roost_cm_drop why;

	/* The control thread runs soon after a listener has come. Who still has
	 * none goes to the end of the list.
	 */
	for (uint32_t left = cm->serving ? 0 : cm->nb_early; left > 0; left--) {
		early = take_early(cm);
		/* Cannot fail: it was decoded when it came. */
		roost_cm_msg_decode(early->in.mad, early->in.len_bytes, &msg,
				    &why);
		if (msg.type == ROOST_CM_REQ)
			roost_cm_got_req(cm, &early->in, &msg);
		else
			roost_cm_got_sidr_req(cm, &early->in, &msg);
		free(early);
	}
	return cm->nb_early != 0 ? cm->young_until_ns : UINT64_MAX;
}

void roost_cm_forget_early(struct roost_cm *cm)
{
	while (cm->nb_early != 0)
		free(take_early(cm));
}

/* ---- both ---------------------------------------------------------------- */

static bool has_room(struct roost_cm *cm, struct roost_cm_listener *l)
{
	if (l->nb_waiting < l->param.backlog)
		return true;
	l->nb_dropped++;
	l->dropped_at_ns = cm->at_ns;
	roost_cm_drop(cm, ROOST_CM_DROP_BACKLOG);
	return false;
}

/* A thread of the program, which waits for events, waits for no answer about a
 * stranger. Returns true: the control thread takes the request.
 */
static bool is_left(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg)
{
	if (!cm->serving || !roost_cm_has_to_ask(cm, &in->addr))
		return false;
	cm->left = *in;
	cm->has_left = true;
	cm->counters.rx[msg->type]--;
	return true;
}

/* Give a held request to its listener. Returns false when another listener
 * matches now, or none: conn is gone then.
 */
static bool hand_over(struct roost_cm_conn *conn,
		      const struct roost_gsi_msg *in,
		      const struct roost_cm_msg *msg, enum roost_cm_state state,
		      struct roost_cm_event *event)
{
	struct roost_cm *cm = conn->cm;

	if (!listener_of(cm, in, msg, event) ||
	    event->listener != conn->backlog) {
		give_up(conn);
		return false;
	}
	roost_cm_hop_leave(conn);
	conn->owned = true;
	roost_cm_note(conn,
		      msg->type == ROOST_CM_REQ ? ROOST_CM_GOT_REQ
						: ROOST_CM_GOT_SIDR_REQ,
		      state, msg);
	conn->state = state;
	return true;
}

/* ---- REQ ---------------------------------------------------------------- */

static enum roost_qp_type our_type(const struct roost_cm_msg *msg)
{
	if (msg->transport == ROOST_CM_TRANSPORT_EXT)
		return ROOST_QPT_XRC_TGT;
	return msg->transport == ROOST_CM_TRANSPORT_UC ? ROOST_QPT_UC
						       : ROOST_QPT_RC;
}

static void fill_peer(const struct roost_cm_msg *msg,
		      struct roost_cm_peer *peer)
{
	*peer = (struct roost_cm_peer){
		.qp_type = our_type(msg),
		.qpn = msg->qpn,
		.starting_psn = msg->starting_psn,
		.qkey = msg->qkey,
		.responder_resources = msg->initiator_depth,
		.initiator_depth = msg->responder_resources,
		.retry_count = msg->retry_count,
		.rnr_retry_count = msg->rnr_retry_count,
		.flow_control = msg->flow_control,
		.srq = msg->srq,
		.ca_guid = msg->ca_guid,
		.ece_vendor_id = msg->vendor_id,
		.ece_attr_mod = msg->attr_mod,
	};
}

static void remember_req(struct roost_cm_conn *conn,
			 const struct roost_cm_msg *msg)
{
	uint8_t code = msg->local_cm_timeout < RETRY_CODE_MAX
			       ? msg->local_cm_timeout
			       : RETRY_CODE_MAX;

	conn->qp_type = our_type(msg);
	conn->remote_qpn = msg->qpn;
	conn->sq_psn = msg->starting_psn;
	conn->initiator_depth = msg->responder_resources;
	conn->responder_resources = msg->initiator_depth;
	conn->retry_count = msg->retry_count;
	conn->rnr_retry_count = msg->rnr_retry_count;
	conn->timeout = msg->primary.ack_timeout;
	conn->max_tries = msg->max_cm_retries;
	conn->retry_ns = roost_cm_code_ns(code);
}

/* Returns 0, or the reason to reject it. */
static uint16_t take_paths(struct roost_cm_conn *conn,
			   const struct roost_gsi_msg *in,
			   const struct roost_cm_msg *msg)
{
	struct roost_cm *cm = conn->cm;
	uint8_t port_num = in->addr.port_num;
	struct roost_cm_path path;

	if (roost_cm_path_from_msg(cm, port_num, &msg->primary, &path) != 0)
		return ROOST_CM_REJ_INVALID_GID;
	path.mtu = msg->mtu;
	path.pkey = in->addr.pkey;
	memcpy(path.dmac, in->addr.peer_mac, 6);
	roost_cm_set_path(conn, &path);
	if (msg->alternate.local_lid == 0)
		return 0;
	if (roost_cm_path_from_msg(cm, 0, &msg->alternate, &path) != 0)
		return ROOST_CM_REJ_INVALID_ALT_GID;
	path.mtu = msg->mtu;
	path.pkey = in->addr.pkey;
	conn->alternate = path;
	conn->alt_timeout = msg->alternate.ack_timeout;
	conn->has_alternate = true;
	return 0;
}

/* True if a conn has this REQ's number or QPN already; the REQ is answered
 * then.
 */
static bool is_known(struct roost_cm *cm, const struct roost_gsi_msg *in,
		     const struct roost_cm_msg *msg)
{
	struct roost_cm_key key = {
		.gid = in->addr.peer,
		.ca_guid = msg->ca_guid,
		.number = msg->local_id,
	};
	struct roost_cm_conn *conn = roost_cm_table_find(&cm->peer_ids, &key);

	conn = not_another(conn, msg);
	if (conn) {
		if (roost_cm_step(conn->state, ROOST_CM_GOT_REQ)->valid &&
		    conn->passive)
			roost_cm_take_input(conn, ROOST_CM_GOT_REQ, msg, 0);
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return true;
	}
	key.number = msg->qpn;
	conn = roost_cm_table_find(&cm->peer_qpns, &key);
	if (!conn)
		return false;
	roost_cm_reject_msg(cm, in, msg, ROOST_CM_ABOUT_REQ,
			    ROOST_CM_REJ_STALE_CONN);
	roost_cm_got_stale(conn);
	return true;
}

static void enter_tables(struct roost_cm_conn *conn,
			 const struct roost_gsi_msg *in,
			 const struct roost_cm_msg *msg)
{
	struct roost_cm *cm = conn->cm;
	struct roost_cm_key key = {
		.gid = in->addr.peer,
		.ca_guid = msg->ca_guid,
		.number = msg->local_id,
	};

	roost_cm_table_add(&cm->peer_ids, &conn->by_id, &key, conn);
	key.number = msg->qpn;
	roost_cm_table_add(&cm->peer_qpns, &conn->by_qpn, &key, conn);
}

/* The next hop back is known or not needed: raise REQ_RECEIVED. */
static void show(struct roost_cm_conn *conn, const struct roost_gsi_msg *in,
		 const struct roost_cm_msg *msg)
{
	struct roost_cm_event event = { .type = ROOST_CM_REQ_RECEIVED };

	if (!hand_over(conn, in, msg, ROOST_CM_REQ_RCVD, &event))
		return;
	fill_peer(msg, &event.peer);
	event.has_alternate = conn->has_alternate;
	event.alternate = conn->alternate;
	event.alternate_timeout = conn->alt_timeout;
	roost_cm_tell(conn, &event);
}

static void drop_held(struct roost_cm_conn *conn)
{
	roost_cm_drop(conn->cm, ROOST_CM_DROP_UNREACHABLE);
	give_up(conn);
}

/* The next hop is being asked for; the request waits in conn meanwhile. */
static void hold(struct roost_cm_conn *conn, const struct roost_gsi_msg *in)
{
	struct roost_cm *cm = conn->cm;

	if (cm->nb_held >= ROOST_CM_HELD_MAX)
		drop_held(TAILQ_FIRST(&cm->held));
	memcpy(conn->mad, in->mad, sizeof(conn->mad));
	conn->resolve_at_ns = cm->now_ns + ROOST_CM_HELD_NS;
	conn->in_held = true;
	cm->nb_held++;
	TAILQ_INSERT_TAIL(&cm->held, conn, held_link);
}

uint64_t roost_cm_run_held(struct roost_cm *cm)
{
	struct roost_cm_conn *conn, *after = NULL;
	struct roost_gsi_msg in;
	struct roost_cm_msg msg;
	enum roost_cm_drop why;
	uint64_t next_ns = UINT64_MAX;

	/* Showing one lets the lock go, and only this thread takes any away. */
	for (conn = TAILQ_FIRST(&cm->held); conn != NULL; conn = after) {
		after = TAILQ_NEXT(conn, held_link);
		if (roost_cm_mac_gen(conn->neigh) != 0) {
			in = (struct roost_gsi_msg){ .addr = conn->addr };
			roost_cm_release(conn);
			/* Cannot fail: the same message was decoded when it
			 * came.
			 */
			roost_cm_msg_decode(conn->mad, sizeof(conn->mad), &msg,
					    &why);
			show(conn, &in, &msg);
		} else if (conn->resolve_at_ns <= cm->now_ns) {
			drop_held(conn);
		} else if (conn->resolve_at_ns < next_ns) {
			next_ns = conn->resolve_at_ns;
		}
	}
	return next_ns;
}

static void open_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
		     const struct roost_cm_msg *msg,
		     struct roost_cm_listener *listener)
{
	struct roost_cm_conn *conn = new_passive(listener, msg);
	uint16_t reason;
	int ret;

	if (!conn)
		return;
	reason = take_paths(conn, in, msg);
	if (reason != 0) {
		roost_cm_reject_msg(cm, in, msg, ROOST_CM_ABOUT_REQ, reason);
		roost_cm_conn_free(conn);
		return;
	}
	remember_req(conn, msg);
	enter_tables(conn, in, msg);
	enter(conn, ROOST_CM_REQ_HELD);
	ret = roost_cm_meet_peer(conn);
	if (ret == 0 || (ret == -EAGAIN && !conn->neigh))
		show(conn, in, msg);
	else if (ret == -EAGAIN)
		hold(conn, in);
	else
		drop_held(conn);
}

void roost_cm_got_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
		      const struct roost_cm_msg *msg)
{
	struct roost_cm_event event = { .status = 0 };

	if (!roost_gid_eq(&msg->primary.local_gid, &in->addr.peer) ||
	    !roost_gid_eq(&msg->primary.remote_gid, &in->addr.local) ||
	    lies(in, msg)) {
		roost_cm_drop(cm, ROOST_CM_DROP_PEER);
		return;
	}
	if (!roost_cm_rate_take(cm, &in->addr.peer)) {
		roost_cm_drop(cm, ROOST_CM_DROP_RATE);
		return;
	}
	if (is_known(cm, in, msg))
		return;
	if (!listener_of(cm, in, msg, &event)) {
		if (!await_listener(cm, in))
			roost_cm_reject_msg(cm, in, msg, ROOST_CM_ABOUT_REQ,
					    ROOST_CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	if (!has_room(cm, event.listener) || is_left(cm, in, msg))
		return;
	make_room(cm, in);
	if (listener_of(cm, in, msg, &event))
		open_req(cm, in, msg, event.listener);
}

/* ---- SIDR_REQ ----------------------------------------------------------- */

static void refuse_sidr(struct roost_cm *cm, const struct roost_gsi_msg *in,
			const struct roost_cm_msg *msg)
{
	const struct roost_cm_msg rep = {
		.type = ROOST_CM_SIDR_REP,
		.tid = msg->tid,
		.local_id = msg->local_id,
		.service_id = msg->service_id,
		.status = ROOST_CM_SIDR_UNSUPPORTED,
	};

	roost_cm_reply(cm, in, &rep);
}

static void open_sidr(struct roost_cm *cm, const struct roost_gsi_msg *in,
		      const struct roost_cm_msg *msg,
		      const struct roost_cm_key *key,
		      struct roost_cm_event *event)
{
	struct roost_cm_path path = {
		.sgid = in->addr.local,
		.dgid = in->addr.peer,
		.port_num = in->addr.port_num,
		.pkey = in->addr.pkey,
		.traffic_class = in->addr.traffic_class,
		.sl = in->addr.sl,
		.hop_limit = in->addr.hop_limit,
		.flow_label = in->addr.flow_label,
	};
	struct roost_cm_conn *conn;

	if (roost_dev_find_gid(cm->dev, path.port_num, &path.sgid,
			       &path.sgid_index) != 0)
		return;
	conn = new_passive(event->listener, msg);
	if (!conn)
		return;
	memcpy(path.dmac, in->addr.peer_mac, 6);
	roost_cm_set_path(conn, &path);
	roost_cm_table_add(&cm->sidrs, &conn->by_id, key, conn);
	enter(conn, ROOST_CM_REQ_HELD);
	/* The answer to the lookup goes to the source MAC of the request. The
	 * program's next packet does not, but it need not wait for the
	 * neighbour that was asked for here.
	 */
	if (roost_cm_meet_peer(conn) == -EHOSTUNREACH) {
		drop_held(conn);
		return;
	}
	event->type = ROOST_CM_SIDR_REQ_RECEIVED;
	if (hand_over(conn, in, msg, ROOST_CM_SIDR_REQ_RCVD, event))
		roost_cm_tell(conn, event);
}

void roost_cm_got_sidr_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
			   const struct roost_cm_msg *msg)
{
	const struct roost_cm_key key = {
		.gid = in->addr.peer,
		.number = msg->local_id,
	};
	struct roost_cm_event event = { .status = 0 };
	struct roost_cm_conn *conn;

	if (lies(in, msg)) {
		roost_cm_drop(cm, ROOST_CM_DROP_PEER);
		return;
	}
	if (!roost_cm_rate_take(cm, &in->addr.peer)) {
		roost_cm_drop(cm, ROOST_CM_DROP_RATE);
		return;
	}
	conn = roost_cm_table_find(&cm->sidrs, &key);
	conn = not_another(conn, msg);
	if (conn) {
		roost_cm_take_input(conn, ROOST_CM_GOT_SIDR_REQ, msg, 0);
		roost_cm_drop(cm, ROOST_CM_DROP_STATE);
		return;
	}
	if (!listener_of(cm, in, msg, &event)) {
		if (!await_listener(cm, in))
			refuse_sidr(cm, in, msg);
		return;
	}
	if (!has_room(cm, event.listener) || is_left(cm, in, msg))
		return;
	make_room(cm, in);
	if (listener_of(cm, in, msg, &event))
		open_sidr(cm, in, msg, &key, &event);
}
