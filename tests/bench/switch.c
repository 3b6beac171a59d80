/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a frame costs the daemon without its copy: check and way of a frame of a
 * client, parse and way of a frame from the port, and a turn in the queues to
 * the port. 64 clients with 64 QPs each, in random order.
 *
 * usage: bench_switch [RUNS]
 * Prints "switch CASE ns NANOSECONDS cycles TSC-CYCLES" per case, the least of
 * RUNS (20): per frame.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/roostd/switch/check.h"
#include "apps/roostd/switch/fair.h"
#include "apps/roostd/switch/steer.h"

#define NB_CLIENTS 64u
#define NB_FRAMES 4096u
#define PAYLOAD 1024u

static const struct roost_gid ours = {
	.b = { [10] = 0xff, 0xff, 198, 18, 0, 1 }
};
static const struct roost_gid peer = {
	.b = { [10] = 0xff, 0xff, 198, 18, 7, 2 }
};

struct item {
	uint8_t head[ROOST_SW_HEAD_MAX];
	struct roost_sw_frame frame;
	uint16_t client;
};

static struct roost_lease_state disk;
static struct roost_lease *lease;
static struct roost_sw_port port = {
	.mac = { 2, 0, 0, 0, 0, 1 },
	.max_frame_bytes = 4300,
	.nb_pkeys = 1,
	.pkeys = { 0xffff },
};
static struct roost_seen_table seen;
static struct roost_fair fair;
static uint16_t clients[NB_CLIENTS];
static uint32_t blocks[NB_CLIENTS];
static struct item items[NB_FRAMES];
static struct roost_sw_mad room;

static void must(int ret)
{
	if (ret == 0)
		return;
	fprintf(stderr, "bench_switch: %s\n", strerror(-ret));
	exit(EXIT_FAILURE);
}

static void set_up(void)
{
	const struct roost_lease_conf lease_conf = { .quarantine_ns = 1 };
	const struct roost_client_conf conf = {
		.max_qps = ROOST_LEASE_BLOCK_LEN,
		.max_prefixes = 1,
		.weight = 1,
	};

	disk.qpn_seed[0] = 1;
	must(roost_lease_create(&lease_conf, &disk, 0, &lease));
	must(roost_lease_addr_add(lease, &ours));
	roost_seen_init(&seen, lease, 1);
	must(roost_fair_init(&fair, NB_CLIENTS));
	for (unsigned int i = 0; i < NB_CLIENTS; i++) {
		must(roost_lease_client_add(lease, &conf, 0, &clients[i]));
		must(roost_lease_block(lease, clients[i], 0, &blocks[i]));
		must(roost_fair_add(&fair, clients[i], 1, 0, 0));
	}
}

static uint32_t random_qpn(unsigned int client)
{
	return roost_idmap_permute(&lease->qpns,
				   blocks[client] << ROOST_LEASE_BLOCK_SHIFT |
					   (uint32_t)rand() %
						   ROOST_LEASE_BLOCK_LEN);
}

/* out: from a client; ud: a datagram; local: to another client. */
static void fill(bool out, bool ud, bool local)
{
	const struct roost_flow flow = {
		.src_mac = { 2, 0, 0, 0, 0, out ? 1 : 2 },
		.dst_mac = { 2, 0, 0, 0, 0, out ? 2 : 1 },
		.sgid = out ? ours : peer,
		.dgid = out && !local ? peer : ours,
		.hop_limit = 64,
	};
	const size_t ext = ud ? ROOST_DETH_LEN : 0;
	struct roost_hdr_template t;

	srand(1);
	roost_hdr_template_init(&t, &flow);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		const unsigned int from = (unsigned int)rand() % NB_CLIENTS;
		const unsigned int to = (unsigned int)rand() % NB_CLIENTS;
		const struct roost_bth bth = {
			.opcode = ud ? ROOST_OPCODE_UD_SEND_ONLY
				     : ROOST_OPCODE_RC_SEND_MIDDLE,
			.pkey = 0xffff,
			.dest_qpn = out && !local ? 0x1234 : random_qpn(to),
		};
		struct item *item = &items[i];
		size_t len =
			roost_hdr_emit(&t, item->head, &bth, ext + PAYLOAD);

		if (ud)
			roost_deth_put(item->head + len, 1, random_qpn(from));
		item->client = clients[from];
		item->frame = (struct roost_sw_frame){
			.head = item->head,
			.head_len_bytes = sizeof(item->head),
			.len_bytes = (uint32_t)(len + ext + PAYLOAD +
						ROOST_ICRC_LEN),
		};
	}
}

static void run_out(void)
{
	struct roost_sw_pkt pkt;
	struct roost_steer way;

	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		must(-(int)roost_check(lease, &port, items[i].client,
				       &items[i].frame, &room, &pkt));
		roost_steer_from_client(lease, &seen, &pkt, &way);
		must(way.to == ROOST_STEER_DROP);
	}
}

static void run_in(void)
{
	struct roost_sw_pkt pkt;
	struct roost_steer way;

	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		enum roost_sw_drop parsed =
			roost_sw_parse(&items[i].frame, &room, &pkt);

		roost_steer_from_port(lease, &port, &seen, &pkt, parsed, &way);
		must(way.to != ROOST_STEER_CLIENT);
	}
}

static void run_fair(void)
{
	uint32_t client, len;

	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		roost_fair_push(&fair, items[i].client, &items[i],
				items[i].frame.len_bytes);
		if (i % 32 < 31)
			continue;
		for (unsigned int j = 0; j < 32; j++) {
			must(!roost_fair_head(&fair, 0, &client, &len));
			roost_fair_pop(&fair);
		}
	}
}

static uint64_t cycles(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void measure(const char *name, unsigned int runs, void (*run)(void))
{
	uint64_t best_ns = UINT64_MAX, best = UINT64_MAX;

	for (unsigned int i = 0; i < runs; i++) {
		const uint64_t at_ns = now_ns(), at = cycles();

		run();
		if (cycles() - at < best)
			best = cycles() - at;
		if (now_ns() - at_ns < best_ns)
			best_ns = now_ns() - at_ns;
	}
	printf("switch %s ns %.1f cycles %.0f\n", name,
	       (double)best_ns / NB_FRAMES, (double)best / NB_FRAMES);
}

int main(int argc, char **argv)
{
	const unsigned int runs =
		argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 20;

	set_up();
	fill(true, false, false);
	measure("out-rc", runs, run_out);
	fill(true, true, false);
	measure("out-ud", runs, run_out);
	fill(true, false, true);
	measure("local-rc", runs, run_out);
	fill(false, false, false);
	measure("in-rc", runs, run_in);
	measure("fair", runs, run_fair);
	return EXIT_SUCCESS;
}
