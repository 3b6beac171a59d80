/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Changes of the device: other addresses, a link that comes up, or its removal;
 * and peers that are gone, as their hosts say.
 */

#include <errno.h>

#include "cm/priv.h"

void roost_cm_watch_add(struct roost_cm *cm, struct roost_cm_watch *watch)
{
	roost_cm_lock(cm);
	LIST_INSERT_HEAD(&cm->watches, watch, link);
	roost_cm_unlock(cm);
}

static void tell_watches(struct roost_cm *cm, enum roost_cm_news news)
{
	struct roost_cm_watch *watch;

	LIST_FOREACH(watch, &cm->watches, link)
		watch->told(watch->arg, news);
}

/* The device is gone: end conn without a message or a timer. conn may be freed.
 */
static void end(struct roost_cm_conn *conn)
{
	static const struct roost_cm_step step = {
		.valid = true,
		.next = ROOST_CM_IDLE,
		.actions = ROOST_CM_ACT_STOP | ROOST_CM_ACT_FORGET,
		.event = ROOST_CM_NO_EVENT,
	};
	struct roost_cm_event event = {
		.type = ROOST_CM_ADDR_ERROR,
		.status = -ENODEV,
	};
	const bool resolving = conn->resolving;

	roost_cm_take_step(conn, &step, NULL, 0);
	roost_cm_conn_off_backlog(conn);
	conn->comm_est = false;
	conn->resolving = false;
	if (conn->owned && resolving)
		roost_cm_tell(conn, &event);
	else if (!conn->owned && !conn->pinned)
		roost_cm_conn_free(conn);
}

static void end_all(struct roost_cm *cm)
{
	struct roost_cm_conns ended = LIST_HEAD_INITIALIZER(ended);
	struct roost_cm_conn *conn;

	/* Callbacks may free any of them, from whichever list. */
	while ((conn = LIST_FIRST(&cm->conns)) != NULL) {
		LIST_REMOVE(conn, all_link);
		LIST_INSERT_HEAD(&ended, conn, all_link);
		end(conn);
	}
	while ((conn = LIST_FIRST(&ended)) != NULL) {
		LIST_REMOVE(conn, all_link);
		LIST_INSERT_HEAD(&cm->conns, conn, all_link);
	}
}

bool roost_cm_run_news(struct roost_cm *cm)
{
	const uint32_t gid_gen = roost_dev_gid_gen(cm->dev);
	const uint32_t up_gen = roost_dev_up_gen(cm->dev);
	struct roost_gid peer;

	if (cm->gone)
		return false;
	if (roost_dev_failed(cm->dev)) {
		cm->gone = true;
		/* Watches first: their owners then ignore an ADDR_ERROR. */
		tell_watches(cm, ROOST_CM_NEWS_REMOVED);
		end_all(cm);
		return false;
	}
	if (gid_gen != cm->gid_gen) {
		cm->gid_gen = gid_gen;
		tell_watches(cm, ROOST_CM_NEWS_ADDRS);
	}
	/* What was sent last, there was no link to take it. */
	if (up_gen != cm->up_gen)
		roost_cm_link_up(cm);
	cm->up_gen = up_gen;
	while (roost_dev_next_refused(cm->dev, &peer))
		roost_cm_hasten(cm, &peer);
	return true;
}
