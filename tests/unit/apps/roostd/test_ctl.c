/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The daemon at its control socket, as roost ctl asks. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/roostd/ctl.h"
#include "apps/roostd/handover.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct client a, b;
static int work_fd;
static char answer[65536];
static const char *request;

static int setup_ctl(void **state)
{
	if (setup(state))
		return -1;
	work_fd = roostd_ctl_start(&port);
	return work_fd < 0 ? -1 : 0;
}

static int teardown_ctl(void **state)
{
	roostd_ctl_stop();
	return teardown(state);
}

/* roost ctl, on a thread of its own. */
static void *ask(void *arg)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/ctl/%d", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t got = 0;
	ssize_t n;

	(void)arg;
	if (connect(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)len)) < 0)
		return NULL;
	(void)!write(fd, request, strlen(request));
	while ((n = read(fd, answer + got, sizeof(answer) - 1 - got)) > 0)
		got += (size_t)n;
	answer[got] = '\0';
	close(fd);
	return arg;
}

/* The daemon's thread works meanwhile; busy: it does not. */
static const char *answer_to(const char *line, bool busy)
{
	struct pollfd fd = { .fd = work_fd, .events = POLLIN };
	pthread_t thread;

	request = line;
	answer[0] = '\0';
	assert_int_equal(pthread_create(&thread, NULL, ask, answer), 0);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		if (!busy && poll(&fd, 1, 1) == 1)
			roostd_handover_serve();
		usleep(500);
	}
	return answer;
}

static void assert_answer(const char *line, const char *expected)
{
	assert_string_equal(answer_to(line, false), expected);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void ctl__shows_the_ports(void **state)
{
	char expected[512];

	c_attach(&a);
	snprintf(
		expected, sizeof(expected),
		"ok\n{\"pid\":%d,\"program\":\"%s\",\"devices\":[],\"shared\":["
		"{\"port\":0,\"label\":\"hub\",\"socket\":\"\",\"active\":true,"
		"\"mtu\":4200,\"clients\":1,\"other_sessions\":0,\"away\":0,"
		"\"tx_bytes\":0,\"rx_bytes\":0}]}",
		getpid(), program_invocation_short_name);
	assert_answer("show shared\n", expected);
	/* roost ctl list asks so. */
	assert_answer("show port\n", expected);
	assert_has(answer_to("show\n", false), "\"clients\":[{\"port\":0,");
	assert_answer("show nothing\n",
		      "error show nothing: no such thing; there are device, "
		      "port, qp, cq, srq, channel, cm, worker, counters, ecn, "
		      "qos, shared, clients\n");
	c_close(&a);
}

static void ctl__shows_the_clients(void **state)
{
	struct roost_share_msg claim = {
		.type = ROOST_SHARE_CLAIM,
		.claim = { .service_id = 0x01060000 + 7471,
			   .family = ROOST_CM_FAMILY_IPV4,
			   .listens = 1 },
	};
	struct roost_sw_frame frame;
	char expected[256];

	assert_has(answer_to("show clients\n", false), "\"clients\":[]");
	c_attach(&a);
	c_attach(&b);
	assert_int_equal(c_ask(&a, claim), 0);
	frame = rc(&b, 1000);
	c_publish(&a, &frame);
	pump();
	/* One that may not leave. */
	((uint8_t *)(uintptr_t)frame.head)[11] ^= 1;
	c_publish(&a, &frame);
	pump();
	answer_to("show clients\n", false);
	snprintf(expected, sizeof(expected),
		 "\"client\":%u,\"pid\":%d,\"own_pid\":0,\"uid\":%u,"
		 "\"command\":\"test\",\"policy\":\"default\",\"direct\":true,"
		 "\"peers\":0,"
		 "\"address\":\"\",\"qps\":64,\"max_qps\":100032,",
		 a.granted.client, getpid(), getuid());
	assert_has(answer, expected);
	assert_has(answer, "\"services\":1,");
	snprintf(expected, sizeof(expected),
		 "\"counters\":{\"tx_frames\":1,\"tx_bytes\":%u,\"tx_bps\":0,"
		 "\"rx_frames\":0,\"rx_bytes\":0,\"rx_bps\":0},\"drops\":{"
		 "\"src_mac\":1}}",
		 frame.len_bytes);
	assert_has(answer, expected);
	snprintf(expected, sizeof(expected),
		 "\"rx_frames\":1,\"rx_bytes\":%u,\"rx_bps\":0},\"drops\":{}}",
		 frame.len_bytes);
	assert_has(answer, expected);
	c_close(&a);
	c_close(&b);
}

static void ctl__rates_are_those_of_the_last_second(void **state)
{
	struct roost_sw_frame frame;
	char expected[64];

	c_attach(&a);
	c_attach(&b);
	port.now_ns = now_ns;
	roostd_ctl_sample(&port);
	frame = rc(&b, 1000);
	for (int i = 0; i < 10; i++) {
		c_publish(&a, &frame);
		pump();
	}
	port.now_ns += 2 * 1000 * MS;
	roostd_ctl_sample(&port);
	snprintf(expected, sizeof(expected), "\"tx_bps\":%u,",
		 10 * frame.len_bytes * 8 / 2);
	assert_has(answer_to("show clients\n", false), expected);
	/* Not before a second is over. */
	port.now_ns += 999 * MS;
	roostd_ctl_sample(&port);
	assert_has(answer_to("show clients\n", false), expected);
	port.now_ns += 1 * MS;
	roostd_ctl_sample(&port);
	assert_null(strstr(answer_to("show clients\n", false), expected));
	c_close(&a);
	c_close(&b);
}

static void ctl__evicts(void **state)
{
	char line[64];

	c_attach(&a);
	c_attach(&b);
	snprintf(line, sizeof(line), "evict - %u too greedy\n",
		 a.granted.client);
	assert_answer(line, "ok\n");
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.type, ROOST_SHARE_EVICTED);
	assert_string_equal(a.packet.msg.reason,
			    "evicted by the administrator: too greedy");
	assert_true(c_is_cut_off(&a));
	assert_int_equal(port.nb_attached, 1);
	/* It is gone, and so is the right to it. */
	snprintf(line, sizeof(line), "evict 0 %u\n", a.granted.client);
	assert_has(answer_to(line, false), "the port has no such client; see "
					   "roost ctl show clients\n");
	c_close(&a);
	c_close(&b);
}

