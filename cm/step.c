/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Executes the actions of a step of the state machine: messages, retries and
 * timers. The connection keeps the last message as it was sent, so that each
 * repetition is the same.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/priv.h"
#include "lib/wire/bytes.h"

/* How long an answer is kept: longer than from try to try of a REQ. */
#define KEEP_NS 8500000000ull
/* From try to try of a DREQ to a peer that is gone. */
#define HASTE_NS 100000000u
/* Longest timewait, whatever a peer's REQ says: one minute. */
#define TIMEWAIT_CODE_MAX 24u
/* Longest waits for an MRA and for the path's timeout, whatever the MRA and the
 * REQ say: 69 s and 4.3 s.
 */
#define MRA_CODE_MAX 24u
#define MRA_PATH_CODE_MAX 20u
/* The service timeout of the kernel's rdma_cm in its MRAs. */
#define SERVICE_TIMEOUT_DEFAULT 24u

/* After this many tries without an answer, the user gets a line. */
#define TRIES_TOLD 2u

static uint8_t at_most(uint8_t code, uint8_t max)
{
	return code < max ? code : max;
}

/* ---- sending ------------------------------------------------------------ */

static void transmit(struct roost_cm_conn *conn, const uint8_t *mad,
		     enum roost_cm_msg_type type)
{
	struct roost_cm *cm = conn->cm;

	if (!roost_cm_refresh_mac(conn)) {
		conn->mad_waits = mad == conn->mad;
		return;
	}
	if (roost_gsi_send(cm->dev, &conn->addr, mad) != -ENOBUFS) {
		cm->counters.tx[type]++;
	} else if (mad == conn->mad) {
		conn->mad_waits = true;
		roost_cm_send_later(conn);
	}
}

void roost_cm_send_waiting(struct roost_cm_conn *conn)
{
	if (!conn->mad_waits)
		return;
	conn->mad_waits = false;
	transmit(conn, conn->mad, conn->mad_type);
}

/* Into the connection, to be repeated. */
static void send_kept(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg)
{
	roost_cm_msg_encode(msg, conn->mad);
	conn->mad_type = msg->type;
	transmit(conn, conn->mad, msg->type);
}

static void send_once(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg)
{
	uint8_t mad[ROOST_CM_MAD_LEN];

	roost_cm_msg_encode(msg, mad);
	transmit(conn, mad, msg->type);
}

void roost_cm_reply(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg)
{
	uint8_t mad[ROOST_CM_MAD_LEN];

	roost_cm_msg_encode(msg, mad);
	cm->counters.tx[msg->type]++;
	roost_gsi_send(cm->dev, &in->addr, mad);
}

/* ---- messages that a step makes by itself ------------------------------- */

struct roost_cm_msg roost_cm_msg_between(const struct roost_cm_conn *conn,
					 enum roost_cm_msg_type type)
{
	return (struct roost_cm_msg){
		.type = type,
		.tid = conn->tid,
		.local_id = conn->local_id,
		.remote_id = conn->remote_id,
	};
}

uint8_t roost_cm_about(enum roost_cm_state state)
{
	if (state == ROOST_CM_REQ_RCVD)
		return ROOST_CM_ABOUT_REQ;
	if (state == ROOST_CM_REP_RCVD)
		return ROOST_CM_ABOUT_REP;
	return ROOST_CM_ABOUT_OTHER;
}

static void send_rej(struct roost_cm_conn *conn, uint16_t reason, bool kept)
{
	struct roost_cm_msg msg = roost_cm_msg_between(conn, ROOST_CM_REJ);

	msg.about = roost_cm_about(conn->state);
	msg.reason = reason;
	if (reason == ROOST_CM_REJ_TIMEOUT) {
		/* The CA GUID: the peer finds the connection by it when it does
		 * not know the number.
		 */
		msg.info_len_bytes = 8;
		roost_be64_put(msg.info, roost_dev_node_guid(conn->cm->dev));
	}
	if (kept)
		send_kept(conn, &msg);
	else
		send_once(conn, &msg);
}

static void send_mra(struct roost_cm_conn *conn, uint8_t what)
{
	struct roost_cm_msg msg = roost_cm_msg_between(conn, ROOST_CM_MRA);

	msg.about = what;
	msg.service_timeout = conn->service_timeout != 0
				      ? conn->service_timeout
				      : SERVICE_TIMEOUT_DEFAULT;
	send_once(conn, &msg);
}

