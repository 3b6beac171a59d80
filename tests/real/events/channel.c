/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The two kinds of file descriptors, and the calls that read them. */

#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

#include "tests/real/events/events.h"

#define READERS 8
#define ROUNDS 500

/* ---- blocking and not ------------------------------------------------------
 */

struct reader {
	pthread_t thread;
	struct ibv_comp_channel *channel;
	atomic_uint got;
	atomic_bool stop;
	int error; /* of the get that ended it */
};

static void *read_events(void *arg)
{
	struct reader *r = arg;
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		if (ibv_get_cq_event(r->channel, &cq, &context) == 0) {
			ibv_ack_cq_events(cq, 1);
			atomic_fetch_add(&r->got, 1);
		} else if (errno != EINTR || atomic_load(&r->stop)) {
			r->error = errno;
			return NULL;
		}
	}
}

static void reader_start(struct reader *r, struct ibv_comp_channel *channel)
{
	*r = (struct reader){ .channel = channel };
	assert_int_equal(pthread_create(&r->thread, NULL, read_events, r), 0);
}

static void on_signal(int number)
{
	(void)number;
}

static void catch (int number, int flags)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = flags };

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

/* Until it is gone: a signal that comes before its read(2) changes nothing. */
static void reader_stop(struct reader *r)
{
	atomic_store(&r->stop, true);
	while (pthread_tryjoin_np(r->thread, NULL) != 0) {
		pthread_kill(r->thread, SIGUSR1);
		usleep(1000);
	}
	assert_int_equal(r->error, EINTR);
}

static unsigned int sum(struct reader *r, unsigned int n)
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < n; i++)
		got += atomic_load(&r[i].got);
	return got;
}

static void await_sum(struct reader *r, unsigned int n, unsigned int want)
{
	const int64_t until = tour_now_ns() + TOUR_TIMEOUT_NS;

	while (sum(r, n) < want && tour_now_ns() < until)
		sched_yield();
	assert_int_equal(sum(r, n), want);
}

static void get__blocks_until_there_is_one(void **state)
{
	struct line l = line_open(NULL);
	struct reader r;

	(void)state;
	catch (SIGUSR1, 0);
	reader_start(&r, l.channel);
	usleep(QUIET_MS * 1000);
	assert_int_equal(sum(&r, 1), 0);
	line_ring(&l);
	await_sum(&r, 1, 1);
	reader_stop(&r);
	line_close(&l);
}

static void get__eagain_when_not_blocking(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_async_event e;
	struct ibv_cq *cq;
	void *context;

	(void)state;
	set_nonblock(l.channel->fd);
	set_nonblock(tour.context->async_fd);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		assert_int_equal(ibv_get_cq_event(l.channel, &cq, &context),
				 -1);
		assert_int_equal(errno, EAGAIN);
		errno = 0;
		assert_int_equal(ibv_get_async_event(tour.context, &e), -1);
		assert_int_equal(errno, EAGAIN);
		line_ring(&l);
		line_get(&l);
		ibv_ack_cq_events(l.cq, 1);
	}
	line_close(&l);
}

static void alarm_in_ms(int ms)
{
	struct itimerval timer = { .it_value = { .tv_usec = ms * 1000 } };

	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void get__eintr(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_async_event e;
	struct ibv_cq *cq;
	void *context;

	(void)state;
	catch (SIGALRM, 0);
	alarm_in_ms(20);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(l.channel, &cq, &context), -1);
	assert_int_equal(errno, EINTR);
	alarm_in_ms(20);
	errno = 0;
	assert_int_equal(ibv_get_async_event(tour.context, &e), -1);
	assert_int_equal(errno, EINTR);
	line_close(&l);
}

static void *ring_later(void *arg)
{
	usleep(QUIET_MS * 1000);
	line_ring(arg);
	return NULL;
}

/* A handler that asks for it has the call go on. */
static void get__goes_on_after_sa_restart(void **state)
{
	struct line l = line_open(NULL);
	pthread_t thread;

	(void)state;
	catch (SIGALRM, SA_RESTART);
	pthread_create(&thread, NULL, ring_later, &l);
	alarm_in_ms(QUIET_MS / 5);
	line_get(&l);
	pthread_join(thread, NULL);
	ibv_ack_cq_events(l.cq, 1);
	line_close(&l);
}

/* ---- many readers ----------------------------------------------------------
 */

