/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Sleeping and waking; see rs.h. */

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/rs.h"

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static __thread int thread_fd = -1;
static __thread pid_t thread_pid; /* process of thread_fd */

static void close_thread_fd(void *value)
{
	(void)value;
	close(thread_fd);
	thread_fd = -1;
}

static void make_key(void)
{
	pthread_key_create(&thread_key, close_thread_fd);
}

int roost_rs_thread_fd(void)
{
	const pid_t pid = getpid();

	/* The forked child's is not the parent's: both would read it. */
	if (thread_fd >= 0 && thread_pid == pid)
		return thread_fd;
	pthread_once(&thread_once, make_key);
	if (thread_fd >= 0)
		close(thread_fd);
	thread_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread_fd < 0)
		return -errno;
	thread_pid = pid;
	/* Any value but NULL has the destructor called. */
	pthread_setspecific(thread_key, &thread_key);
	return thread_fd;
}

void roost_rs_thread_fd_drain(int fd)
{
	eventfd_t count;

	/* EAGAIN: the counter is 0 already. */
	(void)eventfd_read(fd, &count);
}

void roost_rs_notify(struct roost_rs *rs)
{
	struct roost_rs_waiter *waiter;

	LIST_FOREACH(waiter, &rs->waiters, link) {
		if (waiter->eventfd != thread_fd)
			(void)eventfd_write(waiter->eventfd, 1);
	}
}

int64_t roost_rs_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* lock held. 0: ready. */
static int look(struct roost_rs *rs, bool (*ready)(struct roost_rs *rs))
{
	if (rs->closed)
		return -EBADF;
	rs->ops->progress(rs);
	return ready(rs) ? 0 : -EAGAIN;
}

/* As look(), for the configured polling time. */
static int spin(struct roost_rs *rs, bool (*ready)(struct roost_rs *rs))
{
	const int64_t end_ns =
		roost_rs_now_ns() +
		(int64_t)roost_rs_config()->polling_time_us * 1000;
	int ret;

	do {
		pthread_mutex_unlock(&rs->lock);
		pthread_mutex_lock(&rs->lock);
		ret = look(rs, ready);
	} while (ret == -EAGAIN && roost_rs_now_ns() < end_ns);
	return ret;
}

int roost_rs_sleep(struct pollfd *fds, nfds_t nb, int timeout_ms)
{
	const struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000l,
	};
	int ret = ppoll(fds, nb, timeout_ms < 0 ? NULL : &timeout, NULL);

	return ret < 0 ? -errno : ret;
}

/* The send_lock or recv_lock that this thread holds, or NULL. */
static __thread pthread_mutex_t *direction;

void roost_rs_lock(struct roost_rs *rs, pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	direction = lock;
	pthread_mutex_lock(&rs->lock);
}

void roost_rs_unlock(struct roost_rs *rs)
{
	pthread_mutex_t *lock = direction;

	pthread_mutex_unlock(&rs->lock);
	direction = NULL;
	pthread_mutex_unlock(lock);
}

struct sleeper {
	struct roost_rs *rs;
	struct roost_rs_waiter *waiter;
};

/* The thread was cancelled while asleep: release everything that its call
 * holds.
 */
static void wake_for_good(void *arg)
{
	struct sleeper *s = arg;

	pthread_mutex_lock(&s->rs->lock);
	LIST_REMOVE(s->waiter, link);
	pthread_mutex_unlock(&s->rs->lock);
	if (direction)
		pthread_mutex_unlock(direction);
	roost_rs_put(s->rs);
}

/* lock held, and given up. 0 or -EINTR. */
static int doze(struct roost_rs *rs, struct roost_rs_waiter *waiter)
{
	struct sleeper sleeper = { .rs = rs, .waiter = waiter };
	const int own_fd = waiter->eventfd;
	struct pollfd fds[2] = {
		{ .fd = own_fd, .events = POLLIN },
		{ .fd = rs->ops->wait_fd(rs), .events = POLLIN },
	};
	int ret;

	pthread_mutex_unlock(&rs->lock);
	pthread_cleanup_push(wake_for_good, &sleeper);
	ret = roost_rs_sleep(fds, 2,
			     (int)roost_rs_config()->wake_up_interval_ms);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&rs->lock);
	if (ret < 0)
		return ret;
	if (fds[0].revents != 0)
		roost_rs_thread_fd_drain(own_fd);
	if (fds[1].revents != 0 && !rs->closed)
		rs->ops->drain(rs);
	return 0;
}

int roost_rs_block(struct roost_rs *rs, bool (*ready)(struct roost_rs *rs),
		   bool nonblock)
{
	struct roost_rs_waiter waiter;
	int ret = look(rs, ready);

	if (ret != -EAGAIN || nonblock)
		return ret;
	ret = spin(rs, ready);
	if (ret != -EAGAIN)
		return ret;

	waiter.eventfd = roost_rs_thread_fd();
	if (waiter.eventfd < 0)
		return waiter.eventfd;
	LIST_INSERT_HEAD(&rs->waiters, &waiter, link);
	for (;;) {
		/* Armed first and looked at then: nothing falls between. */
		rs->ops->arm(rs);
		ret = look(rs, ready);
		if (ret != -EAGAIN)
			break;
		ret = doze(rs, &waiter);
		if (ret < 0)
			break;
	}
	LIST_REMOVE(&waiter, link);
	return ret;
}
