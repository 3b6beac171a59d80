/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a port can do by itself: frames without a transport. The limit that
 * Roost's figures over such a port are held against; run by tests/bench/run.
 *
 * usage: raw pump|pong BYTES SECONDS server|client DEVARGS CPU
 *   pump  the client writes frames of BYTES, the server reads every byte
 *   pong  one frame goes there and back
 * The server prints "raw pump pps P gbps G", the client "raw pong ns N". Frames
 * are to nobody: with an EtherType of local experiments, and without IP.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST 32u
#define RING 1024u
#define POOL_MBUFS 8191u
#define POOL_CACHE 256u
#define ROOM_BYTES 8192u
#define XDP_ROOM_BYTES 3712u /* net_af_xdp: a buffer is one page at most */
#define CONNECT_S 10u
#define LATE_S 3u
#define TRIPS_MAX 1000000u

struct bench {
	uint16_t len_bytes;
	double seconds;
	bool server;
	uint16_t room_bytes;
	struct rte_mempool *pool;
	uint8_t payload[ROOM_BYTES];
	uint64_t sum; /* of what was read: it has to be */
};

static struct bench bench;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "raw: %s\n", what);
	exit(EXIT_FAILURE);
}

static void start_eal(const char *devargs, const char *cpu)
{
	char vdev[256], prefix[64], lcores[32];
	char *args[] = { "raw",
			 "--no-huge",
			 "--no-shconf",
			 "--no-pci",
			 "--no-telemetry",
			 "-m",
			 "128",
			 "--log-level=1",
			 prefix,
			 lcores,
			 vdev };

	snprintf(prefix, sizeof(prefix), "--file-prefix=roost-bench-%d",
		 (int)getpid());
	snprintf(lcores, sizeof(lcores), "--lcores=0@%s", cpu);
	snprintf(vdev, sizeof(vdev), "--vdev=%s", devargs);
	if (rte_eal_init(RTE_DIM(args), args) < 0)
		die("EAL does not start");
	rmdir(rte_eal_get_runtime_dir());
}

static bool link_is_up(void)
{
	struct rte_eth_link link;

	rte_eth_link_get_nowait(0, &link);
	return link.link_status != RTE_ETH_LINK_DOWN;
}

/* A client asks once for each start of its port, and may come too early. */
static void connect_port(void)
{
	double until = now_s() + CONNECT_S, again;

	while (!link_is_up()) {
		if (now_s() > until)
			die("nobody at the other end");
		if (rte_eth_dev_start(0) != 0) {
			usleep(10000);
			continue;
		}
		again = bench.server ? until : now_s() + 0.5;
		while (!link_is_up() && now_s() < again)
			usleep(1000);
		if (!link_is_up())
			rte_eth_dev_stop(0);
	}
}

static void start_port(void)
{
	const struct rte_eth_conf conf = { 0 };

	bench.pool =
		rte_pktmbuf_pool_create("bench", POOL_MBUFS, POOL_CACHE, 0,
					RTE_PKTMBUF_HEADROOM + bench.room_bytes,
					0);
	if (bench.pool == NULL)
		die("no memory for frames");
	if (rte_eth_dev_configure(0, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(0, 0, RING, 0, NULL, bench.pool) != 0 ||
	    rte_eth_tx_queue_setup(0, 0, RING, 0, NULL) != 0)
		die("the port cannot be set up");
	connect_port();
}

static void read_frame(const struct rte_mbuf *mbuf)
{
	const uint64_t *p = rte_pktmbuf_mtod(mbuf, const uint64_t *);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < mbuf->data_len / sizeof(*p); i++)
		sum += p[i];
	bench.sum += sum;
}

static struct rte_mbuf *write_frame(void)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(bench.pool);

	if (mbuf == NULL)
		die("no frames left");
	memcpy(rte_pktmbuf_mtod(mbuf, void *), bench.payload, bench.len_bytes);
	mbuf->data_len = bench.len_bytes;
	mbuf->pkt_len = bench.len_bytes;
	return mbuf;
}

