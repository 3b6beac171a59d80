/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The lifetime of a connection, and its owner.
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
	roost_dev_neigh_put(cm->dev, conn->path.port_num, conn->neigh);
	LIST_REMOVE(conn, all_link);
	free(conn->lap_mad);
	free(conn);
}

void roost_cm_conn_abandon(struct roost_cm_conn *conn)
{
	const struct roost_cm_step *step =
		roost_cm_step(conn->state, ROOST_CM_DO_DESTROY);

	conn->owned = false;
	conn->comm_est = false;
	conn->resolving = false;
	roost_cm_conn_off_backlog(conn);
	if (step->valid)
		roost_cm_take_step(conn, step, NULL, 0);
}

void roost_cm_conn_off_backlog(struct roost_cm_conn *conn)
{
	if (!conn->backlog)
		return;
	conn->backlog->nb_waiting--;
	conn->backlog = NULL;
}

/* ---- calls -------------------------------------------------------------- */

int roost_cm_conn_create(struct roost_cm *cm, roost_cm_callback *callback,
			 void *arg, struct roost_cm_conn **conn)
{
	int ret;

	pthread_mutex_lock(&cm->lock);
	ret = roost_cm_conn_new(cm, conn);
	if (ret == 0) {
		(*conn)->callback = callback;
		(*conn)->arg = arg;
		(*conn)->owned = true;
	}
	pthread_mutex_unlock(&cm->lock);
	return ret;
}

void roost_cm_conn_destroy(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;

	pthread_mutex_lock(&cm->lock);
	roost_cm_conn_abandon(conn);
	conn->pinned = true;
	roost_cm_wait_told(cm, conn, NULL);
	conn->pinned = false;
	if (cm->telling == conn)
		cm->telling_gone = true; /* we are its callback */
	else if (!roost_cm_conn_lingers(conn))
		roost_cm_conn_free(conn);
	pthread_mutex_unlock(&cm->lock);
}

void roost_cm_conn_set_owner(struct roost_cm_conn *conn,
			     roost_cm_callback *callback, void *arg)
{
	struct roost_cm *cm = conn->cm;

	pthread_mutex_lock(&cm->lock);
	conn->callback = callback;
	conn->arg = arg;
	roost_cm_wait_told(cm, conn, NULL);
	pthread_mutex_unlock(&cm->lock);
}

bool roost_cm_conn_path(struct roost_cm_conn *conn, struct roost_cm_path *path)
{
	bool has;

	pthread_mutex_lock(&conn->cm->lock);
	has = conn->has_path;
	*path = conn->path;
	pthread_mutex_unlock(&conn->cm->lock);
	return has;
}

void roost_cm_conn_fetched(struct roost_cm_conn *conn)
{
	pthread_mutex_lock(&conn->cm->lock);
	roost_cm_conn_off_backlog(conn);
	pthread_mutex_unlock(&conn->cm->lock);
}
