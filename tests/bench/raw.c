/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a port can do by itself: frames without a transport. The limit that
 * Roost's figures over such a port are held against; run by tests/bench/run.
 *
 * usage: raw pump|paced|pong BYTES SECONDS server|client DEVARGS CPU
 *   pump   the client writes frames of BYTES, the server reads every byte
 *   paced  the same, where a ring that is full loses frames: no more than a
 *          window of them is on the way, and the server reports what came
 *   pong   one frame goes there and back
 * The server prints "raw WHAT pps P gbps G lost N", N being frames, the client
 * "raw pong ns N".
 *
 * To a kernel that sees them frames are as RoCEv2's: from 02:00:00:00:00:01 and
 * 198.18.77.1 (server) or ...:02 and 198.18.77.2, to UDP port 4791. That port
 * is held on the interface that DEVARGS name, as Roost does.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_net.h>

#include "pmd_glue/kernel/udp_sink.h"

#define BURST 32u
#define RING 1024u
#define POOL_MBUFS 8191u
#define POOL_CACHE 256u
#define ROOM_BYTES 8192u
#define XDP_ROOM_BYTES 3712u /* net_af_xdp: a buffer is one page at most */
#define CONNECT_S 10u
#define LATE_S 3u
#define TRIPS_MAX 1000000u
/* Less than any ring that frames may have to wait in, af_packet's 512 being the
 * shortest.
 */
#define WINDOW 256u
#define REPORT_EVERY 64u
#define REPORT_BYTES 64u
/* Nothing was reported for so long: what is on the way is lost. */
#define LOST_S 0.2
/* The server has ended. */
#define ENDED_S 0.5

#define PORT 4791u
#define ADDRESS RTE_IPV4(198, 18, 77, 0)

struct frame {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	uint8_t pad[6];
	uint64_t number; /* of the next one, in a report */
};

struct bench {
	uint16_t len_bytes;
	double seconds;
	bool server;
	bool paced;
	uint16_t room_bytes;
	struct rte_mempool *pool;
	_Alignas(struct frame) uint8_t payload[ROOM_BYTES];
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

/* net_tap would have the kernel send a real-time signal for each frame; where
 * it finds none that is free, it polls.
 */
static void take_signals(void)
{
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		signal(signo, SIG_IGN);
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

	return rte_eth_link_get_nowait(0, &link) == 0 &&
	       link.link_status != RTE_ETH_LINK_DOWN;
}

/* A client asks once for each start of its port, and may come too early. */
static void connect_port(void)
{
	double until = now_s() + CONNECT_S, again;

	while (now_s() < until) {
		if (rte_eth_dev_start(0) != 0) {
			usleep(10000);
			continue;
		}
		again = bench.server ? until : now_s() + 0.5;
		while (!link_is_up() && now_s() < again)
			usleep(1000);
		if (link_is_up())
			return;
		rte_eth_dev_stop(0);
	}
	die("nobody at the other end");
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

/* A kernel at the other end has frames of its own. */
static bool is_ours(const struct rte_mbuf *mbuf)
{
	const struct frame *frame =
		rte_pktmbuf_mtod(mbuf, const struct frame *);

	return mbuf->data_len >= REPORT_BYTES &&
	       frame->eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
	       frame->udp.dst_port == RTE_BE16(PORT);
}

static void read_frame(const struct rte_mbuf *mbuf)
{
	const uint64_t *p = rte_pktmbuf_mtod(mbuf, const uint64_t *);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < mbuf->data_len / sizeof(*p); i++)
		sum += p[i];
	bench.sum += sum;
}

static void set_length(struct frame *frame, uint16_t len_bytes)
{
	uint16_t ip_bytes = (uint16_t)(len_bytes - sizeof(frame->eth));

	frame->ip.total_length = rte_cpu_to_be_16(ip_bytes);
	frame->udp.dgram_len =
		rte_cpu_to_be_16((uint16_t)(ip_bytes - sizeof(frame->ip)));
	frame->ip.hdr_checksum = 0;
	frame->ip.hdr_checksum = rte_ipv4_cksum(&frame->ip);
}

static struct rte_mbuf *write_frame(uint64_t number)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(bench.pool);

	if (mbuf == NULL)
		die("no frames left");
	memcpy(rte_pktmbuf_mtod(mbuf, void *), bench.payload, bench.len_bytes);
	rte_pktmbuf_mtod(mbuf, struct frame *)->number = number;
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

/* Returns how many of our frames came, all in front of pkts, each read. */
static uint16_t receive(struct rte_mbuf **pkts)
{
	uint16_t n = rte_eth_rx_burst(0, 0, pkts, BURST);
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (!is_ours(pkts[i])) {
			rte_pktmbuf_free(pkts[i]);
			continue;
		}
		read_frame(pkts[i]);
		pkts[kept++] = pkts[i];
	}
	return kept;
}

/* The same for those who look at no more of them than the number of the last
 * one; *next is the one behind it.
 */
static uint16_t take(uint64_t *next)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = receive(pkts);

	if (n == 0)
		return 0;
	*next = rte_pktmbuf_mtod(pkts[n - 1], const struct frame *)->number + 1;
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

/* Returns how many went. */
static uint16_t send_burst(uint64_t number)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t sent;

	for (uint16_t i = 0; i < BURST; i++)
		pkts[i] = write_frame(number + i);
	sent = rte_eth_tx_burst(0, 0, pkts, BURST);
	if (sent < BURST)
		rte_pktmbuf_free_bulk(pkts + sent, BURST - sent);
	return sent;
}

