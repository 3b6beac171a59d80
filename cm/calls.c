/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Calls of the owner of a connection: each call makes a message and takes a
 * step of the state machine, which decides whether the call is allowed.
 */

#include <errno.h>
#include <string.h>

#include "cm/priv.h"

#define MASK24 0xffffffu
#define RETRIES_3BIT 7

/* Private data, padded with zeros. Returns false: too much. */
static bool put_data(struct roost_cm_msg *msg, size_t from, const void *data,
		     size_t len_bytes)
{
	if (len_bytes > roost_cm_msg_data_len(msg->type) - from)
		return false;
	if (len_bytes > 0)
		memcpy(msg->data + from, data, len_bytes);
	return true;
}

static bool put_info(struct roost_cm_msg *msg, const void *info,
		     size_t len_bytes)
{
	if (len_bytes > ROOST_CM_INFO_MAX)
		return false;
	msg->info_len_bytes = (uint8_t)len_bytes;
	if (len_bytes > 0)
		memcpy(msg->info, info, len_bytes);
	return true;
}

static bool put_ip(struct roost_cm_msg *msg, const struct roost_cm_ip_hdr *ip,
		   const void *data, size_t len_bytes)
{
	if (!ip)
		return put_data(msg, 0, data, len_bytes);
	roost_cm_ip_hdr_encode(ip, msg->data);
	return put_data(msg, ROOST_CM_IP_HDR_LEN, data, len_bytes);
}

/* Between the two of conn, in its exchange. */
static void put_ids(struct roost_cm_conn *conn, struct roost_cm_msg *msg)
{
	msg->tid = conn->tid;
	msg->local_id = conn->local_id;
	msg->remote_id = conn->remote_id;
}

/* A request of ours begins an exchange. */
static void new_tid(struct roost_cm_conn *conn, struct roost_cm_msg *msg)
{
	conn->tid = (conn->tid + (1ull << 32)) >> 32 << 32 | conn->local_id;
	msg->tid = conn->tid;
}

/* Take the step of a call, under the lock. */
static int call(struct roost_cm_conn *conn, enum roost_cm_input input,
		struct roost_cm_msg *msg)
{
	if (!roost_cm_step(conn->state, input)->valid)
		return -EINVAL;
	roost_cm_take_input(conn, input, msg, 0);
	return 0;
}

static int locked_call(struct roost_cm_conn *conn, enum roost_cm_input input,
		       struct roost_cm_msg *msg)
{
	int ret;

	roost_cm_lock(conn->cm);
	put_ids(conn, msg);
	ret = call(conn, input, msg);
	roost_cm_unlock(conn->cm);
	return ret;
}

/* ---- connect ------------------------------------------------------------ */

static uint8_t or_default(uint8_t value, uint8_t otherwise)
{
	return value != 0 ? value : otherwise;
}

static bool check_req(const struct roost_cm_req_param *p)
{
	return (p->qp_type == ROOST_QPT_RC || p->qp_type == ROOST_QPT_UC ||
		p->qp_type == ROOST_QPT_XRC_INI) &&
	       p->path.port_num != 0 && p->retry_count <= RETRIES_3BIT &&
	       p->rnr_retry_count <= RETRIES_3BIT && p->ack_timeout < 32 &&
	       p->remote_cm_response_timeout < 32 &&
	       p->local_cm_response_timeout < 32 && p->max_cm_retries < 16 &&
	       (!p->alternate || (p->alternate->pkey == p->path.pkey &&
				  p->alternate->mtu == p->path.mtu));
}

static void put_transport(struct roost_cm_msg *msg, enum roost_qp_type type)
{
	if (type == ROOST_QPT_UC) {
		msg->transport = ROOST_CM_TRANSPORT_UC;
	} else if (type == ROOST_QPT_XRC_INI) {
		msg->transport = ROOST_CM_TRANSPORT_EXT;
		msg->ext_transport = ROOST_CM_TRANSPORT_EXT_XRC;
	}
}

