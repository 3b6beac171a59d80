/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <roost/config.h>
#include <roost/roost.h>
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "lib/face/shim.h"
#include "pmd_glue/device.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

/*
 * Whole devices: links, and others in EAL with small pages. EAL starts with the
 * first of these and stays; every test opens and closes its own devices.
 */
static struct roost_config config;
static char link_name[32]; /* nobody else's */

static int configure_link(void **state)
{
	snprintf(link_name, sizeof(link_name), "unit-%d", getpid());
	config = (struct roost_config){ .nb_ports = 1 };
	strcpy(config.ports[0].link, link_name);
	return 0;
}

static void configure_port(const char *devargs)
{
	config = (struct roost_config){ .nb_ports = 1 };
	strcpy(config.ports[0].devargs, devargs);
}

static struct roost_device *open_device(unsigned int index)
{
	struct roost_device *device;

	assert_int_equal(roost_device_open(&config, index, &device), 0);
	return device;
}

/* Run f with stderr caught. Returns what it wrote. */
static const char *caught(void (*f)(void))
{
	static char text[4096];
	int pipe_fds[2], saved = dup(STDERR_FILENO);
	ssize_t len;

	assert_int_equal(pipe(pipe_fds), 0);
	fflush(stderr);
	dup2(pipe_fds[1], STDERR_FILENO);
	close(pipe_fds[1]);
	f();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	len = read(pipe_fds[0], text, sizeof(text) - 1);
	close(pipe_fds[0]);
	text[len > 0 ? len : 0] = '\0';
	return text;
}

static void open_and_close(void)
{
	roost_device_close(open_device(0));
}

/* Starts EAL. */
static void device__starting_eal_touches_nothing(void **state)
{
	cpu_set_t cpus_before, cpus_after;
	sigset_t mask_before, mask_after;

	configure_port("net_null0");
	sched_getaffinity(0, sizeof(cpus_before), &cpus_before);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	assert_string_equal(caught(open_and_close), "");
	sched_getaffinity(0, sizeof(cpus_after), &cpus_after);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	assert_memory_equal(&cpus_before, &cpus_after, sizeof(cpus_before));
	for (int sig = 1; sig < 32; sig++)
		assert_int_equal(sigismember(&mask_before, sig),
				 sigismember(&mask_after, sig));
	assert_int_equal(rte_lcore_id(), LCORE_ID_ANY);
	assert_int_not_equal(rte_lcore_count(), 0);
}

/* Nothing that would have to be removed; tests/real looks at the directories.
 */
static void device__holds_no_file(void **state)
{
	struct roost_device *device = open_device(0);
	char path[PATH_MAX];
	glob_t fds;

	assert_int_equal(glob("/proc/self/fd/*", 0, NULL, &fds), 0);
	for (size_t i = 0; i < fds.gl_pathc; i++) {
		ssize_t len = readlink(fds.gl_pathv[i], path, sizeof(path) - 1);

		path[len > 0 ? len : 0] = '\0';
		assert_false(strncmp(path, "/run/", 5) == 0);
		assert_false(strncmp(path, "/dev/shm/", 9) == 0);
		assert_false(strncmp(path, "/dev/hugepages", 14) == 0);
	}
	globfree(&fds);
	roost_device_close(device);
}

