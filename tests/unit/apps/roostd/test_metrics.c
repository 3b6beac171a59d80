/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Metrics: where they are told, their text, the page of a hub, and the server.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/metrics_addr.h"
#include "apps/roostd/ctl.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/metrics.h"
#include "apps/roostd/metrics_page.h"
#include "apps/roostd/metrics_text.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

/* ---- the address --------------------------------------------------------- */

static void metrics__addresses(void **state)
{
	static const struct {
		const char *text;
		int family; /* 0: refused */
	} rows[] = {
		{ "/run/roost/metrics.sock", AF_UNIX },
		{ "127.0.0.1:9464", AF_INET },
		{ "127.1.2.3:1", AF_INET },
		{ "localhost:65535", AF_INET },
		{ "[::1]:9464", AF_INET6 },
		{ "", 0 },
		{ ":9464", 0 },
		{ "9464", 0 },
		{ "metrics.sock", 0 },
		{ "127.0.0.1", 0 },
		{ "127.0.0.1:", 0 },
		{ "127.0.0.1:0", 0 },
		{ "127.0.0.1:65536", 0 },
		{ "127.0.0.1:-1", 0 },
		{ "127.0.0.1: 9464", 0 },
		{ "127.0.0.1:9464x", 0 },
		/* Nobody is asked for a password. */
		{ "0.0.0.0:9464", 0 },
		{ "192.168.0.1:9464", 0 },
		{ "128.0.0.1:9464", 0 },
		{ "[::]:9464", 0 },
		{ "[fe80::1]:9464", 0 },
		{ "::1:9464", 0 },
		{ "example.com:9464", 0 },
		{ "127.0.0.1.and.so.on.for.long:9464", 0 },
	};
	struct sockaddr_storage addr;
	char longest[ROOST_METRICS_ADDR_MAX + 1];
	socklen_t len;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int ret =
			roost_metrics_addr_parse(rows[i].text, &addr, &len);

		if (ret != (rows[i].family ? 0 : -EINVAL) ||
		    (!ret && addr.ss_family != rows[i].family))
			fail_msg("%s: %d", rows[i].text, ret);
	}
	memset(longest, '0', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest, "127.0.0.1:", 10);
	assert_int_equal(roost_metrics_addr_parse(longest, &addr, &len),
			 -EINVAL);
	longest[0] = '/';
	assert_int_equal(roost_metrics_addr_parse(longest, &addr, &len),
			 -EINVAL);
	longest[ROOST_METRICS_ADDR_MAX - 1] = '\0';
	assert_int_equal(roost_metrics_addr_parse(longest, &addr, &len), 0);
}

/* ---- the text ------------------------------------------------------------ */

static void metrics__labels_are_escaped(void **state)
{
	static const struct {
		const char *value, *expected;
	} rows[] = {
		{ "plain", "l=\"plain\"" },
		{ "", "l=\"\"" },
		{ "a\"b\\c\nd", "l=\"a\\\"b\\\\c\\nd\"" },
		{ "a\rb\x01\x7f", "l=\"a?b??\"" },
		{ "\xc3\xa4\xe2\x82\xac", "l=\"\xc3\xa4\xe2\x82\xac\"" },
		{ "\xc3", "l=\"?\"" },
		{ "\xff\xc0\x80x", "l=\"???x\"" },
		{ "\xed\xa0\x80", "l=\"???\"" }, /* a surrogate */
	};
	struct roostd_metrics_labels labels;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		labels = (struct roostd_metrics_labels){ 0 };
		roostd_metrics_label(&labels, "l", rows[i].value);
		assert_string_equal(labels.text, rows[i].expected);
		assert_int_equal(labels.len, strlen(rows[i].expected));
	}
	roostd_metrics_label_u64(&labels, "n", UINT64_MAX);
	assert_string_equal(labels.text,
			    "l=\"???\",n=\"18446744073709551615\"");
}

