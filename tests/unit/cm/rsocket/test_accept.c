/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Connections that a listener does not get as usual. */

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

static int connecting(void)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	pair_nonblock(fd);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, EINPROGRESS);
	usleep(20000);
	return fd;
}

/* Who goes before the connection is made leaves its place to who waits. */
static void accept__next_in_the_backlog(void **state)
{
	struct pollfd pollfd = { .events = POLLOUT };
	int listener = pair_listen(1);
	int first;

	fake_wish((struct fake_wish){ .lost_accepts = 1 });
	first = connecting();
	pollfd.fd = connecting();
	assert_int_equal(rpoll(&pollfd, 1, 0), 0);
	assert_int_equal(rclose(first), 0);
	assert_int_equal(rpoll(&pollfd, 1, 2000), 1);
	assert_int_equal(pollfd.revents, POLLOUT);
	assert_int_equal(rclose(pollfd.fd), 0);
	assert_int_equal(rclose(listener), 0);
	pair_assert_clean();
}

/* Without a number to give, the connection stays where it is. */
static void accept__without_a_descriptor(void **state)
{
	struct rlimit old;
	struct rlimit none;
	int listener = pair_listen(1);
	int client = connecting();
	int server;

	pair_nonblock(listener);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = (rlim_t)client + 1;
	setrlimit(RLIMIT_NOFILE, &none);
	server = raccept(listener, NULL, NULL);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(server, -1);
	assert_int_equal(errno, EMFILE);
	server = raccept(listener, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(listener), 0);
	pair_assert_clean();
}

/* A peer that has closed before its RTU came was there, with all it said. */
static void accept__rtu_is_lost(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	struct pollfd pollfd = { .fd = pair_listen(1), .events = POLLIN };
	int client = rsocket(AF_INET, SOCK_STREAM, 0);
	char bytes[8];
	int server;

	fake_wish((struct fake_wish){ .lost_rtus = 1 });
	assert_int_equal(rconnect(client, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	assert_int_equal(rsend(client, "hi", 2, 0), 2);
	assert_int_equal(rpoll(&pollfd, 1, 20), 0);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rpoll(&pollfd, 1, 2000), 1);
	server = raccept(pollfd.fd, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(rrecv(server, bytes, 8, 0), 2);
	assert_int_equal(rrecv(server, bytes, 8, 0), 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(pollfd.fd), 0);
	pair_assert_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept__next_in_the_backlog),
		cmocka_unit_test(accept__without_a_descriptor),
		cmocka_unit_test(accept__rtu_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
