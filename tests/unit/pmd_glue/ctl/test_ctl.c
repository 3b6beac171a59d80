/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <roost/config.h>
#include <roost/roost.h>
#include "lib/face/shim.h"
#include "pmd_glue/ctl/ctl.h"
#include "tests/cmocka.h"

/*
 * The control socket of this process, from outside: a device on a link that
 * nobody else is at, and an async channel that says what happened.
 */
static struct roost_config config;
static struct roost_device *device;
static struct roost_ctx *ctx;
static char answer[65536];

static int open_with(const char *link, const char *devargs)
{
	config = (struct roost_config){ .nb_ports = 1 };
	strcpy(config.ports[0].link, link);
	strcpy(config.ports[0].devargs, devargs);
	if (roost_device_open(&config, 0, &device) != 0 ||
	    roost_ctx_open(roost_device_dev(device), &ctx) != 0)
		return -1;
	fcntl(roost_channel_fd(roost_ctx_async_channel(ctx)), F_SETFL,
	      O_NONBLOCK);
	return 0;
}

static int setup_link(void **state)
{
	char link_name[32];

	snprintf(link_name, sizeof(link_name), "ctl-%d", getpid());
	return open_with(link_name, "");
}

static int setup_null(void **state)
{
	return open_with("", "net_null0");
}

static int teardown(void **state)
{
	roost_ctx_close(ctx);
	roost_device_close(device);
	return 0;
}

static int connected(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/ctl/%d", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)len)) == 0)
		return fd;
	close(fd);
	return -1;
}

static const char *receive(int fd)
{
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0)) > 0)
		len += (size_t)n;
	answer[len] = '\0';
	close(fd);
	return answer;
}

static const char *ask(const char *request)
{
	int fd = connected();

	assert_true(fd >= 0);
	assert_int_equal(send(fd, request, strlen(request), 0),
			 strlen(request));
	return receive(fd);
}

/* Says the words in the line "error ...", and changes nothing. */
static void assert_refused(const char *request, const char *words)
{
	struct roost_event event;
	const char *text = ask(request);

	if (strncmp(text, "error ", 6) != 0 || !strstr(text, words))
		fail_msg("%s -> %s", request, text);
	assert_non_null(strchr(text, ';'));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(ctx),
					    &event),
			 -EAGAIN);
}

static void assert_event(uint32_t type)
{
	struct pollfd fd = {
		.fd = roost_channel_fd(roost_ctx_async_channel(ctx)),
		.events = POLLIN,
	};
	struct roost_event event;

	assert_int_equal(poll(&fd, 1, 5000), 1);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(ctx),
					    &event),
			 0);
	assert_int_equal(event.type, type);
}

static void assert_shows(const char *topic, const char *text)
{
	char request[64];

	snprintf(request, sizeof(request), "show %s\n", topic);
	if (!strstr(ask(request), text))
		fail_msg("\"%s\" is not in: %s", text, answer);
}

