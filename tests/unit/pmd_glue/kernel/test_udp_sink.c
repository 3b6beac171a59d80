/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/wire/frame.h"
#include "pmd_glue/kernel/udp_sink.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/own_net.h"

#define REFUSAL_MS 100

static int bring_up_loopback(void **state)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int ret = ioctl(fd, SIOCSIFFLAGS, &ifr);

	close(fd);
	return ret;
}

/* What the kernel answers to a packet for RoCEv2's port here. */
static int answer_to(int family, const char *address, uint16_t port)
{
	struct sockaddr_in to4 = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	int fd = socket(family, SOCK_DGRAM, 0);
	struct pollfd refused = { .fd = fd };
	socklen_t len = sizeof(int);
	int error = 0;
	int ret;

	if (family == AF_INET) {
		inet_pton(family, address, &to4.sin_addr);
		ret = connect(fd, (const void *)&to4, sizeof(to4));
	} else {
		inet_pton(family, address, &to6.sin6_addr);
		ret = connect(fd, (const void *)&to6, sizeof(to6));
	}
	assert_int_equal(ret, 0);
	assert_int_equal(send(fd, "roce", 4, 0), 4);
	poll(&refused, 1, REFUSAL_MS);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	close(fd);
	return error;
}

static int answer(void)
{
	return answer_to(AF_INET, "127.0.0.1", ROOST_UDP_PORT);
}

static void udp_sink__nobody_is_told(void **state)
{
	int fd;

	assert_int_equal(answer(), ECONNREFUSED);
	fd = roost_udp_sink_open("lo");
	assert_true(fd >= 0);
	assert_int_equal(answer(), 0);
	/* Other ports are not ours. */
	assert_int_equal(answer_to(AF_INET, "127.0.0.1", ROOST_UDP_PORT + 1),
			 ECONNREFUSED);
	close(fd);
	assert_int_equal(answer(), ECONNREFUSED);
}

static void udp_sink__ipv6_too(void **state)
{
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0)
		skip();
	close(fd);
	assert_int_equal(answer_to(AF_INET6, "::1", ROOST_UDP_PORT),
			 ECONNREFUSED);
	fd = roost_udp_sink_open("lo");
	assert_int_equal(answer_to(AF_INET6, "::1", ROOST_UDP_PORT), 0);
	close(fd);
}

static void udp_sink__keeps_nothing(void **state)
{
	int fd = roost_udp_sink_open("lo");
	char byte;

	answer();
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

static void udp_sink__several_processes(void **state)
{
	int first = roost_udp_sink_open("lo");
	int second = roost_udp_sink_open("lo");

	assert_true(first >= 0 && second >= 0);
	close(second);
	assert_int_equal(answer(), 0);
	close(first);
}

static void udp_sink__somebody_else_holds_it(void **state)
{
	const struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(ROOST_UDP_PORT),
	};
	int theirs = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(theirs, (const void *)&addr, sizeof(addr)), 0);
	assert_int_equal(roost_udp_sink_open("lo"), -EADDRINUSE);
	close(theirs);
}

static void udp_sink__no_such_interface(void **state)
{
	assert_int_equal(roost_udp_sink_open("none0"), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_sink__nobody_is_told),
		cmocka_unit_test(udp_sink__ipv6_too),
		cmocka_unit_test(udp_sink__keeps_nothing),
		cmocka_unit_test(udp_sink__several_processes),
		cmocka_unit_test(udp_sink__somebody_else_holds_it),
		cmocka_unit_test(udp_sink__no_such_interface),
	};

	own_net_enter();
	return cmocka_run_group_tests(tests, bring_up_loopback, NULL);
}