static void metrics__labels_that_are_too_long_are_cut(void **state)
{
	struct roostd_metrics_labels labels;
	char value[2 * ROOSTD_METRICS_LABELS_MAX];

	/* At each place of a character of two bytes, and of an escape. */
	for (size_t shift = 0; shift < 3; shift++) {
		for (size_t i = 0; i + 2 < sizeof(value); i += 2)
			memcpy(value + i, shift == 2 ? "\\\n" : "\xc3\xa4", 2);
		value[sizeof(value) - 2] = '\0';
		memcpy(value, "xx", shift);
		value[shift] = shift == 1 ? 'x' : value[shift];
		labels = (struct roostd_metrics_labels){ 0 };
		roostd_metrics_label(&labels, "l", value);
		assert_true(labels.len < sizeof(labels.text));
		assert_int_equal(strlen(labels.text), labels.len);
		assert_int_equal(labels.text[labels.len - 1], '"');
		assert_true(labels.len + 3 >= sizeof(labels.text));
		/* There is no room for one more. */
		roostd_metrics_label(&labels, "more", "x");
		assert_int_equal(strlen(labels.text), labels.len);
	}
}

static const char *text_of(bool is_open, const struct roostd_metric *metric)
{
	static char buf[512];
	struct roostd_metrics_labels labels = { 0 };
	struct roostd_metrics_text text = { .is_open_metrics = is_open };

	text.out = fmemopen(buf, sizeof(buf), "w");
	roostd_metrics_label(&labels, "l", "v");
	roostd_metrics_begin(&text, metric);
	roostd_metrics_put(&text, &labels, 7);
	roostd_metrics_put_ns(&text, NULL, 1000000002);
	roostd_metrics_end(&text);
	fclose(text.out);
	return buf;
}

static void metrics__two_formats(void **state)
{
	const struct roostd_metric counter = { "a_bytes", ROOSTD_METRIC_COUNTER,
					       "bytes", "Help." };
	const struct roostd_metric gauge = { "b", ROOSTD_METRIC_GAUGE, NULL,
					     "Help." };
	const struct roostd_metric info = { "c", ROOSTD_METRIC_INFO, NULL,
					    "Help." };

	assert_string_equal(text_of(true, &counter),
			    "# HELP a_bytes Help.\n# TYPE a_bytes counter\n"
			    "# UNIT a_bytes bytes\na_bytes_total{l=\"v\"} 7\n"
			    "a_bytes_total 1.000000002\n# EOF\n");
	assert_string_equal(text_of(false, &counter),
			    "# HELP a_bytes_total Help.\n"
			    "# TYPE a_bytes_total counter\n"
			    "a_bytes_total{l=\"v\"} 7\n"
			    "a_bytes_total 1.000000002\n");
	assert_string_equal(text_of(false, &gauge),
			    "# HELP b Help.\n# TYPE b gauge\nb{l=\"v\"} 7\n"
			    "b 1.000000002\n");
	assert_string_equal(text_of(true, &info),
			    "# HELP c Help.\n# TYPE c info\n"
			    "c_info{l=\"v\"} 7\nc_info 1.000000002\n# EOF\n");
	assert_string_equal(text_of(false, &info),
			    "# HELP c_info Help.\n# TYPE c_info gauge\n"
			    "c_info{l=\"v\"} 7\nc_info 1.000000002\n");
}

/* ---- the server ---------------------------------------------------------- */

static char folder[] = "/tmp/roost-metrics-XXXXXX";
static char path[64];
static int work_fd;
static struct client a, b;
static char got[65536];

static int setup_server(void **state)
{
	strcpy(strchr(folder, '\0') - 6, "XXXXXX");
	if (!mkdtemp(folder) || setup(state))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", folder);
	work_fd = roostd_ctl_start(&port);
	if (work_fd < 0)
		return -1;
	roostd_metrics_start(path, 0640, (gid_t)-1, &port);
	return 0;
}

static int teardown_server(void **state)
{
	roostd_metrics_stop();
	roostd_ctl_stop();
	return teardown(state) || rmdir(folder);
}

