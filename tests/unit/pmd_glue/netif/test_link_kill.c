/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <roost/config.h>
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include <roost/roost.h>
#include "lib/face/shim.h"
#include "pmd_glue/process/clock.h"

/*
 * One end of a link is killed, again and again, while frames of all lengths
 * go both ways and both ends poll without rest. The other end has to survive
 * it, and has to hear the next one at once. net_memif alone does not: see
 * pmd_glue/quirks/intr_gate.h.
 *
 * ROOST_TEST_ROUNDS: how often, instead of a few times. ROOST_TEST_SEED.
 */

#define ROUNDS 6u
#define CONNECT_MAX_NS 5000000000ull
#define ETHERTYPE_EXPERIMENT 0x88b5

extern char **environ;

static struct roost_config config;
static unsigned int seed;

static struct roost_device *open_link(const char *name)
{
	struct roost_device *device;

	config = (struct roost_config){ .nb_ports = 1 };
	snprintf(config.ports[0].link, sizeof(config.ports[0].link), "%s",
		 name);
	if (roost_device_open(&config, 0, &device) != 0)
		exit(EXIT_FAILURE);
	return device;
}

/* To everybody, of a kind that nobody knows: the other end passes it up. */
static void send_some(struct roost_device *device, struct rte_mempool *pool)
{
	struct roost_worker *worker =
		roost_dev_worker(roost_device_dev(device));
	static unsigned int count;
	struct rte_mbuf *mbuf;
	uint8_t *frame;

	for (unsigned int i = 0; i < 16; i++) {
		mbuf = rte_pktmbuf_alloc(pool);
		if (!mbuf)
			return;
		frame = (void *)rte_pktmbuf_append(
			mbuf, (uint16_t)(60 + count++ * 37 % 4000));
		memset(frame, 0xff, 12);
		frame[6] = 0x02;
		frame[12] = ETHERTYPE_EXPERIMENT >> 8;
		frame[13] = ETHERTYPE_EXPERIMENT & 0xff;
		roost_worker_send_frame(worker, 1, mbuf);
	}
}

static struct rte_mempool *pool_of_first_port(void)
{
	struct rte_mempool *pool = rte_mempool_lookup("roost_port0");

	assert_non_null(pool);
	return pool;
}

/* The process that is killed. */
static __attribute__((noreturn)) void be_the_peer(const char *name)
{
	struct roost_device *device;
	struct rte_mempool *pool;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	device = open_link(name);
	pool = pool_of_first_port();
	for (;;) {
		send_some(device, pool);
		roost_device_help(device);
	}
}

static atomic_bool stop;

static void *poll_and_send(void *arg)
{
	struct roost_device *device = arg;
	struct rte_mempool *pool = pool_of_first_port();

	while (!atomic_load(&stop)) {
		send_some(device, pool);
		roost_device_help(device);
	}
	return NULL;
}

static pid_t start_peer(const char *name)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "peer" },
			 (char *)(uintptr_t)name, NULL };
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv,
				     environ),
			 0);
	return pid;
}

static uint64_t heard(struct roost_device *device)
{
	struct roost_dev_counters c;

	roost_dev_counters(roost_device_dev(device), &c);
	return c.punted_pkts;
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void wait_to_hear(struct roost_device *device)
{
	uint64_t before = heard(device), begin_ns = roost_now_ns();

	while (heard(device) < before + 100) {
		assert_true(roost_now_ns() - begin_ns < CONNECT_MAX_NS);
		sleep_ns(1000000);
	}
}

static void kill_peer(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static unsigned int rounds(void)
{
	const char *text = getenv("ROOST_TEST_ROUNDS");

	return text ? (unsigned int)atoi(text) : ROUNDS;
}

static void kill_again_and_again(struct roost_device *device, const char *name,
				 pid_t peer)
{
	pthread_t thread;

	pthread_create(&thread, NULL, poll_and_send, device);
	for (unsigned int i = 0; i < rounds(); i++) {
		wait_to_hear(device);
		sleep_ns((long)rand_r(&seed) % 5000000);
		kill_peer(peer);
		peer = start_peer(name);
		/* Every other one while it opens, or connects. */
		if (i % 2) {
			sleep_ns(100000000 + (long)rand_r(&seed) % 150000000);
			kill_peer(peer);
			peer = start_peer(name);
		}
	}
	wait_to_hear(device);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	atomic_store(&stop, false);
	kill_peer(peer);
}

/* Ours is end 0, memif's server. */
static void link_kill__clients_come_and_go(void **state)
{
	struct roost_device *device;
	char name[40];

	snprintf(name, sizeof(name), "kill-%d-a", getpid());
	device = open_link(name);
	kill_again_and_again(device, name, start_peer(name));
	roost_device_close(device);
}

/* Ours is end 1, memif's client. */
static void link_kill__servers_come_and_go(void **state)
{
	struct roost_device *device;
	char name[40];
	pid_t peer;

	snprintf(name, sizeof(name), "kill-%d-b", getpid());
	peer = start_peer(name);
	sleep_ns(500000000);
	device = open_link(name);
	kill_again_and_again(device, name, peer);
	roost_device_close(device);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_kill__clients_come_and_go),
		cmocka_unit_test(link_kill__servers_come_and_go),
	};
	const char *text = getenv("ROOST_TEST_SEED");

	if (argc == 3 && strcmp(argv[1], "peer") == 0)
		be_the_peer(argv[2]);
	seed = text ? (unsigned int)strtoul(text, NULL, 0)
		    : (unsigned int)time(NULL);
	print_message("seed %u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