static void send_dreq(struct roost_cm_conn *conn)
{
	struct roost_cm_msg msg = roost_cm_msg_between(conn, ROOST_CM_DREQ);

	msg.qpn = conn->remote_qpn;
	send_kept(conn, &msg);
}

static void send_drep(struct roost_cm_conn *conn)
{
	struct roost_cm_msg msg = roost_cm_msg_between(conn, ROOST_CM_DREP);

	if (conn->mad_type == ROOST_CM_DREP)
		transmit(conn, conn->mad, ROOST_CM_DREP);
	else
		send_kept(conn, &msg);
}

static void send_sidr_rej(struct roost_cm_conn *conn)
{
	struct roost_cm_msg msg = roost_cm_msg_between(conn, ROOST_CM_SIDR_REP);

	msg.local_id = conn->remote_id;
	msg.status = ROOST_CM_SIDR_REJECT;
	msg.service_id = conn->service_id;
	send_kept(conn, &msg);
}

/* ---- timers ------------------------------------------------------------- */

void roost_cm_wait(struct roost_cm_conn *conn, uint64_t ns)
{
	struct roost_cm *cm = conn->cm;

	conn->wait_ns = ns;
	/* A run begins them at its end. */
	if (!cm->running && (!cm->soon || ns < 16 * ROOST_CM_BEGIN_NS))
		cm->must_run = true;
	if (conn->in_fresh)
		return;
	conn->in_fresh = true;
	TAILQ_INSERT_TAIL(&cm->fresh, conn, fresh_link);
}

static void stop_timer(struct roost_cm_conn *conn)
{
	conn->retrying = false;
	conn->wait_ns = 0;
	if (conn->timer.in_wheel)
		roost_timer_cancel(&conn->timer);
}

static void stop(struct roost_cm_conn *conn)
{
	stop_timer(conn);
	conn->mad_waits = false;
}

static void retry(struct roost_cm_conn *conn)
{
	conn->retrying = true;
	conn->soon_ns = 0;
	conn->tries_left = conn->max_tries;
	roost_cm_wait(conn, conn->retry_ns);
}

static void enter_timewait(struct roost_cm_conn *conn)
{
	if (conn->state == ROOST_CM_TIMEWAIT)
		return;
	/* The DREP of this step may still wait for room. */
	stop_timer(conn);
	conn->cm->nb_timewait++;
	roost_cm_wait(conn, roost_cm_code_ns(
				    at_most(conn->timeout, TIMEWAIT_CODE_MAX)));
}

static void forget(struct roost_cm_conn *conn)
{
	roost_cm_table_del(&conn->by_id);
	roost_cm_table_del(&conn->by_qpn);
	conn->remote_id = 0;
}

static void keep(struct roost_cm_conn *conn)
{
	/* The peer's QP may send another request at once. */
	roost_cm_table_del(&conn->by_qpn);
	if (conn->cm->nb_kept >= ROOST_CM_KEPT_MAX) {
		forget(conn);
		return;
	}
	roost_cm_wait(conn, KEEP_NS);
}

/* How long this end waits after an MRA: at most 73 s, and once, because no
 * state accepts a second MRA.
 */
uint64_t roost_cm_mra_ns(const struct roost_cm_conn *conn,
			 const struct roost_cm_msg *msg)
{
	return roost_cm_code_ns(at_most(msg->service_timeout, MRA_CODE_MAX)) +
	       roost_cm_code_ns(at_most(conn->timeout, MRA_PATH_CODE_MAX));
}

/* ---- one step ----------------------------------------------------------- */

static void send_what_is_due(struct roost_cm_conn *conn, unsigned int actions,
			     const struct roost_cm_msg *msg)
{
	bool kept = actions & ROOST_CM_ACT_KEEP;

	if (actions & ROOST_CM_ACT_SEND) {
		/* An MRA, or a REJ that is not kept, does not replace the
		 * message to repeat.
		 */
		if ((msg->type == ROOST_CM_MRA || msg->type == ROOST_CM_REJ) &&
		    !kept)
			send_once(conn, msg);
		else
			send_kept(conn, msg);
	}
	if (actions & ROOST_CM_ACT_REPEAT)
		transmit(conn, conn->mad, conn->mad_type);
	if (actions & ROOST_CM_ACT_MRA)
		send_mra(conn, roost_cm_about(conn->state));
	if (actions & ROOST_CM_ACT_REJ_STALE)
		send_rej(conn, ROOST_CM_REJ_STALE_CONN, false);
	if (actions & ROOST_CM_ACT_REJ_USER)
		send_rej(conn, ROOST_CM_REJ_CONSUMER_DEFINED, kept);
	if (actions & ROOST_CM_ACT_REJ_TIMEOUT)
		send_rej(conn, ROOST_CM_REJ_TIMEOUT, false);
	if (actions & ROOST_CM_ACT_DREQ)
		send_dreq(conn);
	if (actions & ROOST_CM_ACT_DREP)
		send_drep(conn);
	if (actions & ROOST_CM_ACT_SIDR_REJ)
		send_sidr_rej(conn);
}

