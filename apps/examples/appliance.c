/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roost-appliance: a DPDK program with its own EAL, port and loop. An RDMA
 * device runs in this loop, beside the program's own traffic. The device
 * answers each SEND with the same bytes. The own traffic is one frame sent per
 * millisecond, and all received frames with the same Ethernet type.
 *
 * usage: roost-appliance EAL-OPTIONS... -- ADDRESS PREFIX-LENGTH
 *                        own|lent SERVICE CONNECTIONS
 *
 * own:  the program receives, keeps its own frames and hands over the others;
 * lent: it leaves receive queue 0 to the device, and gets its own frames back
 *       by punt().
 */

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <roost/loop.h>

#include "echo_server.h"

#define PORT_ID 0u
#define BURST 32u
#define OWN_TYPE 0x88b5u /* IEEE 802: local experimental */
#define OWN_LEN 60u
#define OWN_EVERY_NS 1000000u
#define LAST_WORDS_NS 100000000u /* the device's answers to the last peer */

static struct rte_mempool *pool;
static uint64_t own_sent, own_received;

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

static void open_port(void)
{
	const struct rte_eth_conf conf = { 0 };

	pool = rte_pktmbuf_pool_create("appliance", 8191, 256, 0,
				       RTE_PKTMBUF_HEADROOM + 4352, 0);
	check("pool", pool ? 0 : -rte_errno);
	check("configure", rte_eth_dev_configure(PORT_ID, 1, 1, &conf));
	check("receive queue",
	      rte_eth_rx_queue_setup(PORT_ID, 0, 512, 0, NULL, pool));
	check("transmit queue",
	      rte_eth_tx_queue_setup(PORT_ID, 0, 512, 0, NULL));
	check("start", rte_eth_dev_start(PORT_ID));
}

/* ---- own traffic --------------------------------------------------------- */

static bool is_own(const struct rte_mbuf *frame)
{
	const struct rte_ether_hdr *ether =
		rte_pktmbuf_mtod(frame, const struct rte_ether_hdr *);

	return rte_pktmbuf_data_len(frame) >= sizeof(*ether) &&
	       ether->ether_type == rte_cpu_to_be_16(OWN_TYPE);
}

static void take_own(void *arg, struct rte_mbuf *frame)
{
	(void)arg;
	own_received += is_own(frame);
	rte_pktmbuf_free(frame);
}

static void send_own(void)
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
	rte_eth_macaddr_get(PORT_ID, &ether->src_addr);
	ether->ether_type = rte_cpu_to_be_16(OWN_TYPE);
	if (rte_eth_tx_burst(PORT_ID, 0, &frame, 1) == 1)
		own_sent++;
	else
		rte_pktmbuf_free(frame);
}

/* ---- the loop ------------------------------------------------------------ */

/* Receive, and handle the own frames. Returns the number of frames for the
 * device.
 */
static uint16_t receive(struct rte_mbuf **frames)
{
	uint16_t n = rte_eth_rx_burst(PORT_ID, 0, frames, BURST), others = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (is_own(frames[i]))
			take_own(NULL, frames[i]);
		else
			frames[others++] = frames[i];
	}
	return others;
}

static void serve(struct roost_loop *loop, bool lent, unsigned int count)
{
	struct rte_mbuf *frames[BURST];
	uint64_t now, own_at_ns = 0, end_ns = UINT64_MAX;

	do {
		now = now_ns();
		roost_loop_run(loop, frames, lent ? 0 : receive(frames), now);
		check("CQ", echo_poll());
		if (now >= own_at_ns) {
			send_own();
			own_at_ns = now + OWN_EVERY_NS;
		}
		if (end_ns == UINT64_MAX && echo_nb_ended() >= count)
			end_ns = now + LAST_WORDS_NS;
	} while (now < end_ns);
}

int main(int argc, char **argv)
{
	struct roost_loop_conf conf = {
		.name = "appliance0",
		.port_id = PORT_ID,
		.addrs = { .nb = 1 },
		.punt = take_own,
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
	open_port();
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
	rte_eth_dev_stop(PORT_ID);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}
