/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The attributes that a QP needs in INIT, RTR and RTS to serve its connection.
 */

#include <errno.h>

#include "cm/priv.h"

static struct roost_av av_of(const struct roost_cm_path *path)
{
	return (struct roost_av){
		.dgid = path->dgid,
		.flow_label = path->flow_label,
		.sgid_index = path->sgid_index,
		.hop_limit = path->hop_limit,
		.traffic_class = path->traffic_class,
		.is_global = true,
		.sl = path->sl,
		.static_rate = path->rate,
		.port_num = path->port_num,
	};
}

static void alternate_attr(const struct roost_cm_conn *conn,
			   struct roost_qp_attr *attr, uint32_t *mask)
{
	*mask |= ROOST_QP_ALT_PATH;
	attr->alt_av = av_of(&conn->alternate);
	attr->alt_port_num = conn->alternate.port_num;
	attr->alt_pkey_index = conn->alternate.pkey_index;
	attr->alt_timeout = conn->alt_timeout;
}

static void init_attr(const struct roost_cm_conn *conn,
		      struct roost_qp_attr *attr, uint32_t *mask)
{
	*mask = ROOST_QP_STATE | ROOST_QP_ACCESS_FLAGS | ROOST_QP_PKEY_INDEX |
		ROOST_QP_PORT;
	attr->access = ROOST_ACCESS_REMOTE_WRITE;
	if (conn->responder_resources != 0)
		attr->access |=
			ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC;
	attr->pkey_index = conn->path.pkey_index;
	attr->port_num = conn->path.port_num;
}

static void rtr_attr(const struct roost_cm_conn *conn,
		     struct roost_qp_attr *attr, uint32_t *mask)
{
	*mask = ROOST_QP_STATE | ROOST_QP_AV | ROOST_QP_PATH_MTU |
		ROOST_QP_DEST_QPN | ROOST_QP_RQ_PSN;
	attr->av = av_of(&conn->path);
	attr->path_mtu = conn->path.mtu;
	attr->dest_qpn = conn->remote_qpn;
	attr->rq_psn = conn->rq_psn;
	if (conn->qp_type == ROOST_QPT_RC ||
	    conn->qp_type == ROOST_QPT_XRC_TGT) {
		*mask |= ROOST_QP_MAX_DEST_RD_ATOMIC | ROOST_QP_MIN_RNR_TIMER;
		attr->max_dest_rd_atomic = conn->responder_resources;
		attr->min_rnr_timer = 0;
	}
	if (conn->has_alternate)
		alternate_attr(conn, attr, mask);
}

static void rts_attr(const struct roost_cm_conn *conn,
		     struct roost_qp_attr *attr, uint32_t *mask)
{
	if (conn->lap != ROOST_CM_LAP_NONE) {
		*mask = ROOST_QP_PATH_MIG_STATE;
		alternate_attr(conn, attr, mask);
		attr->path_mig_state = ROOST_MIG_REARM;
		return;
	}
	*mask = ROOST_QP_STATE | ROOST_QP_SQ_PSN;
	attr->sq_psn = conn->sq_psn;
	if (conn->qp_type == ROOST_QPT_RC ||
	    conn->qp_type == ROOST_QPT_XRC_INI) {
		*mask |= ROOST_QP_RETRY_CNT | ROOST_QP_RNR_RETRY |
			 ROOST_QP_MAX_QP_RD_ATOMIC;
		attr->retry_cnt = conn->retry_count;
		attr->rnr_retry = conn->rnr_retry_count;
		attr->max_rd_atomic = conn->initiator_depth;
	}
	if (conn->qp_type != ROOST_QPT_UC) {
		*mask |= ROOST_QP_TIMEOUT;
		attr->timeout = conn->ack_timeout != 0 ? conn->ack_timeout
						       : conn->timeout;
	}
	if (conn->has_alternate) {
		*mask |= ROOST_QP_PATH_MIG_STATE;
		attr->path_mig_state = ROOST_MIG_REARM;
	}
}

/* In which states of the connection, bit 1 << state. */
#define KNOWS_PEER                                                             \
	(1u << ROOST_CM_REQ_RCVD | 1u << ROOST_CM_REP_RCVD |                   \
	 1u << ROOST_CM_REP_SENT | 1u << ROOST_CM_MRA_REP_RCVD |               \
	 1u << ROOST_CM_ESTAB)
#define KNOWS_PATH                                                             \
	(KNOWS_PEER | 1u << ROOST_CM_REQ_SENT | 1u << ROOST_CM_MRA_REQ_RCVD)

static int fill(const struct roost_cm_conn *conn, enum roost_qp_state to,
		struct roost_qp_attr *attr, uint32_t *mask)
{
	unsigned int state = 1u << conn->state;

	if (!(state & KNOWS_PATH) ||
	    (to != ROOST_QPS_INIT && !(state & KNOWS_PEER)))
		return -EINVAL;
	if (to == ROOST_QPS_INIT)
		init_attr(conn, attr, mask);
	else if (to == ROOST_QPS_RTR)
		rtr_attr(conn, attr, mask);
	else if (to == ROOST_QPS_RTS)
		rts_attr(conn, attr, mask);
	else
		return -EINVAL;
	return 0;
}

int roost_cm_conn_qp_attr(struct roost_cm_conn *conn, enum roost_qp_state to,
			  struct roost_qp_attr *attr, uint32_t *mask)
{
	int ret;

	*attr = (struct roost_qp_attr){ .state = to };
	*mask = 0;
	if (to == ROOST_QPS_RTR)
		roost_cm_hold_peer(conn);
	roost_cm_lock(conn->cm);
	ret = fill(conn, to, attr, mask);
	roost_cm_unlock(conn->cm);
	return ret;
}