static bool is_half_open(enum roost_cm_state state)
{
	return state == ROOST_CM_REQ_HELD || state == ROOST_CM_REQ_RCVD ||
	       state == ROOST_CM_REP_SENT || state == ROOST_CM_MRA_REP_RCVD ||
	       state == ROOST_CM_SIDR_REQ_RCVD;
}

/* Change the state, and count connections per kind of state. */
static void go(struct roost_cm_conn *conn, enum roost_cm_state next)
{
	struct roost_cm *cm = conn->cm;

	if (is_half_open(next))
		roost_cm_opened(conn);
	else
		roost_cm_closed(conn);
	if (conn->state == ROOST_CM_TIMEWAIT && next != ROOST_CM_TIMEWAIT)
		cm->nb_timewait--;
	if (roost_cm_is_kept(next) && !roost_cm_is_kept(conn->state))
		cm->nb_kept++;
	if (roost_cm_is_kept(conn->state) && !roost_cm_is_kept(next))
		cm->nb_kept--;
	conn->state = next;
}

unsigned int roost_cm_take_step(struct roost_cm_conn *conn,
				const struct roost_cm_step *step,
				const struct roost_cm_msg *msg, uint64_t mra_ns)
{
	unsigned int actions = step->actions;

	if (actions & ROOST_CM_ACT_STOP)
		stop(conn);
	send_what_is_due(conn, actions, msg);
	if (actions & ROOST_CM_ACT_RETRY)
		retry(conn);
	if (actions & ROOST_CM_ACT_WAIT_MRA)
		roost_cm_wait(conn, mra_ns);
	if (actions & ROOST_CM_ACT_FORGET)
		forget(conn);
	if (actions & ROOST_CM_ACT_TIMEWAIT)
		enter_timewait(conn);
	if (actions & ROOST_CM_ACT_KEEP)
		keep(conn);
	go(conn, step->next);
	return step->event;
}

unsigned int roost_cm_take_input(struct roost_cm_conn *conn,
				 enum roost_cm_input input,
				 const struct roost_cm_msg *msg,
				 uint64_t mra_ns)
{
	const struct roost_cm_step *step = roost_cm_step(conn->state, input);

	roost_cm_note(conn, input, (enum roost_cm_state)step->next, msg);
	return roost_cm_take_step(conn, step, msg, mra_ns);
}

void roost_cm_conn_abandon(struct roost_cm_conn *conn)
{
	conn->owned = false;
	conn->comm_est = false;
	conn->resolving = false;
	roost_cm_conn_off_backlog(conn);
	if (roost_cm_step(conn->state, ROOST_CM_DO_DESTROY)->valid)
		roost_cm_take_input(conn, ROOST_CM_DO_DESTROY, NULL, 0);
}

unsigned int roost_cm_take_lap_step(struct roost_cm_conn *conn,
				    const struct roost_cm_step *step,
				    struct roost_cm_msg *msg, uint64_t mra_ns)
{
	unsigned int actions = step->actions;

	if (actions & ROOST_CM_ACT_STOP)
		stop(conn);
	if (actions & ROOST_CM_ACT_SEND && actions & ROOST_CM_ACT_RETRY) {
		roost_cm_msg_encode(msg, conn->lap_mad);
		transmit(conn, conn->lap_mad, msg->type);
		retry(conn);
	} else if (actions & ROOST_CM_ACT_SEND) {
		send_once(conn, msg);
	}
	if (actions & ROOST_CM_ACT_MRA)
		send_mra(conn, ROOST_CM_ABOUT_OTHER);
	if (actions & ROOST_CM_ACT_WAIT_MRA)
		roost_cm_wait(conn, mra_ns);
	conn->lap = step->next;
	return step->event;
}

/*
 * A disconnected peer that is gone cannot answer. As this may not be true (see
 * roost_dev_refused()), all tries are made, in short order.
 */