static bool make_req(const struct roost_cm_req_param *p,
		     struct roost_cm_msg *msg)
{
	*msg = (struct roost_cm_msg){
		.type = ROOST_CM_REQ,
		.attr_mod = p->ece_attr_mod,
		.service_id = p->service_id,
		.vendor_id = p->ece_vendor_id,
		.qpn = p->qpn,
		.initiator_depth = p->initiator_depth,
		.remote_cm_timeout = or_default(p->remote_cm_response_timeout,
						ROOST_CM_RESPONSE_TIMEOUT),
		.local_cm_timeout = or_default(p->local_cm_response_timeout,
					       ROOST_CM_RESPONSE_TIMEOUT),
		.flow_control = p->flow_control,
		.starting_psn = p->starting_psn & MASK24,
		.pkey = p->path.pkey,
		.mtu = (uint8_t)p->path.mtu,
		.max_cm_retries =
			or_default(p->max_cm_retries, ROOST_CM_RETRIES_MAX),
	};
	put_transport(msg, p->qp_type);
	/* An XRC initiator takes no requests. */
	if (p->qp_type != ROOST_QPT_XRC_INI) {
		msg->responder_resources = p->responder_resources;
		msg->retry_count = p->retry_count;
		msg->rnr_retry_count = p->rnr_retry_count;
		msg->srq = p->srq;
	}
	roost_cm_path_to_msg(&p->path, &msg->primary);
	if (p->alternate)
		roost_cm_path_to_msg(p->alternate, &msg->alternate);
	return put_ip(msg, p->ip, p->data, p->data_len_bytes);
}

static void remember_req(struct roost_cm_conn *conn,
			 const struct roost_cm_req_param *p,
			 const struct roost_cm_msg *msg)
{
	conn->service_id = p->service_id;
	conn->qp_type = p->qp_type;
	conn->local_qpn = p->qpn;
	conn->rq_psn = msg->starting_psn;
	conn->responder_resources = p->responder_resources;
	conn->initiator_depth = p->initiator_depth;
	conn->retry_count = p->retry_count;
	conn->timeout = (uint8_t)(p->path.packet_lifetime + 1);
	conn->ack_timeout = p->ack_timeout;
	conn->has_alternate = p->alternate != NULL;
	if (p->alternate) {
		conn->alternate = *p->alternate;
		conn->alt_timeout =
			(uint8_t)(p->alternate->packet_lifetime + 1);
	}
	conn->max_tries = msg->max_cm_retries;
	conn->retry_ns = 2 * roost_cm_code_ns(p->path.packet_lifetime) +
			 roost_cm_code_ns(msg->remote_cm_timeout);
}

/* A path of conn's own resolution keeps its neighbour. */
static int take_path(struct roost_cm_conn *conn,
		     const struct roost_cm_path *path)
{
	bool same = conn->has_path && conn->path.port_num == path->port_num &&
		    roost_gid_eq(&conn->path.sgid, &path->sgid) &&
		    roost_gid_eq(&conn->path.dgid, &path->dgid);
	struct roost_neigh *neigh = conn->neigh;
	uint64_t mac_gen = conn->mac_gen;

	if (conn->cm->gone)
		return -ENODEV;
	if (same)
		conn->neigh = NULL;
	roost_cm_set_path(conn, path);
	if (same && neigh) {
		conn->neigh = neigh;
		conn->mac_gen = mac_gen;
	}
	return roost_cm_ask(conn);
}

int roost_cm_connect(struct roost_cm_conn *conn,
		     const struct roost_cm_req_param *param)
{
	struct roost_cm_msg msg;
	int ret = -EINVAL;

	if (!check_req(param) || !make_req(param, &msg))
		return -EINVAL;
	roost_cm_lock(conn->cm);
	if (conn->state == ROOST_CM_IDLE && !conn->passive && !conn->resolving)
		ret = take_path(conn, &param->path);
	if (ret == 0) {
		remember_req(conn, param, &msg);
		msg.local_id = conn->local_id;
		msg.ca_guid = roost_dev_node_guid(conn->cm->dev);
		new_tid(conn, &msg);
		ret = call(conn, ROOST_CM_DO_CONNECT, &msg);
	}
	roost_cm_unlock(conn->cm);
	return ret;
}

/* ---- answers ------------------------------------------------------------ */

