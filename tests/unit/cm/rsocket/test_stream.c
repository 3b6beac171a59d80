/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Streams: opening, data, and the end. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

static void stream__connects_and_says_who(void **state)
{
	struct sockaddr_storage addr;
	socklen_t length = sizeof(addr);
	struct pair pair;

	pair_open(&pair, 0);
	assert_int_equal(rgetpeername(pair.client, (struct sockaddr *)&addr,
				      &length),
			 0);
	assert_int_equal(length, sizeof(struct sockaddr_in));
	assert_int_equal(((struct sockaddr_in *)&addr)->sin_port, htons(PORT));
	/* As librspreload.so asks for the family. */
	length = 0;
	assert_int_equal(rgetsockname(pair.server, NULL, &length), 0);
	assert_int_equal(length, sizeof(struct sockaddr_in));
	pair_close(&pair);
}

static void stream__refused(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

static void stream__asks_again(void **state)
{
	struct pair pair;

	fake_wish(
		(struct fake_wish){ .addr_timeouts = 3, .route_timeouts = 2 });
	pair_open(&pair, 0);
	pair_close(&pair);
}

static void stream__gives_up_asking(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	fake_wish((struct fake_wish){ .addr_timeouts = 100 });
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, ETIMEDOUT);
	fake_wish((struct fake_wish){ 0 });
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

static void stream__nonblocking_connect(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int listener = pair_listen(1);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct pollfd pollfd = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int error = -1;

	pair_nonblock(fd);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, EINPROGRESS);
	assert_int_equal(rpoll(&pollfd, 1, 2000), 1);
	assert_int_equal(pollfd.revents, POLLOUT);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length),
			 0);
	assert_int_equal(error, 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, EISCONN);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(listener), 0);
	pair_assert_clean();
}

static void stream__nonblocking_refusal(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct pollfd pollfd = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int error = 0;

	pair_nonblock(fd);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, EINPROGRESS);
	assert_int_equal(rpoll(&pollfd, 1, 2000), 1);
	assert_true(pollfd.revents & POLLERR);
	assert_true(pollfd.revents & POLLOUT);
	rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	assert_int_equal(error, ECONNREFUSED);
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

/* Two are let in, 72 wait for their answer, one is refused. */
#define WAITING 72
#define CLIENTS (2 + WAITING + 1)