static void ctl__sets_and_tells(void **state)
{
	static const struct {
		const char *request;
		uint32_t event;
		const char *shown;
	} rows[] = {
		{ "link down", ROOST_EVENT_PORT_ERR,
		  "\"state\":\"DOWN\",\"admin_up\":false" },
		{ "link up", ROOST_EVENT_PORT_ACTIVE,
		  "\"state\":\"ACTIVE\",\"admin_up\":true" },
		{ "address add fd00::7/64", ROOST_EVENT_GID_CHANGE,
		  "{\"index\":2,\"gid\":\"fd00::7\"}" },
		{ "address add 198.18.5.7/24", ROOST_EVENT_GID_CHANGE,
		  "{\"index\":3,\"gid\":\"198.18.5.7\"}" },
		/* The others keep their places, and the free one is taken. */
		{ "address del fd00::7", ROOST_EVENT_GID_CHANGE,
		  "\"198.18.0.1\"},{\"index\":3,\"gid\":\"198.18.5.7\"}" },
		{ "address add 198.18.5.8/24", ROOST_EVENT_GID_CHANGE,
		  "{\"index\":2,\"gid\":\"198.18.5.8\"}" },
		{ "pkey 15 0x8001", ROOST_EVENT_PKEY_CHANGE,
		  "{\"index\":15,\"pkey\":\"0x8001\"}" },
		{ "pkey 15 0", ROOST_EVENT_PKEY_CHANGE,
		  "\"pkeys\":[{\"index\":0,\"pkey\":\"0xffff\"}]" },
		{ "lid 77", ROOST_EVENT_LID_CHANGE, "\"lid\":77" },
		{ "lid 0", ROOST_EVENT_LID_CHANGE, "\"lid\":1," },
		{ "sm-lid 5", ROOST_EVENT_SM_CHANGE, "\"sm_lid\":5" },
		{ "re-register", ROOST_EVENT_CLIENT_REREGISTER, "\"port\":1" },
	};
	char request[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(request, sizeof(request), "set %s %s %s\n",
			 i % 2 ? "roost0" : "-", i % 2 ? "1" : "-",
			 rows[i].request);
		assert_string_equal(ask(request), "ok\n");
		assert_event(rows[i].event);
		assert_shows("port", rows[i].shown);
	}
}

static void ctl__sets_parameters(void **state)
{
	static const char *const rows[][3] = {
		{ "ecn cnp_dscp 0", "ecn", "s\":4,\"cnp_dscp\":0,\"cnp" },
		{ "qos trust pcp", "qos", "\"port\":1,\"trust\":\"pcp\"," },
		{ "qos dscp2prio 26:5", "qos", ",24-25:3,26:5,27-31:3,32-" },
		{ "qos prio2pcp 5:3", "qos", "\"0:0,1:1,2:2,3:3,4:4,5:3,6:6" },
	};
	char request[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(request, sizeof(request), "set - - %s\n", rows[i][0]);
		assert_string_equal(ask(request), "ok\n");
		assert_shows(rows[i][1], rows[i][2]);
	}
}

static void ctl__refuses(void **state)
{
	static const struct {
		const char *request, *words;
	} rows[] = {
		{ "", "unknown request" },
		{ "nonsense", "nonsense: unknown request" },
		{ "show nothing", "device, port, qp" },
		{ "show qp qp", "it has roost0" },
		{ "show qp roost5", "it has roost0" },
		{ "show - roost5", "it has roost0" },
		{ "show port - 9", "its ports are 1 to 1" },
		{ "show port roost0 0", "its ports are 1 to 1" },
		{ "show port roost0 x", "its ports are 1 to 1" },
		{ "show port roost0 1 1", "too many words" },
		{ "show nothing roost0 1", "device, port, qp" },
		{ "set", "words are missing" },
		{ "set - -", "words are missing" },
		{ "set roost1 1 lid 3", "it has roost0" },
		{ "set roost0 2 lid 3", "its ports are 1 to 1" },
		{ "set roost0 0 lid 3", "its ports are 1 to 1" },
		{ "set roost0 x lid 3", "its ports are 1 to 1" },
		{ "set - - lid", "wrong number of words" },
		{ "set - - lid 1 2", "wrong number of words" },
		{ "set - - lid 65536", "0 to 65535" },
		{ "set - - lid -1", "0 to 65535" },
		{ "set - - lid 5x", "0 to 65535" },
		{ "set - - sm-lid 99999999999999999999", "0 to 65535" },
		{ "set - - pkey 16 1", "0 to 15" },
		{ "set - - pkey 0 65536", "0 to 65535" },
		{ "set - - pkey 5 0xffff", "another index" },
		{ "set - - link sideways", "up or down" },
		{ "set - - address add 198.18.0.1/24", "has it already" },
		{ "set - - address add 300.1.1.1/8", "300.1.1.1" },
		{ "set - - address add 198.18.0.9", "198.18.0.9" },
		{ "set - - address del 198.18.0.9", "none of port 1" },
		{ "set - - address del nonsense", "nonsense" },
		{ "set - - address swap 198.18.0.9/24", "add or del" },
		{ "set - - mtu 9000", "nothing of that name" },
		{ "set - - ecn cnp_dscp 64", "0 to 63" },
		{ "set - - ecn rpg_gd 9", "10 to 11" },
		{ "set - - ecn nonsense 1", "no such parameter" },
		{ "set - - qos dscp2prio 64:0", "0 to 63" },
		{ "set - - qos cnp_dscp 1", "no such parameter" },
		{ "a b c d e f g h i j", "too many words" },
	};
	char request[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(request, sizeof(request), "%s\n", rows[i].request);
		assert_refused(request, rows[i].words);
	}
	memset(answer, 'a', ROOST_CTL_REQUEST_MAX);
	answer[ROOST_CTL_REQUEST_MAX] = '\0';
	assert_refused(strdupa(answer), "too long");
}

