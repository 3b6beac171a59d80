/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The lifetime of a connection, and callbacks to its owner.
 */

#include <errno.h>
#include <stdlib.h>

#include "cm/priv.h"

int roost_cm_conn_new(struct roost_cm *cm, struct roost_cm_conn **conn)
{
	struct roost_cm_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	if (roost_idmap_add(&cm->ids, c, &c->local_id) != 0) {
		free(c);
		return -ENOMEM;
	}
	c->cm = cm;
	c->timer.deadline_ns = UINT64_MAX;
	LIST_INSERT_HEAD(&cm->conns, c, all_link);
	cm->nb_conns++;
	*conn = c;
	return 0;
}

bool roost_cm_conn_lingers(const struct roost_cm_conn *conn)
{
	return conn->pinned || conn->state == ROOST_CM_REQ_HELD ||
	       conn->state == ROOST_CM_TIMEWAIT ||
	       (roost_cm_is_kept(conn->state) && conn->by_id.in);
}

static void uncount(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;

	roost_cm_closed(conn);
	if (conn->state == ROOST_CM_TIMEWAIT)
		cm->nb_timewait--;
	if (roost_cm_is_kept(conn->state))
		cm->nb_kept--;
	cm->nb_conns--;
}

void roost_cm_stop_asking(struct roost_cm_conn *conn)
{
	if (!conn->in_asking)
		return;
	conn->in_asking = false;
	conn->cm->nb_asking--;
	TAILQ_REMOVE(&conn->cm->asking, conn, asking_link);
}

void roost_cm_stop_sending(struct roost_cm_conn *conn)
{
	if (!conn->in_unsent)
		return;
	conn->in_unsent = false;
	TAILQ_REMOVE(&conn->cm->unsent, conn, unsent_link);
}

void roost_cm_release(struct roost_cm_conn *conn)
{
	if (!conn->in_held)
		return;
	conn->in_held = false;
	conn->cm->nb_held--;
	TAILQ_REMOVE(&conn->cm->held, conn, held_link);
}

void roost_cm_conn_free(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;

	uncount(conn);
	roost_cm_conn_off_backlog(conn);
	roost_cm_table_del(&conn->by_id);
	roost_cm_table_del(&conn->by_qpn);
	roost_idmap_del(&cm->ids, conn->local_id);
	roost_timer_remove(&cm->timers, &conn->timer);
	if (conn->in_fresh)
		TAILQ_REMOVE(&cm->fresh, conn, fresh_link);
	roost_cm_stop_asking(conn);
	roost_cm_stop_sending(conn);
	roost_cm_release(conn);
	roost_cm_stop_noting(conn);
	roost_cm_hop_leave(conn);
	LIST_REMOVE(conn, all_link);
	free(conn->lap_mad);
	free(conn);
}

void roost_cm_conn_off_backlog(struct roost_cm_conn *conn)
{
	if (!conn->backlog)
		return;
	conn->backlog->nb_waiting--;
	conn->backlog = NULL;
}

/* ---- telling ------------------------------------------------------------ */

bool roost_cm_tell(struct roost_cm_conn *conn, struct roost_cm_event *event)
{
	struct roost_cm *cm = conn->cm;
	roost_cm_callback *callback = conn->callback;
	void *arg = conn->arg;
	bool gone;

	cm->telling = conn;
	cm->telling_listener = event->listener;
	cm->telling_gone = false;
	cm->telling_thread = pthread_self();
	roost_cm_unlock(cm);
	callback(arg, conn, event);
	roost_cm_lock(cm);
	gone = cm->telling_gone && !roost_cm_conn_lingers(conn);
	if (gone)
		roost_cm_conn_free(conn);
	cm->telling = NULL;
	cm->telling_listener = NULL;
	pthread_cond_broadcast(&cm->told);
	return !gone;
}

void roost_cm_wait_told(struct roost_cm *cm, const struct roost_cm_conn *conn,
			const struct roost_cm_listener *listener)
{
	while (((conn && cm->telling == conn) ||
		(listener && cm->telling_listener == listener)) &&
	       !pthread_equal(cm->telling_thread, pthread_self()))
		pthread_cond_wait(&cm->told, &cm->lock);
}
