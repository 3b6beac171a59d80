/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a channel between two processes can do by itself: frames without a
 * transport, as bench_raw sends them over a port of DPDK.
 *
 * usage: bench_channel pump|pong BYTES SECONDS CPU CPU
 *   pump   one process sends, the other one receives, in bursts
 *   pong   one frame goes there, and another one back
 * BYTES: 64 to 192, which the receiver copies. The program prints "channel pump
 * pps FRAMES" or "channel pong ns NANOSECONDS", the median.
 */

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "lib/engine/core/mbuf.h"
#include "pmd_glue/channel/meet.h"
#include "pmd_glue/process/clock.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define BURST 32u
#define TRIPS_MAX 1000000u
#define BYTES_MIN 64u
#define BYTES_MAX 192u
#define HELLO_MS 5000
#define LOOKS 1024u /* at the clock, in frames */

static struct {
	struct roost_shm_channel *ch;
	struct roost_shm_meeting m;
	uint8_t frame[BYTES_MAX];
	uint16_t len_bytes;
	uint64_t ns;
	struct rte_mempool_cache cache; /* as a worker has one */
} bench;

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "bench_channel: %s\n", why);
	exit(1);
}

/* ---- the other process --------------------------------------------------- */

static void pin(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(strtoul(cpu, NULL, 0), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("CPU: there is no such one");
}

/* Shapes as a link has them. */
static void meet(int fd, bool accepted)
{
	const uint8_t ours = accepted ? 1 : 2;
	const struct roost_shm_params params = {
		.shape = { 512, ROOST_SHM_SLOT_BYTES, 1, 256 },
		.patience_ns = UINT64_C(1000000000),
	};
	const struct roost_shm_self self = {
		.mac.addr_bytes = { 2, 0, 0, 0, 0, ours },
		.mtu_bytes = 1500,
	};
	struct pollfd hello = { .fd = fd, .events = POLLIN };

	pair_write_frame(bench.frame, ours, 3 - ours, 2, bench.len_bytes, 0);
	if (roost_shm_channel_open(&params, &bench.ch) != 0 ||
	    roost_shm_meet_begin(&bench.m, bench.ch, fd, accepted, &self, 0) !=
		    0 ||
	    poll(&hello, 1, HELLO_MS) != 1 ||
	    roost_shm_meet_look(&bench.m, 0) != 1 ||
	    roost_shm_peer_join(bench.ch, bench.m.seat, &bench.m.peer) != 0)
		die("the two do not meet");
}

/* ---- frames -------------------------------------------------------------- */

static unsigned int receive(void)
{
	struct rte_mbuf *pkts[BURST];
	const uint16_t n = roost_shm_rx_burst(bench.ch, pkts, BURST);

	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

/* Returns how many of up to n frames were sent. */
static uint16_t send_some(uint16_t n)
{
	uint32_t seats[BURST];
	struct rte_mbuf *pkts[BURST];
	uint16_t made, sent;

	for (made = 0; made < n; made++) {
		struct rte_mbuf *m;

		if (rte_mempool_generic_get(roost_shm_channel_pool(bench.ch),
					    (void **)&m, 1, &bench.cache) != 0)
			break;
		rte_pktmbuf_reset(m);
		m->data_len = bench.len_bytes;
		m->pkt_len = bench.len_bytes;
		memcpy(rte_pktmbuf_mtod(m, void *), bench.frame,
		       bench.len_bytes);
		seats[made] = bench.m.seat;
		pkts[made] = m;
	}
	sent = made ? roost_shm_tx_burst(bench.ch, seats, pkts, made) : 0;
	for (uint16_t i = sent; i < made; i++)
		rte_pktmbuf_free(pkts[i]);
	return sent;
}

static _Noreturn void answer(void)
{
	for (;;)
		for (unsigned int n = receive(); n > 0; n--)
			while (send_some(1) == 0)
				receive();
}

static _Noreturn void send_all(void)
{
	for (;;)
		if (send_some(BURST) == 0)
			receive();
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void pong(void)
{
	static uint32_t trips[TRIPS_MAX];
	const uint64_t start_ns = roost_now_ns();
	uint64_t before_ns = start_ns, now_ns;
	size_t nb = 0;

	while (nb < TRIPS_MAX && before_ns - start_ns < bench.ns) {
		while (send_some(1) == 0)
			receive();
		while (receive() == 0)
			;
		now_ns = roost_now_ns();
		trips[nb++] = (uint32_t)(now_ns - before_ns);
		before_ns = now_ns;
	}
	qsort(trips, nb, sizeof(trips[0]), compare);
	printf("channel pong ns %u\n", trips[nb / 2]);
}

static void pump(void)
{
	uint64_t nb = 0, start_ns, now_ns;

	while (receive() == 0)
		;
	start_ns = now_ns = roost_now_ns();
	while (now_ns - start_ns < bench.ns) {
		for (unsigned int i = 0; i < LOOKS; i++)
			nb += receive();
		now_ns = roost_now_ns();
	}
	printf("channel pump pps %.0f\n",
	       1e9 * (double)nb / (double)(now_ns - start_ns));
}

int main(int argc, char **argv)
{
	const bool is_pong = argc == 6 && strcmp(argv[1], "pong") == 0;
	pid_t child;
	int fds[2];

	if (argc != 6 || (!is_pong && strcmp(argv[1], "pump") != 0))
		die("usage: bench_channel pump|pong BYTES SECONDS CPU CPU");
	bench.cache.size = ROOST_MBUF_CACHE;
	bench.cache.flushthresh = ROOST_MBUF_CACHE * 3 / 2;
	bench.len_bytes = (uint16_t)strtoul(argv[2], NULL, 0);
	bench.ns = (uint64_t)(strtod(argv[3], NULL) * 1e9);
	if (bench.len_bytes < BYTES_MIN || bench.len_bytes > BYTES_MAX)
		die("BYTES: 64 to 192");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) != 0)
		die("no socket");
	child = fork();
	if (child < 0)
		die("no process");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[1]);
		pin(argv[4]);
		meet(fds[0], false);
		if (is_pong)
			answer();
		send_all();
	}
	close(fds[0]);
	pin(argv[5]);
	meet(fds[1], true);
	if (is_pong)
		pong();
	else
		pump();
	kill(child, SIGKILL);
	return 0;
}
