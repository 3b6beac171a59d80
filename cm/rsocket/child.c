/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Listeners and their children. The service thread answers a request when it
 * comes, as a kernel answers SYNs: a peer is connected whether or not the
 * program is inside raccept(). At most backlog children wait for raccept().
 * Requests beyond that wait for their answer, which costs little, and only a
 * flood of them is rejected.
 */

#include <errno.h>

#include "cm/rsocket/stream.h"

static pthread_mutex_t family_lock = PTHREAD_MUTEX_INITIALIZER;

void roost_rs_family_lock(void)
{
	pthread_mutex_lock(&family_lock);
}

void roost_rs_family_unlock(void)
{
	pthread_mutex_unlock(&family_lock);
}

void roost_rs_family_forget(void)
{
	pthread_mutex_init(&family_lock, NULL);
}

static void inherit(struct roost_rs_stream *child,
		    const struct roost_rs_stream *listener)
{
	child->rs.sizes = listener->rs.sizes;
	child->rs.so_flags = listener->rs.so_flags;
	child->rs.no_delay = listener->rs.no_delay;
	child->rs.v6_only = listener->rs.v6_only;
	child->rs.keepalive_s = listener->rs.keepalive_s;
	/* rconnect() on an accepted rsocket returns EISCONN. */
	child->told = true;
}

/* The child is in no list; family lock held. */
static int send_rep(struct roost_rs_stream *child)
{
	struct roost_rs_stream *listener = child->listener;
	uint8_t data[ROOST_RS_HELLO_BYTES];
	struct rdma_conn_param param = child->request;
	struct roost_rs_hello hello;
	int ret = roost_rs_ep_create(child);

	if (ret < 0)
		return ret;
	roost_rs_ep_meet(child, &child->hello);
	roost_rs_ep_hello(child, &hello);
	roost_rs_hello_put(data, &hello);
	param.private_data = data;
	param.private_data_len = sizeof(data);
	child->state = ROOST_RS_ACCEPTING;
	if (rdma_accept(child->id, &param) != 0)
		return -errno;
	TAILQ_INSERT_TAIL(&listener->accepting, child, child_link);
	listener->nb_open++;
	return 0;
}

static void refuse(struct rdma_cm_id *id)
{
	(void)rdma_reject(id, NULL, 0);
}

/* Returns false if the child has no answer and no listener any more. */
static bool answer(struct roost_rs_stream *child)
{
	if (send_rep(child) == 0)
		return true;
	refuse(child->id);
	child->listener = NULL;
	return false;
}

struct roost_rs_after roost_rs_child_request(struct roost_rs_stream *listener,
					     const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct roost_rs_after after = { .destroy = event->id };
	struct roost_rs_stream *child;
	struct roost_rs_hello hello;

	if (roost_rs_hello_get(&hello, param->private_data,
			       param->private_data_len) < 0 ||
	    (listener->nb_open >= listener->backlog &&
	     listener->nb_requested >= roost_rs_requests_max(listener))) {
		refuse(event->id);
		return after;
	}
	child = roost_rs_stream_alloc(listener->rs.family);
	if (!child) {
		refuse(event->id);
		return after;
	}
	after.destroy = NULL;
	inherit(child, listener);
	child->id = event->id;
	child->id->context = &child->cm;
	child->listener = listener;
	child->state = ROOST_RS_REQUESTED;
	child->hello = hello;
	child->request = *param;
	child->request.private_data = NULL;
	child->request.private_data_len = 0;
	if (listener->nb_open >= listener->backlog) {
		TAILQ_INSERT_TAIL(&listener->requested, child, child_link);
		listener->nb_requested++;
	} else if (!answer(child)) {
		after.put = &child->rs;
	}
	return after;
}

void roost_rs_child_established(struct roost_rs_stream *child)
{
	struct roost_rs_stream *listener = child->listener;

	if (!listener)
		return;
	pthread_mutex_lock(&listener->rs.lock);
	TAILQ_REMOVE(&listener->accepting, child, child_link);
	TAILQ_INSERT_TAIL(&listener->established, child, child_link);
	roost_rs_notify(&listener->rs);
	pthread_mutex_unlock(&listener->rs.lock);
}

/*
 * Family lock held. Answer requests that had to wait for room. Children whose
 * answer fails are added to failed.
 */
static void answer_waiting(struct roost_rs_stream *listener,
			   struct roost_rs_family *failed)
{
	struct roost_rs_stream *child;

