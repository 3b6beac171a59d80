/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Datagrams: 198.18.0.1 is not the kernel's, so that QP numbers are found by
 * SIDR; 127.0.0.1 is, and the side channel is used.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

static struct sockaddr_in kernel_addr(uint16_t port)
{
	struct sockaddr_in addr = pair_addr(port);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return addr;
}

static int bound(struct sockaddr_in *addr)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof(*addr);

	assert_true(fd >= 0);
	assert_int_equal(rbind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)addr, &length), 0);
	assert_int_not_equal(addr->sin_port, 0);
	return fd;
}

static void echo(struct sockaddr_in addr)
{
	int server = bound(&addr);
	int client = rsocket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	uint8_t out[1500];
	uint8_t in[2000];

	assert_int_equal(rconnect(client, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	for (unsigned int i = 0; i < 1000; i++) {
		pair_fill(out, sizeof(out), i);
		assert_int_equal(rsend(client, out, sizeof(out), 0),
				 sizeof(out));
		length = sizeof(from);
		assert_int_equal(rrecvfrom(server, in, sizeof(in), 0,
					   (struct sockaddr *)&from, &length),
				 sizeof(out));
		assert_memory_equal(in, out, sizeof(out));
		assert_int_equal(rsendto(server, "reply", 5, 0,
					 (struct sockaddr *)&from, length),
				 5);
		assert_int_equal(rrecv(client, in, sizeof(in), 0), 5);
	}
	assert_int_equal(from.sin_addr.s_addr, addr.sin_addr.s_addr);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
	pair_assert_clean();
}

static void dgram__by_sidr(void **state)
{
	fake_posted(IBV_WR_SEND);
	echo(pair_addr(7174));
	assert_int_equal(fake_posted(IBV_WR_SEND), 2000);
}

/* Between two of us, whichever way finds the QP first is taken. */
static void dgram__by_either_way(void **state)
{
	fake_posted(IBV_WR_SEND);
	echo(kernel_addr(0));
	assert_in_range(fake_posted(IBV_WR_SEND), 1900, 2000);
}

/* rdma-core's end, by hand: a UDP socket, and no service to be asked for. */
static int plain_udp(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct timeval limit = { .tv_sec = 2 };
	socklen_t length = sizeof(*addr);

	*addr = kernel_addr(0);
	assert_int_equal(bind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)addr, &length), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static int has_sent(void *arg)
{
	struct sockaddr_in *to = ((void **)arg)[1];

	rsendto(*(int *)((void **)arg)[0], "later", 5, 0, (struct sockaddr *)to,
		sizeof(*to));
	return fake_posted(IBV_WR_SEND) > 0;
}

static void dgram__asks_on_the_side(void **state)
{
	/* clang-format off */
	static const uint8_t question[] = {
		0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0
	};
	uint8_t answer[] = {
		0x55, 0x55, 0x55, 0x55, 4, 7, 16, 0,
		0, 0, 0x12, 0x34, 127, 0, 0, 1
	};
	/* clang-format on */
	struct sockaddr_in addr;
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	int plain = plain_udp(&addr);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	void *args[2] = { &fd, &addr };
	uint8_t in[64];

	fake_posted(IBV_WR_SEND);
	assert_int_equal(rsendto(fd, "first", 5, 0, (struct sockaddr *)&addr,
				 sizeof(addr)),
			 5);
	assert_int_equal(recvfrom(plain, in, sizeof(in), 0,
				  (struct sockaddr *)&from, &length),
			 16 + 5);
	assert_memory_equal(in, question, sizeof(question));
	assert_memory_equal(in + 12, &addr.sin_addr, 4);
	assert_memory_equal(in + 16, "first", 5);
	assert_int_equal(fake_posted(IBV_WR_SEND), 0);
	sendto(plain, answer, sizeof(answer), 0, (struct sockaddr *)&from,
	       length);
	pair_wait(has_sent, args);
	rclose(fd);
	close(plain);
	pair_assert_clean();
}

static void dgram__answers_on_the_side(void **state)
{
	/* clang-format off */
	uint8_t question[] = {
		0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0,
		0, 0, 0x12, 0x34, 127, 0, 0, 1, 'h', 'i'
	};
	/* clang-format on */
	struct sockaddr_in plain_addr;
	struct sockaddr_in addr = kernel_addr(0);
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	int plain = plain_udp(&plain_addr);
	int fd = bound(&addr);
	uint8_t in[64];

	fake_posted(IBV_WR_SEND);
	sendto(plain, question, sizeof(question), 0, (struct sockaddr *)&addr,
	       sizeof(addr));
	assert_int_equal(rrecvfrom(fd, in, sizeof(in), 0,
				   (struct sockaddr *)&from, &length),
			 2);
	assert_memory_equal(in, "hi", 2);
	assert_int_equal(from.sin_port, plain_addr.sin_port);
	assert_int_equal(recv(plain, in, sizeof(in), 0), 16);
	assert_int_equal(in[5], 7);
	assert_int_equal(in[6], 16);
	/* The question had its QP in it: the reply goes there. */
	assert_int_equal(rsendto(fd, "ho", 2, 0, (struct sockaddr *)&from,
				 length),
			 2);
	assert_int_equal(fake_posted(IBV_WR_SEND), 1);
	rclose(fd);
	close(plain);
	pair_assert_clean();
}

/* A stranger's question, from a socket of its own, on the side. */
static void ask_as(unsigned int i, const struct sockaddr_in *server)
{
	/* clang-format off */
	static const uint8_t question[] = {
		0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0,
		0, 0, 0x12, 0x34, 127, 0, 0, 1, 'h', 'i'
	};
	/* clang-format on */
	struct sockaddr_in addr = kernel_addr(0);
	int plain = socket(AF_INET, SOCK_DGRAM, 0);

	addr.sin_addr.s_addr = htonl(0x7f010000 + i);
	assert_int_equal(bind(plain, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(sendto(plain, question, sizeof(question), 0,
				(const struct sockaddr *)server,
				sizeof(*server)),
			 sizeof(question));
	close(plain);
}

static bool takes_one(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char buf[8];

	return rpoll(&pollfd, 1, 2000) == 1 &&
	       rrecv(fd, buf, sizeof(buf), 0) == 2;
}

/* More of them than there is room for: the last one is served as the first. */
static void dgram__any_number_of_strangers(void **state)
{
	struct sockaddr_in addr = kernel_addr(0);
	int server = bound(&addr);

	for (unsigned int i = 1; i <= 5000; i++) {
		ask_as(i, &addr);
		if (!takes_one(server))
			fail_msg("stranger %u is not heard", i);
	}
	assert_true(fake_count().ids <= 4096 + 16);
	rclose(server);
	pair_assert_clean();
}

/* Destinations of the program's own make room, too, and those in use stay. */
static void dgram__any_number_of_destinations(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	struct sockaddr_in to;
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	char buf[8];

	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(rsend(fd, "hi", 2, 0), 2);
	pair_nonblock(fd);
	for (unsigned int i = 1; i <= 5000; i++) {
		to = pair_addr((uint16_t)(10000 + i));
		if (rsendto(fd, "x", 1, 0, (struct sockaddr *)&to,
			    sizeof(to)) != 1 &&
		    errno != EAGAIN)
			assert_int_equal(errno, ECONNREFUSED);
	}
	assert_true(fake_count().ids <= 4096 + 16);
	fcntl(fd, F_SETFL, 0);
	assert_int_equal(rsend(fd, "ho", 2, 0), 2);
	assert_int_equal(rrecv(server, buf, sizeof(buf), 0), 2);
	assert_int_equal(rrecv(server, buf, sizeof(buf), 0), 2);
	assert_memory_equal(buf, "ho", 2);
	rclose(fd);
	rclose(server);
	pair_assert_clean();
}

/*
 * What a stranger says of itself makes nobody look for it: its address handle
 * is made when it is answered. And who answers does not wait: what he says is
 * sent when the path is known, or lost if there is none.
 */
static void dgram__strangers_are_not_waited_for(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	int client = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd pollfd = { .fd = client, .events = POLLIN };
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	char buf[8];
	int tries = 0;

	assert_int_equal(rconnect(client, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	do {
		assert_int_equal(rsend(client, "hi", 2, 0), 2);
		assert_int_equal(rrecvfrom(server, buf, sizeof(buf), 0,
					   (struct sockaddr *)&from, &length),
				 2);
		assert_int_equal(fake_count().ahs, 1);
		/* Nobody is there, the first time. */
		fake_wish((struct fake_wish){ .addr_timeouts = tries == 0 });
		assert_int_equal(rsendto(server, "ho", 2, 0,
					 (struct sockaddr *)&from, length),
				 2);
	} while (rpoll(&pollfd, 1, 100) != 1 && ++tries < 20);
	assert_in_range(tries, 1, 19);
	assert_int_equal(rrecv(client, buf, sizeof(buf), 0), 2);
	assert_int_equal(fake_count().ahs, 2);
	rclose(client);
	rclose(server);
	pair_assert_clean();
}

static void *send_to_nobody(void *arg)
{
	struct sockaddr_in nobody = pair_addr(9);

	return (void *)rsendto(*(int *)arg, "hi", 2, 0,
			       (struct sockaddr *)&nobody, sizeof(nobody));
}

/* A sender that waits for its destination keeps it, whatever others connect. */
static void dgram__connected_under_a_sender(void **state)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	int client = rsocket(AF_INET, SOCK_DGRAM, 0);
	pthread_t thread;
	void *sent;
	char buf[8];

	fake_wish((struct fake_wish){ .slow_addrs = 1 });
	pthread_create(&thread, NULL, send_to_nobody, &server);
	usleep(20000);
	assert_int_equal(rconnect(server, &none, sizeof(none)), 0);
	/* Something to wake up for. */
	assert_int_equal(rsendto(client, "yo", 2, 0, (struct sockaddr *)&addr,
				 sizeof(addr)),
			 2);
	usleep(20000);
	assert_int_equal(rrecv(server, buf, sizeof(buf), 0), 2);
	assert_int_equal(rclose(server), 0);
	pthread_join(thread, &sent);
	assert_int_equal((intptr_t)sent, -1);
	assert_int_equal(rclose(client), 0);
	pair_assert_clean();
}

/* Who answers and closes has answered. */
static void dgram__close_sends_what_waits(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	int client = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	char buf[8];

	assert_int_equal(rconnect(client, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	assert_int_equal(rsend(client, "hi", 2, 0), 2);
	assert_int_equal(rrecvfrom(server, buf, sizeof(buf), 0,
				   (struct sockaddr *)&from, &length),
			 2);
	assert_int_equal(rsendto(server, "ho", 2, 0, (struct sockaddr *)&from,
				 length),
			 2);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rrecv(client, buf, sizeof(buf), MSG_DONTWAIT), 2);
	assert_int_equal(rclose(client), 0);
	pair_assert_clean();
}

static void dgram__refused(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(rsendto(fd, "x", 1, 0,
					 (struct sockaddr *)&addr,
					 sizeof(addr)),
				 -1);
		assert_int_equal(errno, ECONNREFUSED);
	}
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

static void dgram__nonblocking(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd pollfd = { .fd = fd, .events = POLLOUT };
	ssize_t ret;
	char buf[8];

	pair_nonblock(fd);
	assert_int_equal(rrecv(fd, buf, 8, 0), -1);
	assert_int_equal(errno, EAGAIN);
	do {
		ret = rsendto(fd, "x", 1, 0, (struct sockaddr *)&addr,
			      sizeof(addr));
		if (ret < 0) {
			assert_int_equal(errno, EAGAIN);
			assert_int_equal(rpoll(&pollfd, 1, 2000), 1);
		}
	} while (ret < 0);
	pollfd = (struct pollfd){ .fd = server, .events = POLLIN };
	assert_int_equal(rpoll(&pollfd, 1, 2000), 1);
	assert_int_equal(rrecv(server, buf, 8, MSG_PEEK), 1);
	assert_int_equal(rrecv(server, buf, 8, 0), 1);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(server), 0);
	pair_assert_clean();
}

static void dgram__sizes(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	static uint8_t big[4096];
	char buf[4];

	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(rsend(fd, big, 2041, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(rsend(fd, big, 2040, 0), 2040);
	/* The rest of a datagram is lost, as always. */
	assert_int_equal(rrecv(server, buf, 4, 0), 4);
	assert_int_equal(rsend(fd, big, 0, 0), 0);
	assert_int_equal(rrecv(server, buf, 4, 0), 0);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(server), 0);
	pair_assert_clean();
}

static void dgram__floods_and_drops(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int server = bound(&addr);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	char buf[4];
	int nb = 0;

	rconnect(fd, (struct sockaddr *)&addr, sizeof(addr));
	for (int i = 0; i < 1000; i++)
		assert_int_equal(rsend(fd, "x", 1, 0), 1);
	while (rrecv(server, buf, 4, MSG_DONTWAIT) == 1)
		nb++;
	/* 128 KiB of buffers of 2 KiB. */
	assert_int_equal(nb, 64);
	assert_int_equal(rsend(fd, "x", 1, 0), 1);
	assert_int_equal(rrecv(server, buf, 4, 0), 1);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(server), 0);
	pair_assert_clean();
}

static void dgram__connected_hears_its_peer_only(void **state)
{
	struct sockaddr_in a_addr = pair_addr(7174);
	struct sockaddr_in b_addr = pair_addr(7175);
	struct sockaddr_in c_addr = pair_addr(7176);
	int a = bound(&a_addr);
	int b = bound(&b_addr);
	int c = bound(&c_addr);
	char buf[4];

	assert_int_equal(rconnect(a, (struct sockaddr *)&b_addr,
				  sizeof(b_addr)),
			 0);
	rsendto(c, "c", 1, 0, (struct sockaddr *)&a_addr, sizeof(a_addr));
	rsendto(b, "b", 1, 0, (struct sockaddr *)&a_addr, sizeof(a_addr));
	assert_int_equal(rrecv(a, buf, 4, 0), 1);
	assert_int_equal(buf[0], 'b');
	assert_int_equal(rrecv(a, buf, 4, MSG_DONTWAIT), -1);
	rclose(a);
	rclose(b);
	rclose(c);
	pair_assert_clean();
}

/* Nor does anybody speak in the name of another. */
static void dgram__comes_from_where_it_says(void **state)
{
	struct sockaddr_in a_addr = pair_addr(7174);
	struct sockaddr_in b_addr = pair_addr(7175);
	int a = bound(&a_addr);
	int b = bound(&b_addr);
	char buf[4];

	fake_lie(true);
	rsendto(b, "x", 1, 0, (struct sockaddr *)&a_addr, sizeof(a_addr));
	fake_lie(false);
	rsendto(b, "b", 1, 0, (struct sockaddr *)&a_addr, sizeof(a_addr));
	assert_int_equal(rrecv(a, buf, 4, 0), 1);
	assert_int_equal(buf[0], 'b');
	assert_int_equal(rrecv(a, buf, 4, MSG_DONTWAIT), -1);
	rclose(a);
	rclose(b);
	pair_assert_clean();
}

static void dgram__garbage_at_the_side(void **state)
{
	struct sockaddr_in addr = kernel_addr(0);
	int server = bound(&addr);
	int plain = socket(AF_INET, SOCK_DGRAM, 0);
	char buf[64] = { 0 };

	for (size_t length = 0; length < sizeof(buf); length++)
		sendto(plain, buf, length, 0, (struct sockaddr *)&addr,
		       sizeof(addr));
	usleep(20000);
	assert_int_equal(rrecv(server, buf, sizeof(buf), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(plain);
	rclose(server);
	pair_assert_clean();
}

static void dgram__misuse(void **state)
{
	struct sockaddr_in addr = pair_addr(7174);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	int other;

	assert_int_equal(rsend(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EDESTADDRREQ);
	assert_int_equal(rlisten(fd, 1), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(rbind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(rbind(fd, (struct sockaddr *)&addr, sizeof(addr)), -1);
	assert_int_equal(errno, EINVAL);
	other = rsocket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(rbind(other, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, EADDRINUSE);
	rclose(other);
	rclose(fd);
	pair_assert_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dgram__by_sidr),
		cmocka_unit_test(dgram__by_either_way),
		cmocka_unit_test(dgram__asks_on_the_side),
		cmocka_unit_test(dgram__answers_on_the_side),
		cmocka_unit_test(dgram__any_number_of_strangers),
		cmocka_unit_test(dgram__any_number_of_destinations),
		cmocka_unit_test(dgram__strangers_are_not_waited_for),
		cmocka_unit_test(dgram__connected_under_a_sender),
		cmocka_unit_test(dgram__close_sends_what_waits),
		cmocka_unit_test(dgram__refused),
		cmocka_unit_test(dgram__nonblocking),
		cmocka_unit_test(dgram__sizes),
		cmocka_unit_test(dgram__floods_and_drops),
		cmocka_unit_test(dgram__connected_hears_its_peer_only),
		cmocka_unit_test(dgram__comes_from_where_it_says),
		cmocka_unit_test(dgram__garbage_at_the_side),
		cmocka_unit_test(dgram__misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
