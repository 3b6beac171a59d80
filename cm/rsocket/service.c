/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm/rsocket/rs.h"
#include "cm/rsocket/service.h"

/* epoll's data for descriptors that are no rsocket's. */
#define DATA_CHANNEL UINT64_MAX
#define DATA_WAKE (UINT64_MAX - 1)

static struct {
	pthread_mutex_t lock;
	struct rdma_event_channel *channel; /* NULL: not started */
	int epoll_fd;
	int wake_fd; /* a timer became due earlier */
	LIST_HEAD(, roost_rs_timer) timers;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void take_cm_event(void)
{
	struct roost_rs_after after = { NULL, NULL };
	struct rdma_cm_event *event;
	struct roost_rs_cm *cm;
	struct roost_rs *rs;

	if (rdma_get_cm_event(service.channel, &event) != 0)
		return;
	/*
	 * Freeing rs destroys its ids first, and that waits for this event's
	 * ack. So rs still exists here, but may have lost its last reference.
	 */
	cm = event->event == RDMA_CM_EVENT_CONNECT_REQUEST
		     ? event->listen_id->context
		     : event->id->context;
	rs = cm->rs;
	if (!roost_rs_ref_live(rs)) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			after.destroy = event->id;
		rs = NULL;
	} else {
		after = cm->event(cm, event);
	}
	rdma_ack_cm_event(event);

	if (after.destroy)
		rdma_destroy_id(after.destroy);
	if (after.put)
		roost_rs_put(after.put);
	if (rs)
		roost_rs_put(rs);
}

/* One timer that is due, with a reference to its owner; or NULL. */
static struct roost_rs_timer *pop_due(int64_t now_ns)
{
	struct roost_rs_timer *timer;

	pthread_mutex_lock(&service.lock);
	LIST_FOREACH(timer, &service.timers, link) {
		if (timer->due_ns > now_ns)
			continue;
		timer->due_ns = now_ns + timer->period_ns;
		if (roost_rs_ref_live(timer->rs))
			break;
	}
	pthread_mutex_unlock(&service.lock);
	return timer;
}

static void run_timers(void)
{
	const int64_t now_ns = roost_rs_now_ns();
	struct roost_rs_timer *timer;

	while ((timer = pop_due(now_ns)) != NULL) {
		struct roost_rs *rs = timer->rs;

		timer->due(rs);
		roost_rs_put(rs);
	}
}

/* For epoll_wait(). */
static int timeout_ms(void)
{
	const struct roost_rs_timer *timer;
	int64_t first_ns = INT64_MAX;
	int64_t left_ms;

	pthread_mutex_lock(&service.lock);
	LIST_FOREACH(timer, &service.timers, link) {
		if (timer->due_ns < first_ns)
			first_ns = timer->due_ns;
	}
	pthread_mutex_unlock(&service.lock);
	if (first_ns == INT64_MAX)
		return -1;
	left_ms = (first_ns - roost_rs_now_ns()) / 1000000 + 1;
	return left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void take_readable(int fd)
{
	struct roost_rs *rs = roost_rs_get(fd);

	if (!rs)
		return;
	if (rs->ops->readable)
		rs->ops->readable(rs);
	roost_rs_put(rs);
}

static void *run(void *arg)
{
	struct epoll_event event;

	pthread_setname_np(pthread_self(), "roost-rsocket");
	for (;;) {
		/* One at a time, because handling an event may close the
		 * rsocket of the next one.
		 */
		if (epoll_wait(service.epoll_fd, &event, 1, timeout_ms()) ==
		    1) {
			if (event.data.u64 == DATA_CHANNEL)
				take_cm_event();
			else if (event.data.u64 == DATA_WAKE)
				roost_rs_thread_fd_drain(service.wake_fd);
			else
				take_readable((int)event.data.u64);
		}
		run_timers();
	}
	return arg;
}

static void forget_in_child(void)
{
	/* Descriptors are shared with the parent: closed, and not used. */
	if (service.channel) {
		close(service.epoll_fd);
		close(service.wake_fd);
	}
	pthread_mutex_init(&service.lock, NULL);
	service.channel = NULL;
	LIST_INIT(&service.timers);
	roost_rs_table_forget();
	roost_rs_family_forget();
}

static int watch(int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

	return epoll_ctl(service.epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : -errno;
}

/* The thread inherits a mask without signals: handlers are the program's. */
static int start_thread(void)
{
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret == 0)
		pthread_detach(thread);
	return -ret;
}

/* service.lock held. */
static int start(struct rdma_event_channel *channel)
{
	static bool fork_is_watched;
	int ret;

	service.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (service.epoll_fd < 0)
		return -errno;
	service.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (service.wake_fd < 0) {
		ret = -errno;
		goto close_epoll;
	}
	if (fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0) {
		ret = -errno;
		goto close_wake;
	}
	ret = watch(channel->fd, DATA_CHANNEL);
	if (ret == 0)
		ret = watch(service.wake_fd, DATA_WAKE);
	if (ret < 0)
		goto close_wake;
	service.channel = channel;
	ret = start_thread();
	if (ret < 0) {
		service.channel = NULL;
		goto close_wake;
	}
	if (!fork_is_watched)
		pthread_atfork(NULL, NULL, forget_in_child);
	fork_is_watched = true;
	return 0;

close_wake:
	close(service.wake_fd);
close_epoll:
	close(service.epoll_fd);
	return ret;
}

int roost_rs_service_start(void)
{
	struct rdma_event_channel *channel;
	int ret = 0;

	pthread_mutex_lock(&service.lock);
	if (!service.channel) {
		channel = rdma_create_event_channel();
		ret = channel != NULL ? start(channel) : -errno;
		if (ret < 0 && channel)
			rdma_destroy_event_channel(channel);
	}
	pthread_mutex_unlock(&service.lock);
	return ret;
}

struct rdma_event_channel *roost_rs_service_channel(void)
{
	return service.channel;
}

int roost_rs_service_watch(struct roost_rs *rs, int fd)
{
	return watch(fd, (uint64_t)rs->fd);
}

void roost_rs_timer_set(struct roost_rs_timer *timer, int64_t period_ns)
{
	pthread_mutex_lock(&service.lock);
	if (timer->period_ns == 0)
		LIST_INSERT_HEAD(&service.timers, timer, link);
	timer->period_ns = period_ns;
	timer->due_ns = roost_rs_now_ns() + period_ns;
	pthread_mutex_unlock(&service.lock);
	(void)eventfd_write(service.wake_fd, 1);
}

void roost_rs_timer_clear(struct roost_rs_timer *timer)
{
	pthread_mutex_lock(&service.lock);
	if (timer->period_ns != 0)
		LIST_REMOVE(timer, link);
	timer->period_ns = 0;
	pthread_mutex_unlock(&service.lock);
}