static void stream__holds_back(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int listener = pair_listen(2);
	struct pollfd fds[CLIENTS];
	int nb_refused = 0;

	for (int i = 0; i < CLIENTS; i++) {
		fds[i].fd = rsocket(AF_INET, SOCK_STREAM, 0);
		fds[i].events = POLLOUT;
		pair_nonblock(fds[i].fd);
		rconnect(fds[i].fd, (struct sockaddr *)&addr, sizeof(addr));
		/* In this order. */
		rpoll(&fds[i], 1, i < 2 || i == CLIENTS - 1 ? 2000 : 5);
		assert_int_equal(fds[i].revents != 0,
				 i < 2 || i == CLIENTS - 1);
		nb_refused += (fds[i].revents & POLLERR) != 0;
	}
	assert_int_equal(nb_refused, 1);
	for (int i = 0; i < CLIENTS - 1; i++) {
		int fd = raccept(listener, NULL, NULL);

		assert_true(fd >= 0);
		assert_int_equal(rclose(fd), 0);
	}
	pair_nonblock(listener);
	assert_int_equal(raccept(listener, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < CLIENTS; i++)
		assert_int_equal(rclose(fds[i].fd), 0);
	assert_int_equal(rclose(listener), 0);
	pair_assert_clean();
}

static void stream__listener_closes_with_children(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int listener = pair_listen(1);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte;

	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(rclose(listener), 0);
	/* The peer was never accepted: its end is the end of the stream. */
	assert_int_equal(rrecv(fd, &byte, 1, 0), 0);
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

static void stream__small_and_vectors(void **state)
{
	struct iovec out[3] = { { (char *)"ab", 2 },
				{ NULL, 0 },
				{ (char *)"cdefg", 5 } };
	char first[3];
	char second[8];
	struct iovec in[2] = { { first, 3 }, { second, 8 } };
	struct msghdr msg = { .msg_iov = in, .msg_iovlen = 2 };
	struct pair pair;

	pair_open(&pair, 0);
	assert_int_equal(rwritev(pair.client, out, 3), 7);
	assert_int_equal(rrecv(pair.server, second, 2, MSG_PEEK), 2);
	assert_memory_equal(second, "ab", 2);
	assert_int_equal(rrecvmsg(pair.server, &msg, 0), 7);
	assert_memory_equal(first, "abc", 3);
	assert_memory_equal(second, "defg", 4);
	assert_int_equal(rsend(pair.server, "xyz", 3, 0), 3);
	assert_int_equal(rrecv(pair.client, first, 1, 0), 1);
	assert_int_equal(rrecv(pair.client, second, 8, 0), 2);
	assert_memory_equal(second, "yz", 2);
	assert_int_equal(rrecv(pair.client, second, 8, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rsend(pair.client, "", 0, 0), 0);
	pair_close(&pair);
}

#define LOTS (8u << 20)

struct pump {
	int fd;
	unsigned int seed;
	size_t step;
};

static void *pump_out(void *arg)
{
	struct pump *pump = arg;
	uint8_t *buf = malloc(LOTS);
	size_t at = 0;

	pair_fill(buf, LOTS, pump->seed);
	while (at < LOTS) {
		size_t left = LOTS - at;
		ssize_t ret = rsend(pump->fd, buf + at,
				    left < pump->step ? left : pump->step, 0);

		if (ret <= 0)
			break;
		at += (size_t)ret;
	}
	free(buf);
	return at == LOTS ? arg : NULL;
}

static void *pump_in(void *arg)
{
	struct pump *pump = arg;
	uint8_t *want = malloc(LOTS);
	uint8_t *buf = malloc(LOTS);
	size_t at = 0;

	pair_fill(want, LOTS, pump->seed);
	while (at < LOTS) {
		size_t left = LOTS - at;
		ssize_t ret = rrecv(pump->fd, buf + at,
				    left < pump->step ? left : pump->step, 0);

		if (ret <= 0)
			break;
		at += (size_t)ret;
	}
	if (memcmp(buf, want, LOTS) != 0)
		at = 0;
	free(buf);
	free(want);
	return at == LOTS ? arg : NULL;
}

/* Four threads: more than buffers, credits and queues hold, both ways. */
static void stream__both_ways_at_once(void **state)
{
	struct pair pair;
	struct pump pumps[4];
	pthread_t threads[4];
	void *result;

	pair_open(&pair, 0);
	pumps[0] = (struct pump){ pair.client, 1, 100000 };
	pumps[1] = (struct pump){ pair.server, 1, 777 };
	pumps[2] = (struct pump){ pair.server, 2, 333 };
	pumps[3] = (struct pump){ pair.client, 2, 65536 };
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL,
			       i % 2 == 0 ? pump_out : pump_in, &pumps[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_ptr_equal(result, &pumps[i]);
	}
	pair_close(&pair);
}

static void stream__fills_up_and_drains(void **state)
{
	static uint8_t buf[1 << 20];
	static uint8_t got[1 << 20];
	struct pair pair;
	ssize_t sent;
	ssize_t at = 0;

	pair_open(&pair, 0);
	pair_fill(buf, sizeof(buf), 3);
	sent = rsend(pair.client, buf, sizeof(buf), MSG_DONTWAIT);
	/* As much as the peer's buffer holds: 128 KiB. */
	assert_int_equal(sent, 1 << 17);
	assert_int_equal(rsend(pair.client, buf, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	while (at < sent) {
		ssize_t ret = rrecv(pair.server, got + at, 5000, 0);

		assert_true(ret > 0);
		at += ret;
	}
	assert_memory_equal(buf, got, (size_t)sent);
	assert_int_equal(rsend(pair.client, buf, 1, MSG_DONTWAIT), 1);
	pair_close(&pair);
}

static void stream__waits_for_all(void **state)
{
	static uint8_t got[LOTS];
	struct pair pair;
	struct pump pump;
	pthread_t thread;

	pair_open(&pair, 0);
	pump = (struct pump){ pair.client, 5, 50000 };
	pthread_create(&thread, NULL, pump_out, &pump);
	assert_int_equal(rrecv(pair.server, got, LOTS, MSG_WAITALL), LOTS);
	pthread_join(thread, NULL);
	pair_close(&pair);
}

static void stream__half_close(void **state)
{
	struct pair pair;
	char buf[8];

	pair_open(&pair, 0);
	assert_int_equal(rsend(pair.client, "bye", 3, 0), 3);
	assert_int_equal(rshutdown(pair.client, SHUT_WR), 0);
	assert_int_equal(rsend(pair.client, "x", 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(rrecv(pair.server, buf, 8, 0), 3);
	assert_int_equal(rrecv(pair.server, buf, 8, 0), 0);
	/* The other way is open still. */
	assert_int_equal(rsend(pair.server, "late", 4, 0), 4);
	assert_int_equal(rrecv(pair.client, buf, 8, 0), 4);
	assert_int_equal(rshutdown(pair.server, SHUT_WR), 0);
	assert_int_equal(rrecv(pair.client, buf, 8, 0), 0);
	pair_close(&pair);
}

static void stream__data_survives_the_close(void **state)
{
	struct pair pair;
	char buf[16];

	pair_open(&pair, 0);
	assert_int_equal(rsend(pair.client, "last words", 10, 0), 10);
	assert_int_equal(rclose(pair.client), 0);
	assert_int_equal(rrecv(pair.server, buf, 16, 0), 10);
	assert_int_equal(rrecv(pair.server, buf, 16, 0), 0);
	assert_int_equal(rsend(pair.server, "x", 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(rclose(pair.client), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(rclose(pair.server), 0);
	assert_int_equal(rclose(pair.listener), 0);
	pair_assert_clean();
}

static void stream__peer_is_lost(void **state)
{
	struct pair pair;
	char byte;

	pair_open(&pair, 0);
	fake_cut();
	assert_int_equal(rsend(pair.client, "x", 1, 0), 1);
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), 0);
	pair_close(&pair);
}

/* The error behind the last data is not the end of the stream. */
static void stream__error_after_data(void **state)
{
	struct pair pair;
	char bytes[8];

	pair_open(&pair, 0);
	assert_int_equal(rsend(pair.server, "abc", 3, 0), 3);
	fake_cut();
	assert_int_equal(rsend(pair.client, "x", 1, 0), 1);
	assert_int_equal(rrecv(pair.client, bytes, 8, MSG_WAITALL), 3);
	assert_int_equal(rrecv(pair.client, bytes, 8, MSG_WAITALL), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(rrecv(pair.client, bytes, 8, MSG_WAITALL), 0);
	pair_close(&pair);
}

static void *send_lots(void *arg)
{
	static uint8_t lots[1 << 20];

	return (void *)rsend(*(int *)arg, lots, sizeof(lots), 0);
}

static void stream__error_after_some_was_sent(void **state)
{
	struct pair pair;
	pthread_t thread;
	void *sent;

	pair_open(&pair, 0);
	pthread_create(&thread, NULL, send_lots, &pair.client);
	usleep(20000);
	fake_remove_device();
	pthread_join(thread, &sent);
	assert_int_equal((intptr_t)sent, 1 << 17);
	assert_int_equal(rsend(pair.client, "x", 1, 0), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(rsend(pair.client, "x", 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	pair_close(&pair);
}

static void stream__device_goes(void **state)
{
	struct pair pair;
	char byte;

	pair_open(&pair, 0);
	fake_remove_device();
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), -1);
	assert_int_equal(errno, ENODEV);
	pair_close(&pair);
}

static void *recv_one(void *arg)
{
	char byte;

	return (void *)(intptr_t)rrecv(*(int *)arg, &byte, 1, 0);
}

static void stream__closed_under_a_reader(void **state)
{
	struct pair pair;
	pthread_t thread;
	void *result;

	pair_open(&pair, 0);
	pthread_create(&thread, NULL, recv_one, &pair.server);
	usleep(20000);
	assert_int_equal(rclose(pair.server), 0);
	pthread_join(thread, &result);
	assert_true((intptr_t)result <= 0);
	assert_int_equal(rclose(pair.client), 0);
	assert_int_equal(rclose(pair.listener), 0);
	pair_assert_clean();
}

static void stream__keepalive(void **state)
{
	struct pair pair;
	int value = 1;

	pair_open(&pair, 0);
	fake_posted(IBV_WR_RDMA_WRITE);
	assert_int_equal(rsetsockopt(pair.client, IPPROTO_TCP, 4 /* IDLE */,
				     &value, sizeof(value)),
			 0);
	assert_int_equal(rsetsockopt(pair.client, SOL_SOCKET, SO_KEEPALIVE,
				     &value, sizeof(value)),
			 0);
	usleep(2300000);
	assert_in_range(fake_posted(IBV_WR_RDMA_WRITE), 1, 3);
	pair_close(&pair);
}

static void stream__misuse(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;

	assert_int_equal(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(rsocket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(rsend(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(rrecv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(raccept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rbind(fd, (struct sockaddr *)&addr, 4), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rshutdown(fd, SHUT_WR), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(rsend(12345, &byte, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(rsend(0, &byte, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream__connects_and_says_who),
		cmocka_unit_test(stream__refused),
		cmocka_unit_test(stream__asks_again),
		cmocka_unit_test(stream__gives_up_asking),
		cmocka_unit_test(stream__nonblocking_connect),
		cmocka_unit_test(stream__nonblocking_refusal),
		cmocka_unit_test(stream__holds_back),
		cmocka_unit_test(stream__listener_closes_with_children),
		cmocka_unit_test(stream__small_and_vectors),
		cmocka_unit_test(stream__both_ways_at_once),
		cmocka_unit_test(stream__fills_up_and_drains),
		cmocka_unit_test(stream__waits_for_all),
		cmocka_unit_test(stream__half_close),
		cmocka_unit_test(stream__data_survives_the_close),
		cmocka_unit_test(stream__peer_is_lost),
		cmocka_unit_test(stream__error_after_data),
		cmocka_unit_test(stream__error_after_some_was_sent),
		cmocka_unit_test(stream__device_goes),
		cmocka_unit_test(stream__closed_under_a_reader),
		cmocka_unit_test(stream__keepalive),
		cmocka_unit_test(stream__misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
