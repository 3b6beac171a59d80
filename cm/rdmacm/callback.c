/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Events of the CM, turned into events of ids. Runs on the thread that runs
 * the CM: takes the locks of events only, waits for nothing, and touches no QP.
 *
 * The events in each state, and their statuses, are those of the Linux kernel's
 * rdma_cm.
 */

#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/rdmacm.h"

/* The AP status of an APR (IBTA 12.8): alternate paths are not supported. */
#define APR_UNSUPPORTED 2

static void copy_data(struct roost_rdmacm_event *e,
		      const struct roost_cm_event *ev, const void **data,
		      uint8_t *len)
{
	if (ev->data_len_bytes == 0 || ev->data_len_bytes > sizeof(e->data))
		return;
	memcpy(e->data, ev->data, ev->data_len_bytes);
	*data = e->data;
	*len = (uint8_t)ev->data_len_bytes;
}

static void copy_conn(struct roost_rdmacm_event *e,
		      const struct roost_cm_event *ev)
{
	struct rdma_conn_param *conn = &e->event.param.conn;

	copy_data(e, ev, &conn->private_data, &conn->private_data_len);
	conn->responder_resources = ev->peer.responder_resources;
	conn->initiator_depth = ev->peer.initiator_depth;
	conn->flow_control = ev->peer.flow_control;
	conn->retry_count = ev->peer.retry_count;
	conn->rnr_retry_count = ev->peer.rnr_retry_count;
	conn->srq = ev->peer.srq;
	conn->qp_num = ev->peer.qpn;
}

/* For a message without connection parameters: copy the private data only. */
static void copy_only_data(struct roost_rdmacm_event *e,
			   const struct roost_cm_event *ev)
{
	if (roost_rdmacm_is_ud(roost_rdmacm_id(e->event.id)))
		copy_data(e, ev, &e->event.param.ud.private_data,
			  &e->event.param.ud.private_data_len);
	else
		copy_data(e, ev, &e->event.param.conn.private_data,
			  &e->event.param.conn.private_data_len);
}

static void copy_ece(struct roost_rdmacm_id *id,
		     const struct roost_cm_event *ev)
{
	id->remote_ece.vendor_id = ev->peer.ece_vendor_id;
	id->remote_ece.options = ev->peer.ece_attr_mod;
}

/* ---- of a connection ---------------------------------------------------- */

static void on_addr(struct roost_rdmacm_id *id, const struct roost_cm_event *ev)
{
	const bool ok = ev->type == ROOST_CM_ADDR_RESOLVED;

	if (!roost_rdmacm_id_move(id, ROOST_RDMACM_ADDR_QUERY,
				  ok ? ROOST_RDMACM_ADDR_RESOLVED
				     : ROOST_RDMACM_BOUND))
		return;
	roost_rdmacm_tell(id,
			  ok ? RDMA_CM_EVENT_ADDR_RESOLVED
			     : RDMA_CM_EVENT_ADDR_ERROR,
			  ev->status);
}