static bool make_rep(const struct roost_cm_conn *conn,
		     const struct roost_cm_rep_param *p,
		     struct roost_cm_msg *msg)
{
	*msg = (struct roost_cm_msg){
		.type = ROOST_CM_REP,
		.attr_mod = p->ece_attr_mod,
		.starting_psn = p->starting_psn & MASK24,
		.responder_resources = p->responder_resources,
		.target_ack_delay = ROOST_CM_ACK_DELAY,
		.failover_accepted = p->failover_accepted,
		.rnr_retry_count = p->rnr_retry_count,
		.ca_guid = roost_dev_node_guid(conn->cm->dev),
		.vendor_high = (uint8_t)(p->ece_vendor_id >> 16),
		.vendor_mid = (uint8_t)(p->ece_vendor_id >> 8),
		.vendor_low = (uint8_t)p->ece_vendor_id,
	};
	if (conn->qp_type == ROOST_QPT_XRC_TGT) {
		msg->eecn = p->qpn;
		msg->srq = 1;
	} else {
		msg->qpn = p->qpn;
		msg->initiator_depth = p->initiator_depth;
		msg->flow_control = p->flow_control;
		msg->srq = p->srq;
	}
	return put_data(msg, 0, p->data, p->data_len_bytes);
}

int roost_cm_accept(struct roost_cm_conn *conn,
		    const struct roost_cm_rep_param *param)
{
	struct roost_cm_msg msg;
	int ret;

	if (param->rnr_retry_count > RETRIES_3BIT ||
	    param->failover_accepted > 2 || !make_rep(conn, param, &msg))
		return -EINVAL;
	roost_cm_hold_peer(conn);
	roost_cm_lock(conn->cm);
	put_ids(conn, &msg);
	ret = call(conn, ROOST_CM_DO_ACCEPT, &msg);
	if (ret == 0) {
		conn->initiator_depth = param->initiator_depth;
		conn->responder_resources = param->responder_resources;
		conn->rq_psn = msg.starting_psn;
		conn->local_qpn = param->qpn & MASK24;
	}
	roost_cm_unlock(conn->cm);
	return ret;
}

int roost_cm_establish(struct roost_cm_conn *conn, const void *data,
		       size_t data_len_bytes)
{
	struct roost_cm_msg msg = { .type = ROOST_CM_RTU };

	if (!put_data(&msg, 0, data, data_len_bytes))
		return -EINVAL;
	return locked_call(conn, ROOST_CM_DO_ESTABLISH, &msg);
}

int roost_cm_conn_comm_est(struct roost_cm_conn *conn)
{
	int ret = -EINVAL;

	roost_cm_lock(conn->cm);
	if (roost_cm_step(conn->state, ROOST_CM_DO_COMM_EST)->valid) {
		ret = 0;
		if (roost_cm_take_input(conn, ROOST_CM_DO_COMM_EST, NULL, 0) ==
		    ROOST_CM_ESTABLISHED) {
			conn->comm_est = true;
			roost_cm_wait(conn, 0);
		}
	}
	roost_cm_unlock(conn->cm);
	return ret;
}

int roost_cm_reject(struct roost_cm_conn *conn, uint16_t reason,
		    const void *info, size_t info_len_bytes, const void *data,
		    size_t data_len_bytes)
{
	struct roost_cm_msg msg = { .type = ROOST_CM_REJ, .reason = reason };
	int ret;

	if (!put_info(&msg, info, info_len_bytes) ||
	    !put_data(&msg, 0, data, data_len_bytes))
		return -EINVAL;
	roost_cm_lock(conn->cm);
	msg.about = roost_cm_about(conn->state);
	put_ids(conn, &msg);
	ret = call(conn, ROOST_CM_DO_REJECT, &msg);
	roost_cm_unlock(conn->cm);
	return ret;
}

int roost_cm_disconnect(struct roost_cm_conn *conn, const void *data,
			size_t data_len_bytes)
{
	struct roost_cm_msg msg = { .type = ROOST_CM_DREQ };
	int ret = -EINVAL;

	roost_cm_lock(conn->cm);
	if (conn->state == ROOST_CM_DREQ_RCVD)
		msg.type = ROOST_CM_DREP;
	if (put_data(&msg, 0, data, data_len_bytes)) {
		msg.qpn = conn->remote_qpn;
		put_ids(conn, &msg);
		ret = call(conn, ROOST_CM_DO_DISCONNECT, &msg);
	}
	roost_cm_unlock(conn->cm);
	return ret;
}

int roost_cm_mra(struct roost_cm_conn *conn, uint8_t service_timeout,
		 const void *data, size_t data_len_bytes)
{
	struct roost_cm_msg msg = {
		.type = ROOST_CM_MRA,
		.service_timeout = service_timeout,
		.about =
			conn->passive ? ROOST_CM_ABOUT_REQ : ROOST_CM_ABOUT_REP,
	};
	int ret;

	if (service_timeout > 31 || !put_data(&msg, 0, data, data_len_bytes))
		return -EINVAL;
	roost_cm_lock(conn->cm);
	put_ids(conn, &msg);
	ret = call(conn, ROOST_CM_DO_MRA, &msg);
	if (ret == 0)
		conn->service_timeout = service_timeout;
	roost_cm_unlock(conn->cm);
	return ret;
}

