/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <sched.h>

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
#include "lib/engine/core/dev_priv.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"

/*
 * One end of a link or of a pair of memif ports is killed, again and again,
 * while frames of all lengths go both ways and both ends poll without rest. The
 * other end has to survive it, and has to hear the next one at once.
 *
 * ROOST_TEST_ROUNDS: how often, instead of a few times. ROOST_TEST_SEED.
 */

#define ROUNDS 6u
#define CONNECT_MAX_NS 5000000000ull
#define ETHERTYPE_EXPERIMENT 0x88b5
#define MEMIF "socket-abstract=yes,socket=roost-kill-%d-%s"

extern char **environ;

static struct roost_config config;
static unsigned int seed;

/* spec: the name of a link, or devargs. */
static struct roost_device *open_end(const char *spec)
{
	struct roost_device *device;

	config = (struct roost_config){ .nb_ports = 1 };
	if (strncmp(spec, "net_", 4) == 0)
		snprintf(config.ports[0].devargs,
			 sizeof(config.ports[0].devargs), "%s", spec);
	else
		snprintf(config.ports[0].link, sizeof(config.ports[0].link),
			 "%s", spec);
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

static struct rte_mempool *pool_of(struct roost_device *device)
{
	return roost_device_dev(device)->pool;
}

/* The process that is killed. */
static __attribute__((noreturn)) void be_the_peer(const char *spec)
{
	struct roost_device *device;
	struct rte_mempool *pool;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	device = open_end(spec);
	pool = pool_of(device);
	for (;;) {
		send_some(device, pool);
		if (!roost_device_attend(device))
			sched_yield();
	}
}

static atomic_bool stop;

static void *poll_and_send(void *arg)
{
	struct roost_device *device = arg;
	struct rte_mempool *pool = pool_of(device);

	while (!atomic_load(&stop)) {
		send_some(device, pool);
		if (!roost_device_attend(device))
			sched_yield();
	}
	return NULL;
}

static pid_t start_peer(const char *spec)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "peer" },
			 (char *)(uintptr_t)spec, NULL };
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

static void kill_again_and_again(struct roost_device *device, const char *spec,
				 pid_t peer)
{
	pthread_t thread;

	pthread_create(&thread, NULL, poll_and_send, device);
	for (unsigned int i = 0; i < rounds(); i++) {
		wait_to_hear(device);
		sleep_ns((long)rand_r(&seed) % 5000000);
		kill_peer(peer);
		peer = start_peer(spec);
		/* Every other one while it opens, or connects. */
		if (i % 2) {
			sleep_ns(100000000 + (long)rand_r(&seed) % 150000000);
			kill_peer(peer);
			peer = start_peer(spec);
		}
	}
	wait_to_hear(device);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	atomic_store(&stop, false);
	kill_peer(peer);
}

/* Ours is there first, or the peer's is. */
static void kill_all(const char *ours, const char *spec, bool first)
{
	struct roost_device *device;
	pid_t peer;

	if (first) {
		device = open_end(ours);
		peer = start_peer(spec);
	} else {
		peer = start_peer(spec);
		sleep_ns(500000000);
		device = open_end(ours);
	}
	kill_again_and_again(device, spec, peer);
	roost_device_close(device);
}

/* Ours is end 0, which accepts. */
static void link_kill__ends_1_come_and_go(void **state)
{
	char name[40];

	snprintf(name, sizeof(name), "kill-%d-a", getpid());
	kill_all(name, name, true);
}

/* Ours is end 1, which connects. */
static void link_kill__ends_0_come_and_go(void **state)
{
	char name[40];

	snprintf(name, sizeof(name), "kill-%d-b", getpid());
	kill_all(name, name, false);
}

/* The same with net_memif, which alone does not survive it: see
 * pmd_glue/quirks/intr_gate.h.
 */
static void kill_all_memif(const char *ours, const char *theirs)
{
	char specs[2][128];

	snprintf(specs[0], sizeof(specs[0]), "net_memif0,role=%s," MEMIF, ours,
		 getpid(), ours);
	snprintf(specs[1], sizeof(specs[1]), "net_memif0,role=%s," MEMIF,
		 theirs, getpid(), ours);
	kill_all(specs[0], specs[1], strcmp(ours, "server") == 0);
}

static void memif_kill__clients_come_and_go(void **state)
{
	kill_all_memif("server", "client");
}

static void memif_kill__servers_come_and_go(void **state)
{
	kill_all_memif("client", "server");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_kill__ends_1_come_and_go),
		cmocka_unit_test(link_kill__ends_0_come_and_go),
		cmocka_unit_test(memif_kill__clients_come_and_go),
		cmocka_unit_test(memif_kill__servers_come_and_go),
	};
	const char *text = getenv("ROOST_TEST_SEED");

	if (argc == 3 && strcmp(argv[1], "peer") == 0)
		be_the_peer(argv[2]);
	seed = text ? (unsigned int)strtoul(text, NULL, 0)
		    : (unsigned int)time(NULL);
	print_message("seed %u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