static int connect_to(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	return fd;
}

/* The other end may have enough already. */
static void say(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* What comes until the end; the daemon's thread, which is ours, works
 * meanwhile, unless it is busy.
 */
static const char *hear(int fd, bool busy)
{
	struct pollfd fds[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = busy ? -1 : work_fd, .events = POLLIN },
	};
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0) {
		assert_true(poll(fds, 2, 20000) > 0);
		if (fds[1].revents)
			roostd_handover_serve();
		if (!fds[0].revents)
			continue;
		n = read(fd, got + len, sizeof(got) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	got[len] = '\0';
	close(fd);
	return got;
}

static const char *ask(const char *request)
{
	int fd = connect_to();

	say(fd, request);
	return hear(fd, false);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

#define GET "GET /metrics HTTP/1.1\r\nHost: x\r\n"
#define OPEN_METRICS "Accept: application/openmetrics-text; version=1.0.0\r\n"

static void metrics__the_page_of_a_hub(void **state)
{
	struct roost_sw_frame frame;
	char expected[128];
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0640);
	c_attach(&a);
	c_attach(&b);
	frame = rc(&b, 1000);
	c_publish(&a, &frame);
	pump();
	/* One that may not leave. */
	((uint8_t *)(uintptr_t)frame.head)[11] ^= 1;
	c_publish(&a, &frame);
	pump();
	ask(GET OPEN_METRICS "\r\n");
	assert_has(got, "HTTP/1.1 200 OK\r\n");
	assert_has(got, "Content-Type: application/openmetrics-text; "
			"version=1.0.0; charset=utf-8\r\n");
	assert_has(got, "\nroost_port_info{port=\"0\",label=\"hub\"} 1\n");
	assert_has(got, "\nroost_port_clients{port=\"0\"} 2\n");
	assert_has(got, "\nroost_port_transmit_frames_total{port=\"0\"} 1\n");
	assert_has(got, "\nroost_port_dropped_frames_total{port=\"0\","
			"reason=\"src_mac\"} 1\n");
	snprintf(expected, sizeof(expected),
		 "\nroost_client_transmit_frames_total{port=\"0\","
		 "client=\"%u\",uid=\"%u\",policy=\"default\"} 1\n",
		 a.granted.client, getuid());
	assert_has(got, expected);
	assert_has(got, "\nroost_clients_left_out 0\n");
	assert_has(got, "\nroost_thread_cpu_seconds_total{thread=\"roost-"
			"metrics\"} ");
	assert_string_equal(got + strlen(got) - 7, "\n# EOF\n");
	c_close(&a);
	c_close(&b);
}

/* A counter of a port does not go back when a client has gone. */
static void metrics__totals_have_the_clients_that_have_gone(void **state)
{
	struct roost_sw_frame frame;

	for (int i = 0; i < 3; i++) {
		c_attach(&a);
		c_attach(&b);
		frame = rc(&b, 1000);
		c_publish(&a, &frame);
		pump();
		c_close(&a);
		c_close(&b);
		now_ns += 1000 * MS;
		pump();
	}
	ask(GET "\r\n");
	assert_has(got, "version=0.0.4");
	assert_has(got, "\nroost_port_clients{port=\"0\"} 0\n");
	assert_has(got, "\nroost_port_transmit_frames_total{port=\"0\"} 3\n");
	assert_has(got, "\nroost_port_receive_frames_total{port=\"0\"} 3\n");
}

/* Who asks often gets what there was. */
static void metrics__copies_are_made_now_and_then(void **state)
{
	ask(GET "\r\n");
	c_attach(&a);
	ask(GET "\r\n");
	for (int i = 0; strstr(got, "\nroost_port_clients{port=\"0\"} 0\n");
	     i++) {
		assert_true(i < 2000);
		usleep(10000);
		ask(GET "\r\n");
	}
	assert_has(got, "\nroost_port_clients{port=\"0\"} 1\n");
	c_close(&a);
}

static void metrics__other_requests(void **state)
{
	char *big = malloc(1 << 20);

	assert_has(ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "200 OK");
	assert_has(ask("GET /other HTTP/1.1\r\nHost: x\r\n\r\n"), " 404 ");
	assert_has(ask("POST /metrics HTTP/1.1\r\nHost: x\r\n"
		       "Content-Length: 999999999\r\n\r\nx"),
		   " 405 ");
	assert_has(got, "Allow: GET, HEAD");
	ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_has(got, " 200 ");
	assert_null(strstr(got, "roost_port"));
	/* No HTTP, and a head that is too long. */
	ask("\x16\x03\x01\x02\r\n\r\n");
	assert_null(strstr(got, " 200 "));
	memset(big, 'a', 1 << 20);
	strcpy(big + 30000, "\r\n\r\n");
	memcpy(big, GET "X: ", strlen(GET "X: "));
	ask(big);
	assert_null(strstr(got, " 200 "));
	free(big);
	assert_has(ask(GET "\r\n"), " 200 ");
}

static void metrics__a_daemon_that_is_busy(void **state)
{
	int fd = connect_to();

	say(fd, GET "\r\n");
	assert_has(hear(fd, true), " 503 ");
	assert_has(ask(GET "\r\n"), " 200 ");
}

/* Many that say nothing do not keep one out, and are ended for it. */
static void metrics__connections_are_bounded(void **state)
{
	int silent[3 * ROOSTD_METRICS_CONNS_MAX];
	const size_t nb = sizeof(silent) / sizeof(silent[0]);
	size_t ended = 0;

	for (size_t i = 0; i < nb; i++) {
		silent[i] = connect_to();
		say(silent[i], "GET /met");
	}
	assert_has(ask(GET "\r\n"), " 200 ");
	for (size_t i = 0; i < nb; i++) {
		struct pollfd fd = { .fd = silent[i], .events = POLLIN };

		ended += poll(&fd, 1, 0) == 1;
		close(silent[i]);
	}
	assert_true(ended >= nb - ROOSTD_METRICS_CONNS_MAX);
	assert_has(got, "roost_metrics_cut_connections_total ");
}

/* As many bytes as one likes, one at a time. */
static void metrics__a_slow_client_is_ended(void **state)
{
	int fd = connect_to();
	struct pollfd end = { .fd = fd, .events = POLLIN };
	int bytes = 0;

	say(fd, GET "X: ");
	while (poll(&end, 1, 100) == 0) {
		assert_true(bytes++ < 1000);
		say(fd, "a");
	}
	assert_true(bytes > 0);
	close(fd);
}

static void metrics__a_place_that_is_taken_is_left_alone(void **state)
{
	/* The first one goes on. */
	assert_int_equal(access(path, F_OK), 0);
	roostd_metrics_stop();
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(mkdir(path, 0700), 0);
	roostd_metrics_start(path, 0640, (gid_t)-1, &port);
	roostd_metrics_stop();
	assert_int_equal(rmdir(path), 0);
	/* And once more, where the first one was. */
	roostd_metrics_start(path, 0640, (gid_t)-1, &port);
	assert_has(ask(GET "\r\n"), " 200 ");
}

int main(void)
{
#define SERVER(test)                                                           \
	cmocka_unit_test_setup_teardown(test, setup_server, teardown_server)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics__addresses),
		cmocka_unit_test(metrics__labels_are_escaped),
		cmocka_unit_test(metrics__labels_that_are_too_long_are_cut),
		cmocka_unit_test(metrics__two_formats),
		SERVER(metrics__the_page_of_a_hub),
		SERVER(metrics__totals_have_the_clients_that_have_gone),
		SERVER(metrics__copies_are_made_now_and_then),
		SERVER(metrics__other_requests),
		SERVER(metrics__a_daemon_that_is_busy),
		SERVER(metrics__connections_are_bounded),
		SERVER(metrics__a_slow_client_is_ended),
		SERVER(metrics__a_place_that_is_taken_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