/* The address that the MAC gives stands at index 0 for good. */
static void ctl__link_local_stays(void **state)
{
	char request[128];
	const char *gid;

	gid = strstr(ask("show port\n"), "fe80::");
	assert_non_null(gid);
	snprintf(request, sizeof(request), "set - - address del %.*s\n",
		 (int)strcspn(gid, "\""), gid);
	assert_refused(request, "none of port 1");
}

static void ctl__all_addresses_that_fit(void **state)
{
	char request[128];

	for (int i = 2; i <= ROOST_PORT_IPS_MAX; i++) {
		snprintf(request, sizeof(request),
			 "set - - address add 198.18.0.%d/24\n", i);
		assert_string_equal(ask(request), "ok\n");
		assert_event(ROOST_EVENT_GID_CHANGE);
	}
	assert_refused("set - - address add 198.18.1.1/24\n", "delete one");
	assert_string_equal(ask("set - - address del 198.18.0.5/24\n"), "ok\n");
	assert_event(ROOST_EVENT_GID_CHANGE);
	assert_string_equal(ask("set - - address add 198.18.1.1/24\n"), "ok\n");
	assert_event(ROOST_EVENT_GID_CHANGE);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* One that says nothing keeps others waiting, but not for ever, and nobody
 * from opening and closing devices.
 */
static void ctl__a_controller_that_hangs(void **state)
{
	uint64_t begin_ms = now_ms();
	struct roost_device *again;
	int hanging = connected();

	usleep(20000);
	assert_int_equal(roost_device_open(&config, 0, &again), 0);
	roost_device_close(again);
	assert_true(now_ms() - begin_ms < 1000);
	assert_string_equal(ask("set - - sm-lid 9\n"), "ok\n");
	assert_true(now_ms() - begin_ms >= 1000);
	assert_true(now_ms() - begin_ms < 8000);
	assert_event(ROOST_EVENT_SM_CHANGE);
	close(hanging);
}

/* What it asked for is not done behind its back. */
static void ctl__a_controller_that_gave_up(void **state)
{
	int hanging = connected(), fd = connected();
	struct roost_event event;

	assert_int_equal(send(fd, "set - - lid 99\n", 15, 0), 15);
	close(fd);
	close(hanging);
	assert_shows("port", "\"lid\":1,");
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(ctx),
					    &event),
			 -EAGAIN);
}

/* A word in pieces is a word. */
static void ctl__in_pieces(void **state)
{
	int fd = connected();

	for (const char *c = "set - - lid 88\n"; *c; c++) {
		assert_int_equal(send(fd, c, 1, 0), 1);
		usleep(1000);
	}
	assert_string_equal(receive(fd), "ok\n");
	assert_event(ROOST_EVENT_LID_CHANGE);
}

