/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* rpoll and rselect. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

static short poll_one(int fd, short events, int timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = events };

	assert_in_range(rpoll(&pollfd, 1, timeout_ms) + 1, 1, 2);
	return pollfd.revents;
}

static void poll__states(void **state)
{
	struct pair pair;
	int fresh = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte;

	pair_open(&pair, 0);
	assert_int_equal(poll_one(fresh, POLLIN | POLLOUT, 0), 0);
	assert_int_equal(poll_one(pair.listener, POLLIN, 0), 0);
	assert_int_equal(poll_one(pair.client, POLLIN | POLLOUT, 0), POLLOUT);
	rsend(pair.server, "x", 1, 0);
	assert_int_equal(poll_one(pair.client, POLLIN | POLLOUT, 0),
			 POLLIN | POLLOUT);
	rrecv(pair.client, &byte, 1, 0);
	while (rsend(pair.client, "0123456789", 10, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(poll_one(pair.client, POLLIN | POLLOUT, 0), 0);
	rshutdown(pair.server, SHUT_WR);
	assert_int_equal(poll_one(pair.client, POLLIN | POLLRDHUP, 0),
			 POLLIN | POLLRDHUP);
	rclose(fresh);
	while (rrecv(pair.server, &byte, 1, MSG_DONTWAIT) == 1)
		;
	assert_int_equal(rclose(pair.server), 0);
	assert_int_equal(poll_one(pair.client, POLLIN | POLLOUT, 1000),
			 POLLIN | POLLHUP);
	rclose(pair.client);
	assert_int_equal(poll_one(pair.client, POLLIN, 0), POLLNVAL);
	rclose(pair.listener);
	pair_assert_clean();
}

/* The peer's last words come before its hang-up. */
static void poll__data_before_hang_up(void **state)
{
	struct pair pair;
	char byte;

	pair_open(&pair, 0);
	rsend(pair.server, "x", 1, 0);
	assert_int_equal(rclose(pair.server), 0);
	assert_int_equal(poll_one(pair.client, POLLIN, 1000), POLLIN);
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), 1);
	assert_int_equal(poll_one(pair.client, POLLIN, 1000), POLLIN | POLLHUP);
	rclose(pair.client);
	rclose(pair.listener);
	pair_assert_clean();
}

/* Who waits to send learns of the end, too, whatever there is to read. */
static void poll__sender_sees_the_end(void **state)
{
	struct timeval timeout = { .tv_sec = 1 };
	struct pair pair;
	fd_set out;
	char byte;

	pair_open(&pair, 0);
	while (rsend(pair.client, "0123456789", 10, MSG_DONTWAIT) > 0)
		;
	rsend(pair.server, "x", 1, 0);
	assert_int_equal(rclose(pair.server), 0);
	assert_int_equal(poll_one(pair.client, POLLOUT, 1000), POLLOUT);
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), 1);
	FD_ZERO(&out);
	FD_SET(pair.client, &out);
	assert_int_equal(rselect(pair.client + 1, NULL, &out, NULL, &timeout),
			 1);
	assert_true(FD_ISSET(pair.client, &out));
	rclose(pair.client);
	rclose(pair.listener);
	pair_assert_clean();
}