/* All read one channel; nobody gets nothing, and nothing is got twice. */
static void get__one_reader_per_event(void **state)
{
	struct line l = line_open(NULL);
	struct reader readers[READERS];

	(void)state;
	catch (SIGUSR1, 0);
	for (unsigned int i = 0; i < READERS; i++)
		reader_start(&readers[i], l.channel);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct ibv_wc wc;

		line_ring(&l);
		await_sum(readers, READERS, i + 1);
		assert_int_equal(ibv_poll_cq(l.cq, 1, &wc), 1);
	}
	usleep(QUIET_MS * 1000);
	assert_int_equal(sum(readers, READERS), ROUNDS);
	for (unsigned int i = 0; i < READERS; i++)
		reader_stop(&readers[i]);
	assert_quiet(l.channel->fd);
	line_close(&l);
}

/* ---- waiting for many things ------------------------------------------------
 */

static void fd__poll_is_level(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	assert_quiet(l.channel->fd);
	line_ring(&l);
	assert_true(readable(l.channel->fd, 1000));
	assert_true(readable(l.channel->fd, 0));
	line_get(&l);
	assert_false(readable(l.channel->fd, 0));
	ibv_ack_cq_events(l.cq, 1);
	line_close(&l);
}

static int select_now(int fd)
{
	struct timeval none = { 0 };
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(fd, &fds);
	return select(fd + 1, &fds, NULL, NULL, &none);
}

static void fd__select_is_level(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	assert_int_equal(select_now(l.channel->fd), 0);
	line_ring(&l);
	assert_int_equal(select_now(l.channel->fd), 1);
	assert_int_equal(select_now(l.channel->fd), 1);
	line_get(&l);
	assert_int_equal(select_now(l.channel->fd), 0);
	ibv_ack_cq_events(l.cq, 1);
	line_close(&l);
}

static int epoll_on(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(epoll >= 0);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	return epoll;
}

static int epoll_now(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, 0);
}

static void fd__epoll_is_level(void **state)
{
	struct line l = line_open(NULL);
	int epoll = epoll_on(l.channel->fd, EPOLLIN);

	(void)state;
	assert_int_equal(epoll_now(epoll), 0);
	line_ring(&l);
	assert_int_equal(epoll_now(epoll), 1);
	assert_int_equal(epoll_now(epoll), 1);
	line_get(&l);
	assert_int_equal(epoll_now(epoll), 0);
	ibv_ack_cq_events(l.cq, 1);
	close(epoll);
	line_close(&l);
}

/* One report for each event that comes, read or not. */
static void fd__epoll_is_edge(void **state)
{
	struct line l = line_open(NULL);
	int epoll = epoll_on(l.channel->fd, EPOLLIN | EPOLLET);

	(void)state;
	for (int i = 0; i < 3; i++) {
		line_ring(&l);
		assert_int_equal(epoll_now(epoll), 1);
		assert_int_equal(epoll_now(epoll), 0);
	}
	for (int i = 0; i < 3; i++)
		line_get(&l);
	assert_int_equal(epoll_now(epoll), 0);
	ibv_ack_cq_events(l.cq, 3);
	close(epoll);
	line_close(&l);
}

/* The other descriptor is one of the same kind. */
static void fd__async_too(void **state)
{
	struct line l = line_open(NULL);
	int level = epoll_on(tour.context->async_fd, EPOLLIN);
	int edge = epoll_on(tour.context->async_fd, EPOLLIN | EPOLLET);
	struct ibv_async_event e;

	(void)state;
	assert_quiet(tour.context->async_fd);
	assert_int_equal(tour_write8(l.p.a, (uintptr_t)tour.peer,
				     tour.mr->rkey ^ 1),
			 IBV_WC_REM_ACCESS_ERR);
	assert_true(readable(tour.context->async_fd, 1000));
	assert_int_equal(select_now(tour.context->async_fd), 1);
	assert_int_equal(epoll_now(level), 1);
	assert_int_equal(epoll_now(level), 1);
	assert_int_equal(epoll_now(edge), 1);
	assert_int_equal(epoll_now(edge), 0);
	e = tour_event(IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(e.element.qp, l.p.b);
	ibv_ack_async_event(&e);
	assert_int_equal(epoll_now(level), 0);
	close(level);
	close(edge);
	line_close(&l);
}

const struct CMUnitTest events_channel[] = {
	TOUR_TEST(get__blocks_until_there_is_one),
	TOUR_TEST(get__eagain_when_not_blocking),
	TOUR_TEST(get__eintr),
	TOUR_TEST(get__goes_on_after_sa_restart),
	TOUR_TEST(get__one_reader_per_event),
	TOUR_TEST(fd__poll_is_level),
	TOUR_TEST(fd__select_is_level),
	TOUR_TEST(fd__epoll_is_level),
	TOUR_TEST(fd__epoll_is_edge),
	TOUR_TEST(fd__async_too),
	{ 0 },
};