	while (listener->state == ROOST_RS_LISTENING &&
	       listener->nb_open < listener->backlog &&
	       (child = TAILQ_FIRST(&listener->requested)) != NULL) {
		TAILQ_REMOVE(&listener->requested, child, child_link);
		listener->nb_requested--;
		if (!answer(child))
			TAILQ_INSERT_TAIL(failed, child, child_link);
	}
}

void roost_rs_child_put_all(struct roost_rs_family *failed)
{
	struct roost_rs_stream *child;

	while ((child = TAILQ_FIRST(failed)) != NULL) {
		TAILQ_REMOVE(failed, child, child_link);
		roost_rs_put(&child->rs);
	}
}

struct roost_rs *roost_rs_child_drop(struct roost_rs_stream *child,
				     struct roost_rs_family *failed)
{
	struct roost_rs_stream *listener = child->listener;

	if (!listener)
		return NULL;
	if (child->state == ROOST_RS_REQUESTED) {
		TAILQ_REMOVE(&listener->requested, child, child_link);
		listener->nb_requested--;
	} else {
		TAILQ_REMOVE(&listener->accepting, child, child_link);
		listener->nb_open--;
	}
	child->listener = NULL;
	answer_waiting(listener, failed);
	return &child->rs;
}

void roost_rs_child_drop_all(struct roost_rs_stream *listener)
{
	struct roost_rs_stream *child;

	for (;;) {
		roost_rs_family_lock();
		pthread_mutex_lock(&listener->rs.lock);
		/* No more children from now on. */
		listener->state = ROOST_RS_DISCONNECTED;
		if ((child = TAILQ_FIRST(&listener->established)) != NULL)
			TAILQ_REMOVE(&listener->established, child, child_link);
		else if ((child = TAILQ_FIRST(&listener->accepting)) != NULL)
			TAILQ_REMOVE(&listener->accepting, child, child_link);
		else if ((child = TAILQ_FIRST(&listener->requested)) != NULL)
			TAILQ_REMOVE(&listener->requested, child, child_link);
		if (child)
			child->listener = NULL;
		pthread_mutex_unlock(&listener->rs.lock);
		roost_rs_family_unlock();
		if (!child)
			return;
		roost_rs_put(&child->rs);
	}
}

static bool can_accept(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return !TAILQ_EMPTY(&st->established) ||
	       st->state != ROOST_RS_LISTENING;
}

/* Take the first waiting child; NULL: another thread has taken it. */
static struct roost_rs_stream *take(struct roost_rs_stream *listener)
{
	struct roost_rs_stream *child;
	struct roost_rs_family failed = TAILQ_HEAD_INITIALIZER(failed);

	roost_rs_family_lock();
	pthread_mutex_lock(&listener->rs.lock);
	child = TAILQ_FIRST(&listener->established);
	if (child) {
		TAILQ_REMOVE(&listener->established, child, child_link);
		listener->nb_open--;
		child->listener = NULL;
	}
	pthread_mutex_unlock(&listener->rs.lock);
	if (child)
		answer_waiting(listener, &failed);
	roost_rs_family_unlock();
	roost_rs_child_put_all(&failed);
	return child;
}

/* The next raccept() takes the child. Returns false if the listener is closed.
 */
static bool give_back(struct roost_rs_stream *listener,
		      struct roost_rs_stream *child)
{
	bool listens;

	roost_rs_family_lock();
	pthread_mutex_lock(&listener->rs.lock);
	listens = listener->state == ROOST_RS_LISTENING;
	if (listens) {
		TAILQ_INSERT_HEAD(&listener->established, child, child_link);
		listener->nb_open++;
		child->listener = listener;
		roost_rs_notify(&listener->rs);
	}
	pthread_mutex_unlock(&listener->rs.lock);
	roost_rs_family_unlock();
	return listens;
}

int roost_rs_stream_accept(struct roost_rs_stream *st,
			   struct sockaddr_storage *from)
{
	struct roost_rs_stream *child;
	int ret = 0;

	do {
		pthread_mutex_lock(&st->rs.lock);
		if (st->state != ROOST_RS_LISTENING)
			ret = -EINVAL;
		else
			ret = roost_rs_block(&st->rs, can_accept,
					     roost_rs_nonblock(&st->rs, 0));
		if (ret == 0 && st->state != ROOST_RS_LISTENING)
			ret = -EINVAL;
		pthread_mutex_unlock(&st->rs.lock);
		if (ret < 0)
			return ret;
		child = take(st);
	} while (!child);

	*from = child->id->route.addr.dst_storage;
	ret = roost_rs_insert(&child->rs);
	if (ret < 0 && give_back(st, child))
		return ret;
	/* The table's reference is enough; without a number, none is left. */
	roost_rs_put(&child->rs);
	return ret;
}
