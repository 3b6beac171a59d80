/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* rpoll() and rselect(): rsockets and other descriptors in one wait. */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/rs.h"

/* The descriptors of one call. */
struct set {
	struct pollfd *fds; /* the caller's */
	nfds_t nb;
	struct roost_rs **rss; /* a reference each; NULL: not an rsocket */
	struct roost_rs_waiter *waiters;
	/* For poll(2): [0] the thread's eventfd, [i + 1] the descriptor behind
	 * fds[i].
	 */
	struct pollfd *real;
	nfds_t nb_rs;           /* rsockets among them */
	bool has_real;          /* some are no rsockets */
	struct pollfd *own_fds; /* fds, to be freed when cancelled; or NULL */
	bool enlisted;          /* this thread is on the lists */
};

static void set_fini(struct set *set)
{
	for (nfds_t i = 0; set->rss && i < set->nb; i++) {
		if (set->rss[i])
			roost_rs_put(set->rss[i]);
	}
	free(set->rss);
	free(set->waiters);
	free(set->real);
}

/* Returns 0 or -ENOMEM. */
static int set_init(struct set *set, struct pollfd *fds, nfds_t nb)
{
	*set = (struct set){ .fds = fds, .nb = nb };
	set->rss = calloc(nb, sizeof(struct roost_rs *));
	set->waiters = calloc(nb, sizeof(*set->waiters));
	set->real = calloc(nb + 1, sizeof(*set->real));
	if (!set->rss || !set->waiters || !set->real) {
		set_fini(set);
		return -ENOMEM;
	}
	set->real[0].fd = -1;
	set->real[0].events = POLLIN;
	for (nfds_t i = 0; i < nb; i++) {
		set->rss[i] = roost_rs_get(fds[i].fd);
		set->real[i + 1].fd = fds[i].fd;
		set->real[i + 1].events = fds[i].events;
		if (set->rss[i]) {
			set->real[i + 1].fd = -1;
			set->real[i + 1].events = POLLIN;
			set->nb_rs++;
		} else {
			set->has_real = true;
		}
	}
	return 0;
}

static short look(struct roost_rs *rs, short asked)
{
	short events = POLLNVAL;

	pthread_mutex_lock(&rs->lock);
	if (!rs->closed) {
		rs->ops->progress(rs);
		events = rs->ops->events(rs, asked);
	}
	pthread_mutex_unlock(&rs->lock);
	return events;
}

/* Fills in revents after real was polled. Returns how many are not 0. */
static int collect(struct set *set)
{
	int nb = 0;

	for (nfds_t i = 0; i < set->nb; i++) {
		struct pollfd *fd = &set->fds[i];

		fd->revents = set->rss[i] != NULL
				      ? look(set->rss[i], fd->events)
				      : set->real[i + 1].revents;
		if (fd->revents != 0)
			nb++;
	}
	return nb;
}

/* Check without sleeping. Returns how many, or -errno. */
static int peek(struct set *set)
{
	for (nfds_t i = 0; i <= set->nb; i++) {
		set->real[i].revents = 0;
		/* Only when asleep is an rsocket's descriptor of use. */
		if (i > 0 && set->rss[i - 1] != NULL)
			set->real[i].fd = -1;
	}
	if (set->has_real && poll(set->real + 1, set->nb, 0) < 0)
		return -errno;
	return collect(set);
}

static int spin(struct set *set)
{
	const int64_t end_ns =
		roost_rs_now_ns() +
		(int64_t)roost_rs_config()->polling_time_us * 1000;
	int ret;

	do {
		ret = peek(set);
	} while (ret == 0 && roost_rs_now_ns() < end_ns);
	return ret;
}

static void arm(struct set *set)
{
	for (nfds_t i = 0; i < set->nb; i++) {
		struct roost_rs *rs = set->rss[i];

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		rs->ops->arm(rs);
		set->real[i + 1].fd = rs->ops->wait_fd(rs);
		pthread_mutex_unlock(&rs->lock);
	}
}

static void drain(struct set *set)
{
	if (set->real[0].revents != 0)
		roost_rs_thread_fd_drain(set->real[0].fd);
	for (nfds_t i = 0; i < set->nb; i++) {
		struct roost_rs *rs = set->rss[i];

		if (!rs || set->real[i + 1].revents == 0)
			continue;
		pthread_mutex_lock(&rs->lock);
		rs->ops->drain(rs);
		pthread_mutex_unlock(&rs->lock);
	}
}

/* For poll(2): until end_ns, but not longer than the configuration says. */
static int left_ms(int64_t end_ns)
{
	const int64_t interval_ms = roost_rs_config()->wake_up_interval_ms;
	int64_t ms;

	if (end_ns == INT64_MAX)
		return (int)interval_ms;
	ms = (end_ns - roost_rs_now_ns() + 999999) / 1000000;
	if (ms < 0)
		ms = 0;
	return (int)(ms < interval_ms ? ms : interval_ms);
}

/* In: this thread is on the lists. Returns how many, 0 (late) or -errno. */
static int sleep_until(struct set *set, int64_t end_ns)
{
	for (;;) {
		int nb = peek(set);
		int ms;

		if (nb != 0)
			return nb;
		/* Armed first and looked at then: nothing falls between. */
		arm(set);
		for (nfds_t i = 0; nb == 0 && i < set->nb; i++) {
			if (set->rss[i])
				nb = look(set->rss[i], set->fds[i].events);
		}
		ms = left_ms(end_ns);
		if (nb == 0 && ms == 0 && roost_rs_now_ns() >= end_ns)
			return 0;
		nb = roost_rs_sleep(set->real, set->nb + 1, nb != 0 ? 0 : ms);
		if (nb < 0)
			return nb;
		drain(set);
		nb = collect(set);
		if (nb != 0)
			return nb;
	}
}