static void device__opens_again_and_again(void **state)
{
	for (int i = 0; i < 5; i++)
		open_and_close();
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void device__is_shared_and_counted(void **state)
{
	struct roost_device *a = open_device(0), *b = open_device(0);

	assert_ptr_equal(a, b);
	roost_device_close(a);
	assert_non_null(roost_device_dev(b)); /* still there */
	roost_device_attend(b);
	roost_device_close(b);
}

static void device__link_looks_like_a_port(void **state)
{
	struct roost_gid want = addr("198.18.0.1"), gid;
	struct roost_device *device = open_device(0);
	struct roost_dev *dev = roost_device_dev(device);
	struct roost_port_attr attr;

	assert_int_equal(roost_port_query(dev, 1, &attr), 0);
	assert_int_equal(attr.state, ROOST_PORT_ACTIVE); /* nobody there yet */
	assert_int_equal(attr.active_mtu, ROOST_MTU_4096);
	assert_int_equal(attr.lid, 1);
	assert_int_equal(roost_port_query_gid(dev, 1, 0, &gid), 0);
	assert_true(roost_gid_is_link_local(&gid));
	assert_int_equal(roost_port_query_gid(dev, 1, 1, &gid), 0);
	assert_true(roost_gid_eq(&gid, &want));
	roost_device_close(device);
}

static void device__help_leaves_the_lcore_id(void **state)
{
	struct roost_device *device = open_device(0);

	for (int i = 0; i < 100; i++) {
		roost_device_attend(device);
		assert_int_equal(rte_lcore_id(), LCORE_ID_ANY);
	}
	roost_device_close(device);
}

/* Both ends in one process: what each announces arrives at the other. */
static void device__two_ends_hear_each_other(void **state)
{
	struct roost_dev_counters a, b;
	struct roost_device *one, *two;

	config.nb_ports = 2;
	strcpy(config.ports[1].link, link_name);
	one = open_device(0);
	two = open_device(1);
	for (int i = 0; i < 400; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		roost_dev_counters(roost_device_dev(one), &a);
		roost_dev_counters(roost_device_dev(two), &b);
		if (a.punted_pkts && b.punted_pkts)
			break;
	}
	assert_true(a.punted_pkts > 0);
	assert_true(b.punted_pkts > 0);
	roost_device_close(two);
	roost_device_close(one);
}

#define NB_LAST 296u /* more than the link holds, not more than the worker */
#define DEAF_NS 30000000

/* Punted by its engine. */
static uint64_t heard(struct roost_device *device)
{
	struct roost_dev_counters c;

	roost_dev_counters(roost_device_dev(device), &c);
	return c.punted_pkts;
}

static void *be_deaf(void *arg)
{
	struct roost_worker *worker = arg;

	nanosleep(&(struct timespec){ .tv_nsec = DEAF_NS }, NULL);
	roost_worker_turn_release(worker);
	return NULL;
}

/* To everybody, of a kind that nobody knows. */
static void send_unknown(struct roost_device *device)
{
	struct roost_dev *dev = roost_device_dev(device);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(dev->pool);
	uint8_t *frame;

	assert_non_null(mbuf);
	frame = (void *)rte_pktmbuf_append(mbuf, 60);
	memset(frame, 0xff, 60);
	frame[6] = 0x02;
	frame[12] = 0x88;
	frame[13] = 0xb5;
	assert_int_equal(roost_worker_send_frame(roost_dev_worker(dev), 1,
						 mbuf),
			 0);
	roost_device_attend(device);
}

/* Its peer has no processor while it closes. */
static void device__what_it_sent_at_last_arrives(void **state)
{
	struct roost_device *a, *b;
	struct roost_worker *worker;
	pthread_t thread;
	uint64_t before;

	config.nb_ports = 2;
	strcpy(config.ports[1].link, link_name);
	a = open_device(0);
	b = open_device(1);
	for (before = heard(b); heard(b) == before; send_unknown(a))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	before = heard(b);
	worker = roost_dev_worker(roost_device_dev(b));
	roost_worker_turn_take(worker);
	for (unsigned int i = 0; i < NB_LAST; i++)
		send_unknown(a);
	assert_int_equal(pthread_create(&thread, NULL, be_deaf, (void *)worker),
			 0);
	roost_device_close(a);
	pthread_join(thread, NULL);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	assert_true(heard(b) - before >= NB_LAST);
	roost_device_close(b);
}

/* Two ports of one device, and each end of one link at the other's. */
static void device__has_two_ports(void **state)
{
	struct roost_gid gids[2], link_locals[2];
	struct roost_device *device, *peer;
	struct roost_port_attr attr;
	struct roost_dev_counters c;

	config.nb_ports = 3;
	snprintf(config.ports[1].link, sizeof(config.ports[1].link), "%sb",
		 link_name);
	config.ports[1].second = true;
	strcpy(config.ports[2].link, config.ports[1].link);
	config.ports[1].mtu_bytes = 2200;
	device = open_device(0);
	assert_int_equal(roost_dev_nb_ports(roost_device_dev(device)), 2);
	for (uint8_t p = 1; p <= 2; p++) {
		struct roost_dev *dev = roost_device_dev(device);

		assert_int_equal(roost_port_query(dev, p, &attr), 0);
		assert_int_equal(attr.state, ROOST_PORT_ACTIVE);
		assert_int_equal(attr.active_mtu,
				 p == 1 ? ROOST_MTU_4096 : ROOST_MTU_2048);
		roost_port_query_gid(dev, p, 0, &link_locals[p - 1]);
		roost_port_query_gid(dev, p, 1, &gids[p - 1]);
	}
	assert_false(roost_gid_eq(&gids[0], &gids[1]));
	assert_false(roost_gid_eq(&link_locals[0], &link_locals[1]));
	/* What the second port announces arrives at the end of its link. */
	peer = open_device(1);
	for (int i = 0; i < 400; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		roost_dev_counters(roost_device_dev(peer), &c);
		if (c.punted_pkts)
			break;
	}
	assert_true(c.punted_pkts > 0);
	roost_device_close(peer);
	roost_device_close(device);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void device__any_ethdev_will_do(void **state)
{
	struct roost_port_attr attr;
	struct roost_device *device;

	configure_port("net_ring0");
	device = open_device(0);
	assert_int_equal(roost_port_query(roost_device_dev(device), 1, &attr),
			 0);
	assert_int_equal(attr.state, ROOST_PORT_ACTIVE);
	assert_int_equal(attr.active_mtu, ROOST_MTU_1024);
	roost_device_close(device);
	configure_port("net_null0");
	roost_device_close(open_device(0));
}

static void device__mtu_is_as_asked(void **state)
{
	struct roost_device *device;
	struct roost_port_attr attr;

	config.ports[0].mtu_bytes = 2200;
	device = open_device(0);
	assert_int_equal(roost_port_query(roost_device_dev(device), 1, &attr),
			 0);
	assert_int_equal(attr.active_mtu, ROOST_MTU_2048);
	roost_device_close(device);
}

/* ---- what goes wrong is told in one line --------------------------------- */

static int open_ret;

static void try_open(void)
{
	struct roost_device *device;

	open_ret = roost_device_open(&config, 0, &device);
}

static void check_refused(int ret, const char *cause)
{
	const char *text = caught(try_open);

	assert_int_equal(open_ret, ret);
	assert_ptr_equal(strstr(text, "roost: "), text);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	if (!strstr(text, cause))
		fail_msg("\"%s\" is not in: %s", cause, text);
}

static void device__no_such_driver(void **state)
{
	configure_port("net_nosuch0,foo=1");
	check_refused(-ENODEV, "net_nosuch0");
}

static void device__no_such_interface(void **state)
{
	configure_port("net_af_packet0,iface=nosuch0");
	check_refused(-ENODEV, "no interface \"nosuch0\"");
}

static void device__missing_argument(void **state)
{
	configure_port("net_af_packet0");
	check_refused(-ENODEV, "\"iface\"");
}

static void device__wrong_argument(void **state)
{
	configure_port("net_memif0,role=sever,bsiz=4");
	check_refused(-ENODEV, "did you mean \"bsize\"?");
	configure_port("net_memif0,role=sever");
	check_refused(-ENODEV, "sever");
}

static void device__mtu_beyond_the_buffers(void **state)
{
	configure_port("net_memif0,role=server,bsize=2048");
	config.ports[0].mtu_bytes = 4200;
	check_refused(-EINVAL, "2030");
}

static void device__third_on_a_link(void **state)
{
	struct roost_device *one, *two;
	char pid[16];

	config.nb_ports = 3;
	strcpy(config.ports[1].link, link_name);
	strcpy(config.ports[2].link, link_name);
	one = open_device(1);
	two = open_device(2);
	snprintf(pid, sizeof(pid), "%d", getpid());
	check_refused(-EBUSY, pid);
	roost_device_close(one);
	open_and_close(); /* an end is free again */
	roost_device_close(two);
}

/* The first is given back when the second is not to be had. */
static void device__second_port_fails(void **state)
{
	config.nb_ports = 2;
	strcpy(config.ports[1].devargs, "net_af_packet0,iface=nosuch0");
	config.ports[1].second = true;
	check_refused(-ENODEV, "no interface \"nosuch0\"");
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void open_ninth(void)
{
	struct roost_device *device;

	open_ret = roost_device_open(&config, 9, &device);
}

static void device__beyond_the_configuration(void **state)
{
	assert_non_null(strstr(caught(open_ninth), "has 1 devices"));
	assert_int_equal(open_ret, -EINVAL);
}

/* ---- forks ----------------------------------------------------------------
 */

static struct roost_device *inherited;

static int call_me(void *arg)
{
	(void)arg;
	return 0;
}

static void open_in_child(void)
{
	struct roost_device *device = NULL;

	open_ret = roost_device_open(&config, 0, &device);
	if (roost_device_open(&config, 0, &device) != open_ret || device)
		open_ret = 0;
}

/* 0: refused in one line, and what is the parent's does nothing at once. */
static int refused_main(void)
{
	const char *text = caught(open_in_child);

	if (open_ret != -EBUSY || strncmp(text, "roost: ", 7) != 0 ||
	    strchr(text, '\n') != text + strlen(text) - 1)
		return 1;
	if (roost_device_call(call_me, NULL) != -ENODEV)
		return 2;
	roost_device_close(inherited);
	return 0;
}

static void fork_and_wait(int (*child_main)(void))
{
	int status;
	pid_t pid;

	inherited = open_device(0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(10);
		exit(child_main());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(roost_device_call(call_me, NULL), 0);
	roost_device_close(inherited);
}

static void device__of_dpdk_is_not_a_childs(void **state)
{
	configure_port("net_null0");
	fork_and_wait(refused_main);
}

/* 0: it opened an end of its own, and not its parent's. */
static int own_main(void)
{
	struct roost_device *device;

	roost_device_close(inherited);
	if (roost_device_open(&config, 0, &device) != 0)
		return 1;
	if (roost_device_dev(device) == roost_device_dev(inherited))
		return 2;
	roost_device_close(device);
	return 0;
}

/* First of all: EAL has not started. */
static void device__of_a_link_is_without_eal(void **state)
{
	inherited = open_device(0);
	assert_int_equal(rte_lcore_count(), 0);
	roost_device_close(inherited);
	fork_and_wait(own_main);
	assert_int_equal(rte_lcore_count(), 0);
}

/* A refused opening leaves nothing in the way of a good one. */
static void device__opens_after_failures(void **state)
{
	open_and_close();
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, configure_link)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(device__of_a_link_is_without_eal),
		TEST(device__starting_eal_touches_nothing),
		TEST(device__holds_no_file),
		TEST(device__opens_again_and_again),
		TEST(device__is_shared_and_counted),
		TEST(device__link_looks_like_a_port),
		TEST(device__help_leaves_the_lcore_id),
		TEST(device__two_ends_hear_each_other),
		TEST(device__what_it_sent_at_last_arrives),
		TEST(device__has_two_ports),
		TEST(device__any_ethdev_will_do),
		TEST(device__mtu_is_as_asked),
		TEST(device__no_such_driver),
		TEST(device__no_such_interface),
		TEST(device__missing_argument),
		TEST(device__wrong_argument),
		TEST(device__mtu_beyond_the_buffers),
		TEST(device__third_on_a_link),
		TEST(device__second_port_fails),
		TEST(device__beyond_the_configuration),
		TEST(device__of_dpdk_is_not_a_childs),
		TEST(device__opens_after_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
