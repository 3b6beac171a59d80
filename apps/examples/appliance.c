/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roost-appliance: a DPDK program with its own EAL, ports and loop. An RDMA
 * device runs in this loop, on the first port, beside the program's own
 * traffic. The device answers each SEND with the same bytes. The own traffic
 * has an Ethernet type of its own:
 * - with one port, the program sends a frame per millisecond, and takes those
 *   that it receives;
 * - with two ports, it forwards such frames from each port to the other one,
 *   and prints each second how many. When both links are up it sends a burst on
 *   each port, as testpmd --tx-first does.
 *
 * usage: roost-appliance EAL-OPTIONS... -- ADDRESS PREFIX-LENGTH
 *                        own|lent SERVICE CONNECTIONS
 *
 * own:  the program receives, keeps its own frames and hands over the others;
 * lent: it leaves receive queue 0 of the first port to the device, and gets its
 *       own frames back by punt().
 * It ends after so many connections, or at SIGINT.
 */

#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <roost/loop.h>

#include "echo_server.h"

#define PORT_ID 0u /* the device's */
#define PORTS_MAX 2u
#define BURST 32u
#define SKIPPED_MAX 3u
#define OWN_TYPE 0x88b5u /* IEEE 802: local experimental */
#define OWN_LEN 60u
#define OWN_EVERY_NS 1000000u
#define REPORT_NS 1000000000u
#define LAST_WORDS_NS 100000000u /* the device's answers to the last peer */

static struct rte_mempool *pool;
static uint16_t nb_ports;
static uint64_t own_sent, own_received;
static volatile sig_atomic_t stopped;

/* Own frames of the present iteration, by the port that they came from. */
static struct {
	uint16_t nb;
	struct rte_mbuf *frames[2 * BURST];
} own[PORTS_MAX];

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

static void check(const char *what, int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "roost-appliance: %s: %s\n", what, strerror(-ret));
	exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void open_port(uint16_t port_id)
{
	const struct rte_eth_conf conf = { 0 };

	check("configure", rte_eth_dev_configure(port_id, 1, 1, &conf));
	check("receive queue",
	      rte_eth_rx_queue_setup(port_id, 0, 512, 0, NULL, pool));
	check("transmit queue",
	      rte_eth_tx_queue_setup(port_id, 0, 512, 0, NULL));
	check("start", rte_eth_dev_start(port_id));
}

static void open_ports(void)
{
	pool = rte_pktmbuf_pool_create("appliance", 8191, 256, 0,
				       RTE_PKTMBUF_HEADROOM +
					       ROOST_LOOP_DATA_ROOM_BYTES,
				       0);
	check("pool", pool ? 0 : -rte_errno);
	nb_ports = rte_eth_dev_count_avail() > 1 ? PORTS_MAX : 1;
	for (uint16_t i = 0; i < nb_ports; i++)
		open_port(i);
}

/* ---- own traffic --------------------------------------------------------- */

static bool is_own(const struct rte_mbuf *frame)
{
	const struct rte_ether_hdr *ether =
		rte_pktmbuf_mtod(frame, const struct rte_ether_hdr *);

	return rte_pktmbuf_data_len(frame) >= sizeof(*ether) &&
	       ether->ether_type == rte_cpu_to_be_16(OWN_TYPE);
}

/* punt(): a frame that is not for the device. */
static void take_punted(void *arg, struct rte_mbuf *frame)
{
	(void)arg;
	if (is_own(frame) && own[PORT_ID].nb < RTE_DIM(own[PORT_ID].frames))
		own[PORT_ID].frames[own[PORT_ID].nb++] = frame;
	else
		rte_pktmbuf_free(frame);
}

/* Forward the own frames, or take them. */
static void finish_own(void)
{
	for (uint16_t i = 0; i < nb_ports; i++) {
		uint16_t done = 0;

		if (own[i].nb == 0)
			continue;
		own_received += own[i].nb;
		if (nb_ports > 1)
			done = rte_eth_tx_burst((uint16_t)(1 - i), 0,
						own[i].frames, own[i].nb);
		rte_pktmbuf_free_bulk(own[i].frames + done, own[i].nb - done);
		own[i].nb = 0;
	}
}

static void send_own(uint16_t port_id)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
	struct rte_ether_hdr *ether;

	if (!frame)
		return;
	frame->data_len = OWN_LEN;
	frame->pkt_len = OWN_LEN;
	ether = rte_pktmbuf_mtod(frame, struct rte_ether_hdr *);
	memset(ether, 0, OWN_LEN);
	memset(&ether->dst_addr, 0xff, sizeof(ether->dst_addr));
	rte_eth_macaddr_get(port_id, &ether->src_addr);
	ether->ether_type = rte_cpu_to_be_16(OWN_TYPE);
	if (rte_eth_tx_burst(port_id, 0, &frame, 1) == 1)
		own_sent++;
	else
		rte_pktmbuf_free(frame);
}

static bool are_links_up(void)
{
	struct rte_eth_link link;

	for (uint16_t i = 0; i < nb_ports; i++)
		if (rte_eth_link_get_nowait(i, &link) != 0 ||
		    link.link_status != RTE_ETH_LINK_UP)
			return false;
	return true;
}

