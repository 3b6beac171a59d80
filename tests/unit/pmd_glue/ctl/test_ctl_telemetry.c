/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

#include <roost/config.h>
#include <roost/roost.h>

#include "tests/cmocka.h"

/*
 * A program that runs EAL itself, with telemetry, asked as dpdk-telemetry.py
 * asks.
 */
static char run_dir[] = "/tmp/roost-telemetry-XXXXXX";
static struct roost_device *device;
static char answer[32768];

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int stop(void **state)
{
	if (device)
		roost_device_close(device);
	rte_eal_cleanup();
	return nftw(run_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int start(void **state)
{
	static struct roost_config config = { .nb_ports = 1 };
	char *argv[] = {
		(char[]){ "test" },
		(char[]){ "--no-huge" },
		(char[]){ "--no-pci" },
		(char[]){ "--file-prefix=telemetry" },
		(char[]){ "-m" },
		(char[]){ "128" },
		(char[]){ "--log-level=1" },
	};

	if (!mkdtemp(run_dir) || setenv("RUNTIME_DIRECTORY", run_dir, 1) ||
	    rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0)
		return -1;
	strcpy(config.ports[0].devargs, "net_null0");
	return roost_device_open(&config, 0, &device);
}

static const char *ask(const char *command)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	ssize_t len;

	snprintf(addr.sun_path, sizeof(addr.sun_path),
		 "%.60s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_true(recv(fd, answer, sizeof(answer), 0) > 0); /* who it is */
	assert_int_equal(send(fd, command, strlen(command), 0),
			 strlen(command));
	len = recv(fd, answer, sizeof(answer) - 1, 0);
	answer[len > 0 ? len : 0] = '\0';
	close(fd);
	return answer;
}

static void assert_says(const char *command, const char *text)
{
	if (!strstr(ask(command), text))
		fail_msg("%s: \"%s\" is not in: %s", command, text, answer);
}

static void telemetry__objects(void **state)
{
	struct roost_dev *dev = roost_device_dev(device);
	struct roost_qp_init init = {
		.type = ROOST_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_cq *cq;
	struct roost_qp *qp;
	char command[64], text[64];

	assert_int_equal(roost_ctx_open(dev, &ctx), 0);
	assert_int_equal(roost_pd_alloc(ctx, &pd), 0);
	assert_int_equal(roost_cq_create(ctx, 16, NULL, NULL, &cq), 0);
	init.send_cq = cq;
	init.recv_cq = cq;
	assert_int_equal(roost_qp_create(ctx, pd, &init, &qp), 0);
	assert_says("/roost/list", "[\"roost0\"]");
	assert_says("/roost/device,roost0", "\"qp_count\":1");
	assert_says("/roost/device", "\"name\":\"roost0\""); /* the only one */
	assert_says("/roost/port,roost0,1", "\"label\":\"port0 (net_null0)\"");
	assert_says("/roost/counters,roost0", "\"retransmits\":0");
	assert_says("/roost/drops,roost0", "\"icrc\":0");
	snprintf(text, sizeof(text), "[%u]", roost_qp_num(qp));
	assert_says("/roost/qps,roost0", text);
	snprintf(command, sizeof(command), "/roost/qp,roost0,%u",
		 roost_qp_num(qp));
	assert_says(command, "\"type\":\"UD\"");
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_says("/roost/qps,roost0", "[]");
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	assert_int_equal(roost_pd_dealloc(pd), 0);
	assert_int_equal(roost_ctx_close(ctx), 0);
}

static void telemetry__what_is_not_there(void **state)
{
	assert_says("/roost/device,roost7", "null");
	assert_says("/roost/port,roost0,2", "null");
	assert_says("/roost/port,roost0", "null");
	assert_says("/roost/qp,roost0,1", "null");
	assert_says("/roost/qp", "null");
}

static void telemetry__without_a_device(void **state)
{
	roost_device_close(device);
	device = NULL;
	assert_says("/roost/list", "null");
	assert_says("/roost/device,roost0", "null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(telemetry__objects),
		cmocka_unit_test(telemetry__what_is_not_there),
		cmocka_unit_test(telemetry__without_a_device),
	};

	return cmocka_run_group_tests_name("ctl_telemetry", tests, start, stop);
}