/* Who comes to process pid, whose child this is, as another user. */
static int connected_as_another(pid_t pid)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int len = snprintf(addr.sun_path + 1, 64, "roost/ctl/%d", pid);

	if (connect(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)len)) != 0)
		_exit(2);
	return fd;
}

static void become_another(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresuid(65534, 65534, 65534) != 0)
		_exit(3);
}

/* Tried by another user, where we can be one. He need not ask to be told. */
static void ctl__others_are_refused(void **state)
{
	int status, fd;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = getpid();
	if (fork() == 0) {
		become_another();
		fd = connected_as_another(pid);
		send(fd, "set - - lid 5\n", 14, MSG_NOSIGNAL);
		if (strncmp(receive(fd), "error permission denied", 23) != 0)
			_exit(1);
		fd = connected_as_another(pid);
		_exit(strncmp(receive(fd), "error permission denied", 23) != 0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	assert_shows("port", "\"lid\":1,");
}

/* Of several devices all, or the one that is named, and of it one port. */
static void ctl__shows_one_device(void **state)
{
	struct roost_device *second;

	config.nb_ports = 2;
	snprintf(config.ports[1].link, sizeof(config.ports[1].link), "ctl2-%d",
		 getpid());
	assert_int_equal(roost_device_open(&config, 1, &second), 0);
	assert_shows("device", "\"name\":\"roost0\"");
	assert_non_null(strstr(answer, "\"name\":\"roost1\""));
	assert_shows("device roost1", "\"name\":\"roost1\"");
	assert_null(strstr(answer, "roost0"));
	assert_shows("port roost0 1", "\"ports\":[{\"port\":1");
	assert_null(strstr(answer, "roost1"));
	assert_shows("- roost1 -", "\"counters\":{");
	assert_null(strstr(answer, "roost0"));
	assert_refused("show qp roost5\n", "it has roost1 roost0");
	assert_refused("show port - 1\n", "choose one with --dev");
	roost_device_close(second);
}

/* As many as they like, saying nothing: they keep nobody from asking. */
static void ctl__others_keep_nobody_waiting(void **state)
{
	uint64_t begin_ms;
	pid_t pid, child;
	int pipe_fds[2];
	char byte = 0;

	if (geteuid() != 0)
		skip();
	pid = getpid();
	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		become_another();
		for (int i = 0; i < 200; i++)
			connected_as_another(pid);
		if (write(pipe_fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			close(connected_as_another(pid));
	}
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	begin_ms = now_ms();
	for (int i = 0; i < 20; i++)
		assert_shows("port", "\"lid\":1,");
	assert_true(now_ms() - begin_ms < 2000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void ctl__shows_every_topic(void **state)
{
	static const char *const topics[][2] = {
		{ "device", "\"contexts\":1" },
		{ "port", "\"ports\":[{\"port\":1" },
		{ "qp", "\"qps\":[]" },
		{ "cq", "\"cqs\":[]" },
		{ "srq", "\"srqs\":[]" },
		{ "channel", "\"async\":true" },
		{ "counters", "\"drops\":{" },
		{ "ecn", "\"ecn\":[{\"port\":1" },
	};

	for (size_t i = 0; i < 8; i++) {
		assert_shows(topics[i][0], topics[i][1]);
		/* Alone it stands without the others. */
		for (size_t k = 1; k < 8; k++)
			if (k != i)
				assert_null(strstr(answer, topics[k][1]));
		assert_shows("", topics[i][1]);
	}
}

static void ctl__remove(void **state)
{
	struct roost_event event;
	struct roost_device *again;

	assert_string_equal(ask("set - - remove\n"), "ok\n");
	assert_event(ROOST_EVENT_DEVICE_FATAL);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(ctx),
					    &event),
			 -EIO);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	assert_shows("port", "\"state\":\"DOWN\"");
	assert_shows("device", "\"removed\":true");
	assert_non_null(strstr(ask("set - - link up\n"), "it was removed"));
	assert_non_null(strstr(ask("set - - remove\n"), "it was removed"));
	assert_int_equal(roost_device_open(&config, 0, &again), -ENODEV);
	roost_device_attend(device);
}

static void ctl__goes_with_the_last_device(void **state)
{
	assert_int_equal(connected(), -1);
}

/* ---- while another port opens ----------------------------------------------
 */

/* It waits ten seconds for its first peer, and nobody comes. */
static int setup_slow(void **state)
{
	if (setup_link(state) != 0)
		return -1;
	config.nb_ports = 2;
	snprintf(config.ports[1].devargs, sizeof(config.ports[1].devargs),
		 "net_virtio_user0,path=/tmp/roost-test-%d.sock,server=1",
		 getpid());
	return 0;
}

static void *open_slow(void *arg)
{
	struct roost_device *slow;

	*(int *)arg = roost_device_open(&config, 1, &slow);
	return NULL;
}

static void ctl__answers_while_a_port_opens(void **state)
{
	uint64_t begin_ms = now_ms(), asked_ms;
	unsigned int answers = 0;
	pthread_t thread;
	int ret = 1;

	pthread_create(&thread, NULL, open_slow, &ret);
	usleep(500000);
	while (now_ms() - begin_ms < 5000) {
		asked_ms = now_ms();
		assert_string_equal(ask("set - - re-register\n"), "ok\n");
		assert_event(ROOST_EVENT_CLIENT_REREGISTER);
		assert_true(now_ms() - asked_ms < 2000);
		answers++;
		usleep(50000);
	}
	assert_true(answers >= 10);
	pthread_join(thread, NULL);
	assert_true(now_ms() - begin_ms >= 8000);
	assert_int_equal(ret, -ENODEV);
}

/* ---- what drivers say ------------------------------------------------------
 */

/* Of the driver's side of ethdev, whose header is not installed. There is one
 * port, and it is the first: only where the array begins is of interest.
 */
extern char rte_eth_devices[];
int rte_eth_dev_callback_process(void *dev, enum rte_eth_event_type event,
				 void *arg);

static void driver__removal(void **state)
{
	assert_true(rte_eth_dev_is_valid_port(0));
	rte_eth_dev_callback_process(rte_eth_devices, RTE_ETH_EVENT_INTR_RMV,
				     NULL);
	assert_event(ROOST_EVENT_DEVICE_FATAL);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* net_null cannot be reset. */
static void driver__a_reset_it_does_not_survive(void **state)
{
	assert_true(rte_eth_dev_is_valid_port(0));
	rte_eth_dev_callback_process(rte_eth_devices, RTE_ETH_EVENT_INTR_RESET,
				     NULL);
	assert_event(ROOST_EVENT_DEVICE_FATAL);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

#define LINK(name) cmocka_unit_test_setup_teardown(name, setup_link, teardown)
#define NUL(name) cmocka_unit_test_setup_teardown(name, setup_null, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK(ctl__sets_and_tells),
		LINK(ctl__sets_parameters),
		LINK(ctl__refuses),
		LINK(ctl__link_local_stays),
		LINK(ctl__all_addresses_that_fit),
		LINK(ctl__a_controller_that_hangs),
		LINK(ctl__a_controller_that_gave_up),
		LINK(ctl__in_pieces),
		LINK(ctl__others_are_refused),
		LINK(ctl__others_keep_nobody_waiting),
		LINK(ctl__shows_every_topic),
		LINK(ctl__shows_one_device),
		cmocka_unit_test_setup_teardown(ctl__answers_while_a_port_opens,
						setup_slow, teardown),
		LINK(ctl__remove),
		LINK(ctl__sets_and_tells), /* a new device, after that */
		cmocka_unit_test(ctl__goes_with_the_last_device),
		NUL(driver__removal),
		NUL(driver__a_reset_it_does_not_survive),
	};

	return cmocka_run_group_tests_name("ctl", tests, NULL, NULL);
}