void roost_cm_hasten(struct roost_cm *cm, const struct roost_gid *peer)
{
	struct roost_cm_conn *conn;

	LIST_FOREACH(conn, &cm->conns, all_link) {
		if (conn->state != ROOST_CM_DREQ_SENT || !conn->retrying ||
		    conn->retry_ns <= HASTE_NS ||
		    !roost_gid_eq(&conn->addr.peer, peer))
			continue;
		conn->retry_ns = HASTE_NS;
		if (conn->timer.in_wheel)
			roost_timer_cancel(&conn->timer);
		roost_cm_wait(conn, HASTE_NS);
	}
}

/* ---- the timer ---------------------------------------------------------- */

static bool lap_is_out(const struct roost_cm_conn *conn)
{
	return conn->state == ROOST_CM_ESTAB &&
	       (conn->lap == ROOST_CM_LAP_SENT ||
		conn->lap == ROOST_CM_LAP_MRA_RCVD);
}

static void repeat(struct roost_cm_conn *conn)
{
	if (lap_is_out(conn))
		transmit(conn, conn->lap_mad, ROOST_CM_LAP);
	else
		transmit(conn, conn->mad, conn->mad_type);
}

void roost_cm_repeat_all(struct roost_cm *cm)
{
	struct roost_cm_conn *conn;

	LIST_FOREACH(conn, &cm->conns, all_link)
		if (conn->retrying)
			repeat(conn);
}

/* After 0.1, 0.2, 0.4 s and so on; it is no retry. */
static void repeat_soon(struct roost_cm_conn *conn)
{
	const uint64_t ns = conn->soon_ns;

	repeat(conn);
	conn->soon_ns = ns < conn->retry_ns ? 2 * ns : 0;
	roost_cm_wait(conn, ns < conn->retry_ns ? ns : conn->retry_ns);
}

/* The peer has the message, and the timer runs for the time it asked for. */
static bool has_mra(const struct roost_cm_conn *conn)
{
	return conn->state == ROOST_CM_MRA_REQ_RCVD ||
	       conn->state == ROOST_CM_MRA_REP_RCVD ||
	       (lap_is_out(conn) && conn->lap == ROOST_CM_LAP_MRA_RCVD);
}

void roost_cm_link_up(struct roost_cm *cm)
{
	struct roost_cm_conn *conn;

	LIST_FOREACH(conn, &cm->conns, all_link) {
		if (!conn->retrying || has_mra(conn))
			continue;
		if (conn->timer.in_wheel)
			roost_timer_cancel(&conn->timer);
		conn->soon_ns = HASTE_NS;
		repeat_soon(conn);
	}
}

static void try_again(struct roost_cm_conn *conn)
{
	const enum roost_cm_msg_type type =
		lap_is_out(conn) ? ROOST_CM_LAP : conn->mad_type;

	conn->tries_left--;
	/* Programs wait for a minute, and their users do not. */
	if (conn->max_tries - conn->tries_left == TRIES_TOLD)
		roost_cm_tell_silence(conn, TRIES_TOLD);
	conn->cm->counters.retries[type]++;
	repeat(conn);
	roost_cm_wait(conn, conn->retry_ns);
}

void roost_cm_timer(struct roost_cm_conn *conn)
{
	struct roost_cm_event event = { .status = 0 };
	enum roost_cm_input input;
	unsigned int type;

	if (conn->retrying && conn->soon_ns != 0) {
		repeat_soon(conn);
		return;
	}
	if (conn->retrying && conn->tries_left > 0) {
		try_again(conn);
		return;
	}
	if (conn->retrying && conn->max_tries < TRIES_TOLD)
		roost_cm_tell_silence(conn, conn->max_tries + 1u);
	if (lap_is_out(conn)) {
		type = roost_cm_take_lap_step(
			conn,
			roost_cm_lap_step(conn->lap, ROOST_CM_LAP_TRIES_SPENT),
			NULL, 0);
	} else {
		input = conn->retrying ? ROOST_CM_TRIES_SPENT
				       : ROOST_CM_TIME_OVER;
		if (!roost_cm_step(conn->state, input)->valid)
			return;
		type = roost_cm_take_input(conn, input, NULL, 0);
	}
	if (type != ROOST_CM_NO_EVENT && conn->owned) {
		event.type = (enum roost_cm_event_type)type;
		if (event.type != ROOST_CM_TIMEWAIT_EXIT)
			event.status = -ETIMEDOUT;
		roost_cm_tell(conn, &event);
	} else if (!conn->owned && !roost_cm_conn_lingers(conn)) {
		roost_cm_conn_free(conn);
	}
}
