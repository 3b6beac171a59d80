/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What the control tool sees of connections and listeners: their last steps,
 * and what they wait for.
 */

#include <stdio.h>

#include "cm/priv.h"

/* ---- moments ------------------------------------------------------------ */

static uint16_t code_of(const struct roost_cm_conn *conn,
			enum roost_cm_input input,
			const struct roost_cm_msg *msg)
{
	if (input == ROOST_CM_TRIES_SPENT)
		return (uint16_t)conn->mad_type;
	if (msg && msg->type == ROOST_CM_REJ)
		return msg->reason;
	return msg && msg->type == ROOST_CM_SIDR_REP ? msg->status : 0;
}

void roost_cm_note(struct roost_cm_conn *conn, enum roost_cm_input input,
		   enum roost_cm_state next, const struct roost_cm_msg *msg)
{
	struct roost_cm *cm = conn->cm;
	const struct roost_cm_moment now = {
		.at_ns = cm->running ? cm->at_ns : 0,
		.count = 1,
		.code = code_of(conn, input, msg),
		.input = (uint8_t)input,
		.state = (uint8_t)next,
	};
	struct roost_cm_moment *last =
		&conn->moments[(conn->nb_moments - 1) % ROOST_CONN_STEPS];

	if (conn->nb_moments > 0 && last->input == now.input &&
	    last->state == now.state && last->code == now.code) {
		last->at_ns = now.at_ns;
		if (last->count < UINT16_MAX)
			last->count++;
	} else {
		conn->moments[conn->nb_moments++ % ROOST_CONN_STEPS] = now;
	}
	if (next != conn->state)
		conn->since_ns = now.at_ns;
	if (now.at_ns == 0 && !conn->in_noted) {
		conn->in_noted = true;
		LIST_INSERT_HEAD(&cm->noted, conn, noted_link);
	}
}

void roost_cm_stop_noting(struct roost_cm_conn *conn)
{
	if (!conn->in_noted)
		return;
	conn->in_noted = false;
	LIST_REMOVE(conn, noted_link);
}

void roost_cm_stamp(struct roost_cm *cm, uint64_t now_ns)
{
	struct roost_cm_conn *conn;

	cm->at_ns = now_ns;
	while ((conn = LIST_FIRST(&cm->noted)) != NULL) {
		roost_cm_stop_noting(conn);
		if (conn->since_ns == 0)
			conn->since_ns = now_ns;
		for (unsigned int i = 0; i < ROOST_CONN_STEPS; i++)
			if (conn->moments[i].at_ns == 0)
				conn->moments[i].at_ns = now_ns;
	}
}

/* ---- words -------------------------------------------------------------- */

static const struct {
	const char *what;
	enum roost_conn_step_kind kind;
} words[ROOST_CM_INPUTS] = {
	[ROOST_CM_DO_CONNECT] = { "REQ sent by the program", 0 },
	[ROOST_CM_DO_ACCEPT] = { "REP sent: the program accepted", 0 },
	[ROOST_CM_DO_ESTABLISH] = { "RTU sent", 0 },
	[ROOST_CM_DO_REJECT] = { "REJ sent: the program refused",
				 ROOST_CONN_REFUSED_HERE },
	[ROOST_CM_DO_MRA] = { "MRA sent: the program needs more time", 0 },
	[ROOST_CM_DO_COMM_EST] = { "a packet came before the RTU", 0 },
	[ROOST_CM_DO_DISCONNECT] = { "the program disconnected", 0 },
	[ROOST_CM_DO_SIDR_REQ] = { "SIDR_REQ sent by the program", 0 },
	[ROOST_CM_DO_SIDR_REP] = { "SIDR_REP sent: the program answered", 0 },
	[ROOST_CM_DO_DESTROY] = { "the program destroyed its id", 0 },
	[ROOST_CM_GOT_REQ] = { "REQ received", 0 },
	[ROOST_CM_GOT_MRA_REQ] = { "MRA received: the peer needs more time",
				   0 },
	[ROOST_CM_GOT_MRA_REP] = { "MRA received: the peer needs more time",
				   0 },
	[ROOST_CM_GOT_REJ] = { "REJ received", ROOST_CONN_REFUSED },
	[ROOST_CM_GOT_REJ_STALE] = { "REJ received", ROOST_CONN_REFUSED },
	[ROOST_CM_GOT_REP] = { "REP received", 0 },
	[ROOST_CM_GOT_RTU] = { "RTU received", 0 },
	[ROOST_CM_GOT_DREQ] = { "DREQ received: the peer disconnected", 0 },
	[ROOST_CM_GOT_DREP] = { "DREP received", 0 },
	[ROOST_CM_GOT_SIDR_REQ] = { "SIDR_REQ received", 0 },
	[ROOST_CM_GOT_SIDR_REP] = { "SIDR_REP received", 0 },
	[ROOST_CM_GOT_STALE] = { "the peer uses its QP for a new connection",
				 ROOST_CONN_STALE },
	[ROOST_CM_CROWDED_OUT] = { "dropped, to make room for other requests",
				   ROOST_CONN_DROPPED },
	[ROOST_CM_TRIES_SPENT] = { "given up, no answer",
				   ROOST_CONN_UNANSWERED },
	[ROOST_CM_TIME_OVER] = { "its time was over", 0 },
};