/* The frames that the program sends from itself, once a millisecond. */
static void originate(void)
{
	if (nb_ports == 1) {
		send_own(PORT_ID);
	} else if (own_sent == 0 && are_links_up()) {
		for (unsigned int i = 0; i < nb_ports * BURST; i++)
			send_own((uint16_t)(i / BURST));
	}
}

/* At most once a second. */
static void report(uint64_t now)
{
	static uint64_t at_ns, received;

	if (nb_ports == 1 || now - at_ns < REPORT_NS)
		return;
	if (at_ns != 0)
		printf("own forwarded %.0f frames/s\n",
		       (double)(own_received - received) * 1e9 /
			       (double)(now - at_ns));
	fflush(stdout);
	at_ns = now;
	received = own_received;
}

/* ---- the loop ------------------------------------------------------------ */

/* Receive, and sort out the own frames. Returns the number of other frames. */
static uint16_t receive(uint16_t port_id, struct rte_mbuf **frames)
{
	uint16_t n = rte_eth_rx_burst(port_id, 0, frames, BURST), others = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (is_own(frames[i]))
			own[port_id].frames[own[port_id].nb++] = frames[i];
		else
			frames[others++] = frames[i];
	}
	return others;
}

/* Receive and forward own frames. Returns the number of frames for the device;
 * *busy becomes true if there are likely to be more own frames.
 */
static uint16_t run_own(struct rte_mbuf **frames, bool lent, bool *busy)
{
	uint16_t n;

	if (nb_ports > 1) {
		n = receive(1, frames);
		rte_pktmbuf_free_bulk(frames, n);
	}
	n = lent ? 0 : receive(PORT_ID, frames);
	*busy = own[0].nb + own[1].nb >= BURST;
	finish_own();
	return n;
}

static uint64_t run_device(struct roost_loop *loop, struct rte_mbuf **frames,
			   uint16_t n)
{
	uint64_t now = now_ns();

	roost_loop_run(loop, frames, n, now);
	finish_own();
	check("CQ", echo_poll());
	return now;
}

/* While there are many own frames and none for the device, the device runs
 * after every few bursts only: its timers and requests wait for microseconds.
 */
static void serve(struct roost_loop *loop, bool lent, unsigned int count)
{
	uint64_t now = 0, own_at_ns = 0, end_ns = UINT64_MAX;
	struct rte_mbuf *frames[BURST];
	unsigned int skipped = 0;

	while (now < end_ns) {
		bool busy;
		uint16_t n = run_own(frames, lent, &busy);

		if (busy && n == 0 && skipped++ < SKIPPED_MAX)
			continue;
		skipped = 0;
		now = run_device(loop, frames, n);
		if (now >= own_at_ns) {
			originate();
			report(now);
			own_at_ns = now + OWN_EVERY_NS;
		}
		if (end_ns == UINT64_MAX &&
		    (stopped || echo_nb_ended() >= count))
			end_ns = now + LAST_WORDS_NS;
	}
}

static atomic_bool closed;

static void close_all(void *arg)
{
	(void)arg;
	for (uint16_t i = 0; i < nb_ports; i++) {
		rte_eth_dev_stop(i);
		rte_eth_dev_close(i);
	}
	atomic_store(&closed, true);
}

/* On EAL's interrupt thread, where alarms run: memif's handlers run there, so
 * that a port which is closed there is used by none.
 */
static void close_ports(void)
{
	check("alarm", rte_eal_alarm_set(1, close_all, NULL));
	while (!atomic_load(&closed))
		usleep(1000);
}

int main(int argc, char **argv)
{
	struct roost_loop_conf conf = {
		.name = "appliance0",
		.port_id = PORT_ID,
		.addrs = { .nb = 1 },
		.punt = take_punted,
	};
	struct roost_loop *loop;
	uint8_t addr[4];
	bool lent;
	int used = rte_eal_init(argc, argv);

	check("EAL", used);
	argv += used;
	if (argc - used != 6 || inet_pton(AF_INET, argv[1], addr) != 1) {
		fprintf(stderr, "usage: roost-appliance EAL-OPTIONS... -- "
				"ADDRESS PREFIX-LENGTH own|lent SERVICE "
				"CONNECTIONS\n");
		return 2;
	}
	lent = strcmp(argv[3], "lent") == 0;
	signal(SIGINT, on_signal);
	open_ports();
	conf.pool = pool;
	conf.rx_queue = lent ? 0 : ROOST_LOOP_NO_QUEUE;
	conf.addrs.v[0].gid = roost_gid_from_v4(addr);
	conf.addrs.v[0].len_bits = (uint8_t)atoi(argv[2]);
	check("device", roost_loop_create(&conf, &loop));
	check("start", echo_start(roost_loop_dev(loop), (uint16_t)atoi(argv[4]),
				  NULL, NULL));
	fprintf(stderr, "roost-appliance: listening at port %s\n", argv[4]);
	serve(loop, lent, (unsigned int)atoi(argv[5]));
	check("stop", echo_stop());
	check("device", roost_loop_destroy(loop));
	printf("own sent %" PRIu64 ", own received %" PRIu64 "\n", own_sent,
	       own_received);
	close_ports();
	/* No rte_eal_cleanup(): it unmaps memory that EAL's interrupt thread
	 * still reads (DPDK 22.11). The kernel frees all of it at exit.
	 */
	return EXIT_SUCCESS;
}