static void ctl__limits(void **state)
{
	struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
	const struct roost_client_conf *conf;
	char line[64];

	c_attach(&a);
	conf = &port.lease->clients[a.granted.client].conf;
	snprintf(line, sizeof(line), "limit 0 %u rate 80M\n", a.granted.client);
	assert_answer(line, "ok\n");
	assert_int_equal(conf->rate_bytes_per_s, 10000000);
	snprintf(line, sizeof(line), "limit - %u weight 9\n", a.granted.client);
	assert_answer(line, "ok\n");
	assert_int_equal(conf->weight, 9);
	assert_int_equal(conf->rate_bytes_per_s, 10000000);
	snprintf(line, sizeof(line), "limit - %u qps 1\n", a.granted.client);
	assert_answer(line, "ok\n");
	assert_int_equal(c_ask(&a, qpns), -EDQUOT);
	snprintf(line, sizeof(line), "limit - %u weight 0\n", a.granted.client);
	assert_answer(line, "error weight: '0': no weight; use 1 to 1000\n");
	snprintf(line, sizeof(line), "limit - %u users 0\n", a.granted.client);
	assert_answer(line, "error users: no limit of a client; there are qps, "
			    "connections, half_open, services, memberships, "
			    "rate, weight\n");
	assert_int_equal(conf->weight, 9);
	c_close(&a);
}

static void ctl__wrong_words(void **state)
{
	assert_answer("evict\n", "error evict: wrong number of words; write "
				 "evict PORT CLIENT [REASON]\n");
	assert_answer("limit - 0 rate\n",
		      "error limit: wrong number of words; write limit PORT "
		      "CLIENT NAME VALUE\n");
	assert_answer("evict 1 0\n",
		      "error port 1: the daemon shares no such port; choose "
		      "from 0 to 0\n");
	assert_answer("evict - 0\n", "error client 0: the port has no such "
				     "client; see roost ctl show clients\n");
	assert_answer("evict - 4096\n",
		      "error client 4096: the port has no such client; see "
		      "roost ctl show clients\n");
	assert_answer("evict - -1\n", "error client -1: the port has no such "
				      "client; see roost ctl show clients\n");
	assert_answer("nonsense\n", "error nonsense: unknown request; write "
				    "show, explain or set\n");
}

/* Who asks is told, and the work is not done later. */
static void ctl__a_daemon_that_has_no_time(void **state)
{
	char line[64];

	c_attach(&a);
	snprintf(line, sizeof(line), "evict - %u\n", a.granted.client);
	assert_string_equal(answer_to(line, true),
			    "error the daemon is busy; try again\n");
	roostd_handover_serve();
	assert_int_equal(port.nb_attached, 1);
	c_close(&a);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_ctl, teardown_ctl)
	const struct CMUnitTest tests[] = {
		TEST(ctl__shows_the_ports),
		TEST(ctl__shows_the_clients),
		TEST(ctl__rates_are_those_of_the_last_second),
		TEST(ctl__evicts),
		TEST(ctl__limits),
		TEST(ctl__wrong_words),
		TEST(ctl__a_daemon_that_has_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