/* ---- datagram services -------------------------------------------------- */

int roost_cm_sidr_request(struct roost_cm_conn *conn,
			  const struct roost_cm_sidr_req_param *param)
{
	struct roost_cm_msg msg = {
		.type = ROOST_CM_SIDR_REQ,
		.service_id = param->service_id,
		.pkey = param->path.pkey,
	};
	int ret = -EINVAL;

	if (param->path.port_num == 0 || param->max_cm_retries > 15 ||
	    !put_ip(&msg, param->ip, param->data, param->data_len_bytes))
		return -EINVAL;
	roost_cm_lock(conn->cm);
	if (conn->state == ROOST_CM_IDLE && !conn->passive && !conn->resolving)
		ret = take_path(conn, &param->path);
	if (ret == 0) {
		conn->service_id = param->service_id;
		conn->max_tries =
			or_default(param->max_cm_retries, ROOST_CM_RETRIES_MAX);
		conn->retry_ns =
			param->timeout_ms != 0
				? param->timeout_ms * 1000000ull
				: roost_cm_code_ns(ROOST_CM_RESPONSE_TIMEOUT);
		msg.local_id = conn->local_id;
		new_tid(conn, &msg);
		ret = call(conn, ROOST_CM_DO_SIDR_REQ, &msg);
	}
	roost_cm_unlock(conn->cm);
	return ret;
}

int roost_cm_sidr_reply(struct roost_cm_conn *conn,
			const struct roost_cm_sidr_rep_param *param)
{
	struct roost_cm_msg msg = {
		.type = ROOST_CM_SIDR_REP,
		.status = param->status,
		.qpn = param->qpn,
		.qkey = param->qkey,
	};
	int ret;

	if (!put_info(&msg, param->info, param->info_len_bytes) ||
	    !put_data(&msg, 0, param->data, param->data_len_bytes))
		return -EINVAL;
	roost_cm_lock(conn->cm);
	msg.tid = conn->tid;
	msg.local_id = conn->remote_id; /* the request ID */
	msg.service_id = conn->service_id;
	ret = call(conn, ROOST_CM_DO_SIDR_REP, &msg);
	roost_cm_unlock(conn->cm);
	return ret;
}

/* ---- ownership ---------------------------------------------------------- */

int roost_cm_conn_create(struct roost_cm *cm, roost_cm_callback *callback,
			 void *arg, struct roost_cm_conn **conn)
{
	int ret;

	roost_cm_lock(cm);
	ret = roost_cm_conn_new(cm, conn);
	if (ret == 0) {
		(*conn)->callback = callback;
		(*conn)->arg = arg;
		(*conn)->owned = true;
	}
	roost_cm_unlock(cm);
	return ret;
}

void roost_cm_conn_destroy(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;

	roost_cm_lock(cm);
	roost_cm_conn_abandon(conn);
	conn->pinned = true;
	roost_cm_wait_told(cm, conn, NULL);
	conn->pinned = false;
	if (cm->telling == conn)
		cm->telling_gone = true; /* we are its callback */
	else if (!roost_cm_conn_lingers(conn))
		roost_cm_conn_free(conn);
	roost_cm_unlock(cm);
}

void roost_cm_conn_set_owner(struct roost_cm_conn *conn,
			     roost_cm_callback *callback, void *arg)
{
	struct roost_cm *cm = conn->cm;

	roost_cm_lock(cm);
	conn->callback = callback;
	conn->arg = arg;
	roost_cm_wait_told(cm, conn, NULL);
	roost_cm_unlock(cm);
}

bool roost_cm_conn_path(struct roost_cm_conn *conn, struct roost_cm_path *path)
{
	bool has;

	roost_cm_lock(conn->cm);
	has = conn->has_path;
	*path = conn->path;
	roost_cm_unlock(conn->cm);
	return has;
}

void roost_cm_conn_fetched(struct roost_cm_conn *conn)
{
	roost_cm_lock(conn->cm);
	roost_cm_conn_off_backlog(conn);
	roost_cm_unlock(conn->cm);
}