static const char *rej_text(uint16_t reason)
{
	static const char *const texts[] = {
		[ROOST_CM_REJ_NO_QP] = "no QP",
		[ROOST_CM_REJ_NO_RESOURCES] = "no resources",
		[ROOST_CM_REJ_TIMEOUT] = "timeout: it gave up waiting",
		[ROOST_CM_REJ_UNSUPPORTED] = "unsupported request",
		[ROOST_CM_REJ_INVALID_COMM_ID] = "invalid communication ID",
		[ROOST_CM_REJ_INVALID_SERVICE_ID] =
			"invalid service ID: nobody listens there",
		[ROOST_CM_REJ_INVALID_TRANSPORT_TYPE] =
			"invalid transport type",
		[ROOST_CM_REJ_STALE_CONN] =
			"stale connection: it still has one of this QP",
		[ROOST_CM_REJ_INVALID_GID] = "invalid GID",
		[ROOST_CM_REJ_INVALID_ALT_GID] = "invalid alternate GID",
		[ROOST_CM_REJ_CONSUMER_DEFINED] =
			"consumer: the program refused, or ended",
		[ROOST_CM_REJ_DUPLICATE_LOCAL_COMM_ID] =
			"duplicate communication ID",
		[ROOST_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED] =
			"ECE options not supported",
	};

	return reason < sizeof(texts) / sizeof(texts[0]) ? texts[reason] : NULL;
}

static const char *sidr_text(uint16_t status)
{
	static const char *const texts[] = {
		[ROOST_CM_SIDR_UNSUPPORTED] = "nobody listens there",
		[ROOST_CM_SIDR_REJECT] = "the program refused",
		[ROOST_CM_SIDR_NO_QP] = "no QP",
		[ROOST_CM_SIDR_REDIRECT] = "redirected",
		[ROOST_CM_SIDR_UNSUPPORTED_VERSION] = "unsupported version",
	};

	return status < sizeof(texts) / sizeof(texts[0]) ? texts[status] : NULL;
}

const char *roost_cm_drop_name(enum roost_cm_drop reason)
{
	static const char *const names[ROOST_CM_DROP_COUNT] = {
		[ROOST_CM_DROP_HEADER] = "header",
		[ROOST_CM_DROP_LENGTH] = "length",
		[ROOST_CM_DROP_FIELD] = "field",
		[ROOST_CM_DROP_UNKNOWN] = "unknown",
		[ROOST_CM_DROP_PEER] = "peer",
		[ROOST_CM_DROP_STATE] = "state",
		[ROOST_CM_DROP_BACKLOG] = "backlog",
		[ROOST_CM_DROP_HALF_OPEN] = "half-open",
		[ROOST_CM_DROP_RATE] = "rate",
		[ROOST_CM_DROP_UNREACHABLE] = "unreachable",
	};

	return (unsigned int)reason < ROOST_CM_DROP_COUNT ? names[reason]
							  : "unknown";
}