static int enlist(struct set *set)
{
	const int fd = roost_rs_thread_fd();

	if (fd < 0)
		return fd;
	set->real[0].fd = fd;
	for (nfds_t i = 0; i < set->nb; i++) {
		struct roost_rs *rs = set->rss[i];

		if (!rs)
			continue;
		set->waiters[i].eventfd = fd;
		pthread_mutex_lock(&rs->lock);
		LIST_INSERT_HEAD(&rs->waiters, &set->waiters[i], link);
		pthread_mutex_unlock(&rs->lock);
	}
	set->enlisted = true;
	return 0;
}

static void delist(struct set *set)
{
	for (nfds_t i = 0; i < set->nb; i++) {
		struct roost_rs *rs = set->rss[i];

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		LIST_REMOVE(&set->waiters[i], link);
		pthread_mutex_unlock(&rs->lock);
	}
}

static void leave(struct set *set)
{
	if (set->enlisted)
		delist(set);
	set_fini(set);
}

/* While it sleeps. */
static void cancelled(void *arg)
{
	struct set *set = arg;

	leave(set);
	free(set->own_fds);
}

static int wait_for(struct set *set, int timeout_ms)
{
	const int64_t end_ns =
		timeout_ms < 0
			? INT64_MAX
			: roost_rs_now_ns() + (int64_t)timeout_ms * 1000000;
	int ret;

	if (set->nb_rs == 0)
		return roost_rs_sleep(set->fds, set->nb, timeout_ms);
	ret = timeout_ms == 0 ? peek(set) : spin(set);
	if (ret != 0 || timeout_ms == 0)
		return ret;
	ret = enlist(set);
	return ret == 0 ? sleep_until(set, end_ns) : ret;
}

/* set is filled. */
static int poll_set(struct set *set, int timeout_ms)
{
	int ret;

	pthread_cleanup_push(cancelled, set);
	ret = wait_for(set, timeout_ms);
	pthread_cleanup_pop(0);
	leave(set);
	return ret;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct set set;
	int ret = set_init(&set, fds, nfds);

	if (ret == 0)
		ret = poll_set(&set, timeout);

	if (ret < 0) {
		errno = -ret;
		return -1;
	}
	return ret;
}

static bool is_set(int fd, fd_set *set)
{
	return set && FD_ISSET(fd, set);
}

/* Returns the number of descriptors. */
static nfds_t select_to_poll(int nb, fd_set *readfds, fd_set *writefds,
			     fd_set *exceptfds, struct pollfd *fds)
{
	nfds_t used = 0;

	for (int fd = 0; fd < nb; fd++) {
		short events = 0;

		if (is_set(fd, readfds))
			events |= POLLIN;
		if (is_set(fd, writefds))
			events |= POLLOUT;
		if (is_set(fd, exceptfds))
			events |= POLLPRI;
		if (events != 0)
			fds[used++] =
				(struct pollfd){ .fd = fd, .events = events };
	}
	return used;
}

/* As select(2) reads poll(2)'s events, but that a hang-up comes without POLLOUT
 * here. Returns the number of bits left. */
static int keep(const struct pollfd *fd, short asked, short events, fd_set *set)
{
	if (!set || !(fd->events & asked))
		return 0;
	if (fd->revents & events)
		return 1;
	FD_CLR(fd->fd, set);
	return 0;
}

static int poll_to_select(const struct pollfd *fds, nfds_t nb, fd_set *readfds,
			  fd_set *writefds, fd_set *exceptfds)
{
	int bits = 0;

	for (nfds_t i = 0; i < nb; i++) {
		bits += keep(&fds[i], POLLIN, POLLIN | POLLHUP | POLLERR,
			     readfds);
		bits += keep(&fds[i], POLLOUT, POLLOUT | POLLHUP | POLLERR,
			     writefds);
		bits += keep(&fds[i], POLLPRI, POLLPRI, exceptfds);
	}
	return bits;
}

static int timeval_to_ms(const struct timeval *timeout)
{
	int64_t ms;

	if (!timeout)
		return -1;
	ms = (int64_t)timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	    struct timeval *timeout)
{
	struct pollfd *fds;
	struct set set;
	nfds_t nb;
	int ret;

	if (nfds < 0 ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0))) {
		errno = EINVAL;
		return -1;
	}
	fds = calloc((size_t)nfds + 1, sizeof(*fds));
	if (!fds) {
		errno = ENOMEM;
		return -1;
	}
	nb = select_to_poll(nfds, readfds, writefds, exceptfds, fds);
	ret = set_init(&set, fds, nb);
	set.own_fds = fds;
	if (ret == 0)
		ret = poll_set(&set, timeval_to_ms(timeout));
	for (nfds_t i = 0; ret > 0 && i < nb; i++) {
		if (fds[i].revents & POLLNVAL)
			ret = -EBADF;
	}
	if (ret >= 0)
		ret = poll_to_select(fds, nb, readfds, writefds, exceptfds);
	free(fds);
	if (ret < 0) {
		errno = -ret;
		return -1;
	}
	return ret;
}