static void poll__times_out(void **state)
{
	struct timespec a;
	struct timespec b;
	struct pair pair;

	pair_open(&pair, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_int_equal(poll_one(pair.client, POLLIN, 60), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true((b.tv_sec - a.tv_sec) * 1000 +
			    (b.tv_nsec - a.tv_nsec) / 1000000 >=
		    59);
	pair_close(&pair);
}

struct waiter {
	int fd;
	short events;
	short got;
};

static void *wait_for(void *arg)
{
	struct waiter *waiter = arg;
	struct pollfd pollfd = { .fd = waiter->fd, .events = waiter->events };

	if (rpoll(&pollfd, 1, 5000) == 1)
		waiter->got = pollfd.revents;
	return NULL;
}

/* One reads the event; all are to see what it means. */
static void poll__wakes_everybody(void **state)
{
	struct waiter waiters[6];
	pthread_t threads[6];
	struct pair pair;

	for (int round = 0; round < 20; round++) {
		pair_open(&pair, 0);
		for (int i = 0; i < 6; i++) {
			waiters[i] = (struct waiter){ pair.server, POLLIN, 0 };
			pthread_create(&threads[i], NULL, wait_for,
				       &waiters[i]);
		}
		usleep(3000);
		assert_int_equal(rsend(pair.client, "x", 1, 0), 1);
		for (int i = 0; i < 6; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(waiters[i].got, POLLIN);
		}
		pair_close(&pair);
	}
}

static void *send_later(void *arg)
{
	usleep(30000);
	(void)!write(*(int *)arg, "x", 1);
	return NULL;
}

static void poll__mixes_with_others(void **state)
{
	struct pair pair;
	struct pollfd fds[4] = { 0 };
	pthread_t thread;
	int pipes[2];

	pair_open(&pair, 0);
	assert_int_equal(pipe(pipes), 0);
	fds[0] = (struct pollfd){ .fd = pair.client, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = -1, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = pair.listener, .events = POLLIN };
	pthread_create(&thread, NULL, send_later, &pipes[1]);
	assert_int_equal(rpoll(fds, 4, 3000), 1);
	assert_int_equal(fds[0].revents, 0);
	assert_int_equal(fds[1].revents, 0);
	assert_int_equal(fds[2].revents, POLLIN);
	pthread_join(thread, NULL);
	/* Without any rsocket it is poll(2). */
	assert_int_equal(rpoll(&fds[2], 1, 0), 1);
	close(pipes[0]);
	close(pipes[1]);
	pair_close(&pair);
}

static void *connect_later(void *arg)
{
	struct sockaddr_in addr = pair_addr(PORT);

	usleep(30000);
	assert_int_equal(rconnect(*(int *)arg, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	return NULL;
}

static void poll__listener(void **state)
{
	int listener = pair_listen(1);
	int client = rsocket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;
	int fd;

	pthread_create(&thread, NULL, connect_later, &client);
	assert_int_equal(poll_one(listener, POLLIN, 3000), POLLIN);
	fd = raccept(listener, NULL, NULL);
	assert_true(fd >= 0);
	pthread_join(thread, NULL);
	rclose(client);
	rclose(fd);
	rclose(listener);
	pair_assert_clean();
}

static void poll__select(void **state)
{
	struct timeval timeout = { .tv_usec = 20000 };
	struct pair pair;
	fd_set in;
	fd_set out;

	pair_open(&pair, 0);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(pair.client, &in);
	assert_int_equal(rselect(pair.client + 1, &in, NULL, NULL, &timeout),
			 0);
	assert_false(FD_ISSET(pair.client, &in));
	FD_SET(pair.client, &in);
	FD_SET(pair.server, &in);
	FD_SET(pair.client, &out);
	rsend(pair.client, "x", 1, 0);
	assert_int_equal(rselect(pair.server + 1, &in, &out, NULL, NULL), 2);
	assert_false(FD_ISSET(pair.client, &in));
	assert_true(FD_ISSET(pair.server, &in));
	assert_true(FD_ISSET(pair.client, &out));
	pair_close(&pair);
}

static void on_signal(int number)
{
	(void)number;
}

static void poll__interrupted(void **state)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct pollfd pollfd;
	struct pair pair;

	pair_open(&pair, 0);
	sigaction(SIGALRM, &action, NULL);
	ualarm(30000, 0);
	pollfd = (struct pollfd){ .fd = pair.client, .events = POLLIN };
	assert_int_equal(rpoll(&pollfd, 1, 3000), -1);
	assert_int_equal(errno, EINTR);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__states),
		cmocka_unit_test(poll__data_before_hang_up),
		cmocka_unit_test(poll__sender_sees_the_end),
		cmocka_unit_test(poll__times_out),
		cmocka_unit_test(poll__wakes_everybody),
		cmocka_unit_test(poll__mixes_with_others),
		cmocka_unit_test(poll__listener),
		cmocka_unit_test(poll__select),
		cmocka_unit_test(poll__interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