/* What a state waits for. */
static const struct {
	enum roost_conn_phase phase;
	const char *waits_for;
} waits[ROOST_CM_STATES] = {
	[ROOST_CM_IDLE] = { ROOST_CONN_IDLE, NULL },
	[ROOST_CM_REQ_SENT] = { ROOST_CONN_WAITS_PEER, "a REP" },
	[ROOST_CM_MRA_REQ_RCVD] = { ROOST_CONN_WAITS_PEER,
				    "a REP, for which the peer asked for time "
				    "(MRA)" },
	[ROOST_CM_REP_RCVD] = { ROOST_CONN_WAITS_PROGRAM,
				"the program, to confirm the REP by reading "
				"its event" },
	[ROOST_CM_REQ_HELD] = { ROOST_CONN_LINGERS,
				"the MAC address of the next hop back" },
	[ROOST_CM_REQ_RCVD] = { ROOST_CONN_WAITS_PROGRAM,
				"the program, to accept or reject the REQ" },
	[ROOST_CM_REJ_SENT] = { ROOST_CONN_LINGERS,
				"duplicates of the REQ, to answer them" },
	[ROOST_CM_REP_SENT] = { ROOST_CONN_WAITS_PEER, "an RTU" },
	[ROOST_CM_MRA_REP_RCVD] = { ROOST_CONN_WAITS_PEER,
				    "an RTU, for which the peer asked for time "
				    "(MRA)" },
	[ROOST_CM_ESTAB] = { ROOST_CONN_ESTABLISHED, NULL },
	[ROOST_CM_DREQ_SENT] = { ROOST_CONN_WAITS_PEER, "a DREP" },
	[ROOST_CM_DREQ_RCVD] = { ROOST_CONN_WAITS_PROGRAM,
				 "the program, to disconnect, too" },
	[ROOST_CM_TIMEWAIT] = { ROOST_CONN_LINGERS,
				"packets on the way to disappear (timewait)" },
	[ROOST_CM_SIDR_REQ_SENT] = { ROOST_CONN_WAITS_PEER, "a SIDR_REP" },
	[ROOST_CM_SIDR_REQ_RCVD] = { ROOST_CONN_WAITS_PROGRAM,
				     "the program, to answer the SIDR_REQ" },
	[ROOST_CM_SIDR_REPLIED] = { ROOST_CONN_LINGERS,
				    "duplicates of the SIDR_REQ, to answer "
				    "them" },
};

/* ---- views -------------------------------------------------------------- */

static struct roost_conn_service service_of(uint64_t id)
{
	static const struct {
		enum roost_cm_port_space ps;
		const char *name;
	} spaces[] = {
		{ ROOST_CM_PS_TCP, "TCP" },
		{ ROOST_CM_PS_UDP, "UDP" },
		{ ROOST_CM_PS_IPOIB, "IPoIB" },
		{ ROOST_CM_PS_IB, "IB" },
	};
	struct roost_conn_service service = { .id = id };

	for (unsigned int i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (id >> 16 != spaces[i].ps)
			continue;
		service.port_space = spaces[i].name;
		service.port = (uint16_t)id;
	}
	return service;
}

static void view_steps(const struct roost_cm_conn *conn, uint64_t now_ns,
		       struct roost_conn_view *view)
{
	const uint32_t nb = conn->nb_moments < ROOST_CONN_STEPS
				    ? conn->nb_moments
				    : ROOST_CONN_STEPS;

	for (uint32_t i = 0; i < nb; i++) {
		const struct roost_cm_moment *m =
			&conn->moments[(conn->nb_moments - nb + i) %
				       ROOST_CONN_STEPS];
		struct roost_conn_step *step = &view->steps[i];

		*step = (struct roost_conn_step){
			.at_ns = m->at_ns != 0 ? m->at_ns : now_ns,
			.count = m->count,
			.kind = words[m->input].kind,
			.what = words[m->input].what,
			.state = roost_cm_state_name(m->state),
			.code = m->code,
		};
		if (m->input == ROOST_CM_TRIES_SPENT) {
			step->code_text = roost_cm_msg_name(m->code);
		} else if (m->input == ROOST_CM_GOT_SIDR_REP) {
			step->code_text = sidr_text(m->code);
			if (m->code != ROOST_CM_SIDR_SUCCESS)
				step->kind = ROOST_CONN_REFUSED;
		} else if (step->kind != ROOST_CONN_STEP) {
			step->code_text = rej_text(m->code);
		}
	}
	view->nb_steps = nb;
}

/* The end of what conn waits for, by the clock of now_ns; 0: none is set. */
static uint64_t deadline_of(const struct roost_cm_conn *conn, uint64_t now_ns)
{
	const uint64_t cm_now_ns =
		now_ns - roost_dev_still_ns(conn->cm->dev, now_ns);
	uint64_t at_ns = 0;

	if (conn->wait_ns != 0)
		return now_ns + conn->wait_ns;
	if (roost_timer_is_set(&conn->timer))
		at_ns = conn->timer.deadline_ns << ROOST_CM_TIMER_SHIFT;
	else if ((conn->resolving && conn->resolve_ns == 0) || conn->in_held)
		at_ns = conn->resolve_at_ns;
	if (at_ns == 0)
		return 0;
	return at_ns > cm_now_ns ? now_ns + (at_ns - cm_now_ns) : now_ns;
}