static void pump_client(void)
{
	/* The server counts for so long, from the first frame on, and may
	 * start later.
	 */
	double until = now_s() + bench.seconds + LATE_S;
	uint64_t number = 0;

	while (now_s() < until && link_is_up())
		for (int i = 0; i < 32; i++)
			number += send_burst(number);
}

static void report(uint64_t next)
{
	struct rte_mbuf *mbuf = write_frame(next - 1);

	set_length(rte_pktmbuf_mtod(mbuf, struct frame *), REPORT_BYTES);
	mbuf->data_len = REPORT_BYTES;
	mbuf->pkt_len = REPORT_BYTES;
	send_all(&mbuf, 1);
}

static void pump_server(const char *what)
{
	uint64_t nb_pkts = 0, first, next, reported;
	double start, now;

	while (take(&next) == 0)
		if (!link_is_up())
			die("nothing came");
	first = reported = next;
	start = now_s();
	do {
		for (int i = 0; i < 256; i++) {
			nb_pkts += take(&next);
			if (bench.paced && next - reported >= REPORT_EVERY) {
				report(next);
				reported = next;
			}
		}
		now = now_s();
	} while (now - start < bench.seconds);
	printf("raw %s pps %.0f gbps %.2f lost %" PRIu64 "\n", what,
	       (double)nb_pkts / (now - start),
	       8e-9 * bench.len_bytes * (double)nb_pkts / (now - start),
	       next - first - nb_pkts);
}

static void paced_client(void)
{
	double heard = now_s(), moved = heard, now;
	uint64_t number = 0, next = 0, oldest = 0;
	bool begun = false;

	for (;;) {
		if (number - oldest <= WINDOW - BURST)
			number += send_burst(number);
		now = now_s();
		if (take(&next) > 0) {
			begun = true;
			oldest = next;
			heard = moved = now;
		} else if (now - heard > (begun ? ENDED_S : CONNECT_S)) {
			return;
		} else if (now - moved > LOST_S) {
			oldest = number;
			moved = now;
		}
	}
}

static void pong_server(void)
{
	struct rte_mbuf *pkts[BURST];
	double until = now_s() + bench.seconds + CONNECT_S;

	while (now_s() < until && link_is_up())
		for (int i = 0; i < 4096; i++) {
			send_all(pkts, receive(pkts));
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
	uint64_t next;
	size_t nb = 0;

	while (nb < TRIPS_MAX && before - start < bench.seconds) {
		struct rte_mbuf *mbuf = write_frame(nb);

		send_all(&mbuf, 1);
		while (take(&next) == 0)
			if (!link_is_up())
				die("the other end is gone");
		trips[nb] = now_s() - before;
		before += trips[nb++];
	}
	qsort(trips, nb, sizeof(trips[0]), compare);
	printf("raw pong ns %.1f\n", 1e9 * trips[nb / 2]);
}

static void set_headers(void)
{
	const uint8_t ours = bench.server ? 1 : 2, theirs = 3 - ours;
	const struct frame frame = {
		.eth = { .dst_addr.addr_bytes = { 2, 0, 0, 0, 0, theirs },
			 .src_addr.addr_bytes = { 2, 0, 0, 0, 0, ours },
			 .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4) },
		.ip = { .version_ihl = RTE_IPV4_VHL_DEF,
			.time_to_live = 64,
			.next_proto_id = IPPROTO_UDP,
			.src_addr = rte_cpu_to_be_32(ADDRESS | ours),
			.dst_addr = rte_cpu_to_be_32(ADDRESS | theirs) },
		.udp = { .src_port = RTE_BE16(PORT),
			 .dst_port = RTE_BE16(PORT) },
	};

	memset(bench.payload, 0x5a, sizeof(bench.payload));
	memcpy(bench.payload, &frame, sizeof(frame));
	set_length((struct frame *)bench.payload, bench.len_bytes);
}

static void hold_port(const char *devargs)
{
	const char *iface = strstr(devargs, ",iface=");
	char name[32];

	if (iface == NULL)
		return;
	iface += strlen(",iface=");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(iface, ","), iface);
	roost_udp_sink_open(name);
}

int main(int argc, char **argv)
{
	bool pong;

	if (argc != 7)
		die("usage: raw pump|paced|pong BYTES SECONDS server|client "
		    "DEVARGS CPU");
	pong = strcmp(argv[1], "pong") == 0;
	bench.paced = strcmp(argv[1], "paced") == 0;
	bench.len_bytes = (uint16_t)strtoul(argv[2], NULL, 0);
	bench.seconds = strtod(argv[3], NULL);
	bench.server = strcmp(argv[4], "server") == 0;
	bench.room_bytes = strncmp(argv[5], "net_af_xdp", 10) == 0
				   ? XDP_ROOM_BYTES
				   : ROOM_BYTES;
	if (bench.len_bytes > bench.room_bytes ||
	    bench.len_bytes < REPORT_BYTES)
		die("BYTES: 64 to 8192, 3712 over net_af_xdp");
	set_headers();
	take_signals();
	hold_port(argv[5]);
	start_eal(argv[5], argv[6]);
	start_port();
	if (pong)
		(bench.server ? pong_server : pong_client)();
	else if (bench.server)
		pump_server(argv[1]);
	else
		(bench.paced ? paced_client : pump_client)();
	fflush(stdout);
	/* Without EAL's own end: the port may be in use by its threads. */
	_exit(EXIT_SUCCESS);
}