static void send_all(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = 0;

	while (sent < n)
		sent += rte_eth_tx_burst(0, 0, pkts + sent,
					 (uint16_t)(n - sent));
}

/* Returns how many frames came, each read. */
static uint16_t receive(void)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(0, 0, pkts, BURST);

	for (uint16_t i = 0; i < n; i++)
		read_frame(pkts[i]);
	if (n > 0)
		rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

static void pump_client(void)
{
	/* The server counts for so long, from the first frame on, and may
	 * start later.
	 */
	double until = now_s() + bench.seconds + LATE_S;

	while (now_s() < until && link_is_up()) {
		for (int i = 0; i < 32; i++) {
			struct rte_mbuf *pkts[BURST];
			uint16_t sent;

			for (unsigned int n = 0; n < BURST; n++)
				pkts[n] = write_frame();
			sent = rte_eth_tx_burst(0, 0, pkts, BURST);
			if (sent < BURST)
				rte_pktmbuf_free_bulk(pkts + sent,
						      BURST - sent);
		}
	}
}

static void pump_server(void)
{
	uint64_t nb_pkts = 0;
	double start, now;

	while (receive() == 0)
		if (!link_is_up())
			die("nothing came");
	start = now_s();
	do {
		for (int i = 0; i < 256; i++)
			nb_pkts += receive();
		now = now_s();
	} while (now - start < bench.seconds);
	printf("raw pump pps %.0f gbps %.2f\n", (double)nb_pkts / (now - start),
	       8e-9 * bench.len_bytes * (double)nb_pkts / (now - start));
}

static void pong_server(void)
{
	struct rte_mbuf *pkts[BURST];
	double until = now_s() + bench.seconds + CONNECT_S;

	while (now_s() < until && link_is_up())
		for (int i = 0; i < 4096; i++) {
			uint16_t n = rte_eth_rx_burst(0, 0, pkts, BURST);

			for (uint16_t k = 0; k < n; k++)
				read_frame(pkts[k]);
			send_all(pkts, n);
		}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median, as programs that measure latency report it. */
static void pong_client(void)
{
	static double trips[TRIPS_MAX];
	double start = now_s(), before = start;
	size_t nb = 0;

	while (nb < TRIPS_MAX && before - start < bench.seconds) {
		struct rte_mbuf *mbuf = write_frame();

		send_all(&mbuf, 1);
		while (receive() == 0)
			if (!link_is_up())
				die("the other end is gone");
		trips[nb] = now_s() - before;
		before += trips[nb++];
	}
	qsort(trips, nb, sizeof(trips[0]), compare);
	printf("raw pong ns %.1f\n", 1e9 * trips[nb / 2]);
}

int main(int argc, char **argv)
{
	bool pump;

	if (argc != 7)
		die("usage: raw pump|pong BYTES SECONDS server|client "
		    "DEVARGS CPU");
	pump = strcmp(argv[1], "pump") == 0;
	bench.len_bytes = (uint16_t)strtoul(argv[2], NULL, 0);
	bench.seconds = strtod(argv[3], NULL);
	bench.server = strcmp(argv[4], "server") == 0;
	bench.room_bytes = strncmp(argv[5], "net_af_xdp", 10) == 0
				   ? XDP_ROOM_BYTES
				   : ROOM_BYTES;
	if (bench.len_bytes > bench.room_bytes || bench.len_bytes < 60)
		die("BYTES: 60 to 8192, 3712 over net_af_xdp");
	memset(bench.payload, 0x5a, sizeof(bench.payload));
	memset(bench.payload, 0xff, 6);
	bench.payload[12] = 0x88;
	bench.payload[13] = 0xb5;
	start_eal(argv[5], argv[6]);
	start_port();
	if (pump)
		(bench.server ? pump_server : pump_client)();
	else
		(bench.server ? pong_server : pong_client)();
	fflush(stdout);
	/* Without EAL's own end: the port may be in use by its threads. */
	_exit(EXIT_SUCCESS);
}