static void view_waits(const struct roost_cm_conn *conn,
		       struct roost_conn_view *view)
{
	const bool lap = conn->state == ROOST_CM_ESTAB && conn->retrying;
	const enum roost_cm_msg_type type = lap ? ROOST_CM_LAP : conn->mad_type;

	view->phase = waits[conn->state].phase;
	view->waits_for = lap ? "an APR" : waits[conn->state].waits_for;
	if (conn->resolving) {
		view->phase = ROOST_CONN_RESOLVING;
		view->waits_for = "the MAC address of the next hop";
	}
	view->message = roost_cm_msg_name(type);
	view->repeats = conn->retrying;
	view->unsent = conn->mad_waits;
	view->resent_max = conn->max_tries;
	view->resent = conn->retrying
			       ? (uint8_t)(conn->max_tries - conn->tries_left)
			       : 0;
	view->retry_ns = conn->retry_ns;
	view->retries_of_device = conn->cm->counters.retries[type];
}

static void view_conn(const struct roost_cm_conn *conn, uint64_t now_ns,
		      struct roost_conn_view *view)
{
	*view = (struct roost_conn_view){
		.id = conn->local_id,
		.remote_id = conn->remote_id,
		.state = roost_cm_state_name(conn->state),
		.since_ns = conn->since_ns,
		.passive = conn->passive,
		.owned = conn->owned,
		.service = service_of(conn->service_id),
		.qpn = conn->local_qpn,
		.remote_qpn = conn->remote_qpn,
		.deadline_ns = deadline_of(conn, now_ns),
	};
	if (conn->since_ns == 0 && conn->in_noted)
		view->since_ns = now_ns;
	if (conn->has_path) {
		view->port_num = conn->path.port_num;
		view->sgid = conn->path.sgid;
		view->dgid = conn->path.dgid;
	}
	view_waits(conn, view);
	view_steps(conn, now_ns, view);
}

static void view_listener(const struct roost_cm_listener *l,
			  struct roost_listener_view *view)
{
	static const char *const families[] = {
		[ROOST_CM_FAMILY_ANY] = NULL,
		[ROOST_CM_FAMILY_IPV4] = "IPv4",
		[ROOST_CM_FAMILY_IPV6] = "IPv6",
	};

	*view = (struct roost_listener_view){
		.service = service_of(l->param.service_id),
		.addr = l->param.addr,
		.family = families[l->param.family],
		.backlog = (uint32_t)l->param.backlog,
		.waiting = (uint32_t)l->nb_waiting,
		.requests = l->nb_requests,
		.dropped = l->nb_dropped,
		.dropped_at_ns = l->dropped_at_ns,
	};
}

static void show_counters(const struct roost_cm *cm,
			  const struct roost_conn_viewer *viewer)
{
	const struct roost_cm_counters *c = &cm->counters;
	char name[48];

	for (enum roost_cm_msg_type i = 0; i < ROOST_CM_MSG_COUNT; i++) {
		const struct {
			const char *what;
			uint64_t value;
		} each[] = {
			{ "rx", c->rx[i] },
			{ "tx", c->tx[i] },
			{ "retries", c->retries[i] },
		};

		for (unsigned int k = 0; k < 3; k++) {
			snprintf(name, sizeof(name), "%s_%s", each[k].what,
				 roost_cm_msg_name(i));
			viewer->counter(viewer->arg, name, each[k].value);
		}
	}
	for (enum roost_cm_drop i = 0; i < ROOST_CM_DROP_COUNT; i++) {
		snprintf(name, sizeof(name), "drops_%s", roost_cm_drop_name(i));
		viewer->counter(viewer->arg, name, c->drops[i]);
	}
}

void roost_cm_view(void *arg, uint64_t now_ns,
		   const struct roost_conn_viewer *viewer)
{
	struct roost_cm *cm = arg;
	const struct roost_cm_listener *l;
	const struct roost_cm_conn *conn;
	struct roost_listener_view listener;
	struct roost_conn_view view;

	roost_cm_lock(cm);
	if (viewer->listener)
		LIST_FOREACH(l, &cm->listeners, link) {
			view_listener(l, &listener);
			viewer->listener(viewer->arg, &listener);
		}
	if (viewer->conn)
		LIST_FOREACH(conn, &cm->conns, all_link) {
			view_conn(conn, now_ns, &view);
			viewer->conn(viewer->arg, &view);
		}
	if (viewer->counter)
		show_counters(cm, viewer);
	roost_cm_unlock(cm);
}