static void on_addr_change(struct roost_rdmacm_id *id,
			   const struct roost_cm_event *ev)
{
	(void)ev;
	roost_rdmacm_tell(id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
}

static void on_unreachable(struct roost_rdmacm_id *id,
			   const struct roost_cm_event *ev)
{
	if (roost_rdmacm_id_state(id) == ROOST_RDMACM_CONNECT)
		roost_rdmacm_tell(id, RDMA_CM_EVENT_UNREACHABLE, ev->status);
}

static void on_reply(struct roost_rdmacm_id *id,
		     const struct roost_cm_event *ev)
{
	struct roost_rdmacm_event *e;

	if (roost_rdmacm_id_state(id) != ROOST_RDMACM_CONNECT)
		return;
	e = roost_rdmacm_event_new(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	if (!e)
		return;
	copy_conn(e, ev);
	copy_ece(id, ev);
	roost_rdmacm_push(id, NULL, e);
}

static void on_established(struct roost_rdmacm_id *id,
			   const struct roost_cm_event *ev)
{
	(void)ev;
	if (roost_rdmacm_id_state(id) == ROOST_RDMACM_CONNECT)
		roost_rdmacm_tell(id, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void on_reject(struct roost_rdmacm_id *id,
		      const struct roost_cm_event *ev)
{
	struct roost_rdmacm_event *e;

	if (roost_rdmacm_id_state(id) != ROOST_RDMACM_CONNECT)
		return;
	e = roost_rdmacm_event_new(id, RDMA_CM_EVENT_REJECTED, ev->status);
	if (!e)
		return;
	copy_only_data(e, ev);
	roost_rdmacm_push(id, NULL, e);
}

/* One DISCONNECTED, whichever side began, and whether the other side answered
 * or not.
 */
static void on_disconnect(struct roost_rdmacm_id *id,
			  const struct roost_cm_event *ev)
{
	if (roost_rdmacm_id_move(id, ROOST_RDMACM_CONNECT,
				 ROOST_RDMACM_DISCONNECT))
		roost_rdmacm_tell(id, RDMA_CM_EVENT_DISCONNECTED, ev->status);
}

static void on_timewait_exit(struct roost_rdmacm_id *id,
			     const struct roost_cm_event *ev)
{
	(void)ev;
	if (roost_rdmacm_id_state(id) == ROOST_RDMACM_DISCONNECT)
		roost_rdmacm_tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

static void on_service(struct roost_rdmacm_id *id,
		       const struct roost_cm_event *ev)
{
	struct roost_rdmacm_event *e;
	const bool ok = ev->status == ROOST_CM_SIDR_SUCCESS;

	if (roost_rdmacm_id_state(id) != ROOST_RDMACM_CONNECT)
		return;
	e = roost_rdmacm_event_new(id,
				   ok ? RDMA_CM_EVENT_ESTABLISHED
				      : RDMA_CM_EVENT_UNREACHABLE,
				   ev->status);
	if (!e)
		return;
	copy_only_data(e, ev);
	if (ok) {
		e->event.param.ud.qp_num = ev->qpn;
		e->event.param.ud.qkey = ev->qkey;
	}
	roost_rdmacm_push(id, NULL, e);
}

/* rdma_cm has no calls for alternate paths: the peer need not wait and repeat
 * its proposal until it gives up.
 */
static void on_alternate(struct roost_rdmacm_id *id,
			 const struct roost_cm_event *ev)
{
	(void)ev;
	roost_cm_apr(id->conn, APR_UNSUPPORTED, NULL, 0, NULL, 0);
}

static void on_nothing(struct roost_rdmacm_id *id,
		       const struct roost_cm_event *ev)
{
	(void)id;
	(void)ev;
}

static void (*const handlers[ROOST_CM_EVENT_TYPES])(
	struct roost_rdmacm_id *id, const struct roost_cm_event *ev) = {
	[ROOST_CM_ADDR_RESOLVED] = on_addr,
	[ROOST_CM_ADDR_ERROR] = on_addr,
	[ROOST_CM_ADDR_CHANGE] = on_addr_change,
	/* Requests go to listeners, never to a connection. */
	[ROOST_CM_REQ_RECEIVED] = on_nothing,
	[ROOST_CM_SIDR_REQ_RECEIVED] = on_nothing,
	[ROOST_CM_REQ_ERROR] = on_unreachable,
	[ROOST_CM_REP_ERROR] = on_unreachable,
	[ROOST_CM_REP_RECEIVED] = on_reply,
	[ROOST_CM_RTU_RECEIVED] = on_established,
	[ROOST_CM_ESTABLISHED] = on_established,
	[ROOST_CM_MRA_RECEIVED] = on_nothing,
	[ROOST_CM_REJ_RECEIVED] = on_reject,
	[ROOST_CM_DREQ_RECEIVED] = on_disconnect,
	[ROOST_CM_DREP_RECEIVED] = on_disconnect,
	[ROOST_CM_DREQ_ERROR] = on_disconnect,
	[ROOST_CM_TIMEWAIT_EXIT] = on_timewait_exit,
	[ROOST_CM_LAP_RECEIVED] = on_alternate,
	[ROOST_CM_LAP_ERROR] = on_nothing,
	[ROOST_CM_APR_RECEIVED] = on_nothing,
	[ROOST_CM_SIDR_REQ_ERROR] = on_unreachable,
	[ROOST_CM_SIDR_REP_RECEIVED] = on_service,
};

void roost_rdmacm_on_event(void *arg, struct roost_cm_conn *conn,
			   const struct roost_cm_event *event)
{
	(void)conn;
	handlers[event->type](arg, event);
}

/* ---- of a listener ------------------------------------------------------ */

/* Where the request came from and went to, as addresses of the program's. */
static void set_addresses(struct roost_rdmacm_id *child,
			  const struct roost_cm_event *ev)
{
	const uint16_t port = (uint16_t)ev->service_id;
	const struct roost_gid *src =
		ev->has_ip ? &ev->ip.dst : &child->path.sgid;
	const struct roost_gid *dst =
		ev->has_ip ? &ev->ip.src : &child->path.dgid;

	roost_rdmacm_addr_make(&child->src, roost_rdmacm_gid_family(src), src,
			       port);
	roost_rdmacm_addr_make(&child->dst, roost_rdmacm_gid_family(dst), dst,
			       ev->has_ip ? ev->ip.src_port : 0);
}

static struct roost_rdmacm_id *make_child(const struct roost_rdmacm_listen *l,
					  struct roost_cm_conn *conn,
					  const struct roost_cm_event *ev)
{
	struct roost_rdmacm_id *child =
		roost_rdmacm_id_new(l->id->id.ps, l->id->id.qp_type,
				    l->id->id.context);

	if (!child)
		return NULL;
	child->conn = conn;
	child->begun = true;
	child->state = ROOST_RDMACM_CONNECT;
	/* Until the id is accepted, its end raises no event: the accept fails
	 * then.
	 */
	child->quiet = true;
	child->device = l->device;
	roost_cm_conn_path(conn, &child->path);
	/* Cannot fail: a removal is reported between two runs of the CM. */
	roost_rdmacm_place_take(child, l->device, child->path.port_num,
				&child->path.sgid);
	set_addresses(child, ev);
	copy_ece(child, ev);
	child->initiator_depth = ev->peer.initiator_depth;
	child->responder_resources = ev->peer.responder_resources;
	roost_cm_conn_set_owner(conn, roost_rdmacm_on_event, child);
	return child;
}

void roost_rdmacm_on_request(void *arg, struct roost_cm_conn *conn,
			     const struct roost_cm_event *event)
{
	const struct roost_rdmacm_listen *l = arg;
	struct roost_rdmacm_id *child;
	struct roost_rdmacm_event *e;

	e = roost_rdmacm_event_new(l->id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	child = e ? make_child(l, conn, event) : NULL;
	if (!child) {
		free(e);
		roost_cm_conn_destroy(conn);
		return;
	}
	e->child = child;
	e->event.listen_id = &l->id->id;
	e->event.id = &child->id;
	if (roost_rdmacm_is_ud(child))
		copy_only_data(e, event);
	else
		copy_conn(e, event);
	roost_rdmacm_push(l->id, NULL, e);
}
