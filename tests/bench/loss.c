/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What losses cost: WRITEs of 64 KiB without a pause over a wire of 100 Gb/s
 * that loses every so-manieth frame of data, by chance, in virtual time. The
 * time that the processor takes is not in it, only what the protocol loses;
 * one seed gives one result, on any machine.
 *
 * usage: loss [-aeR] [-d ONE_WAY_NS] [-s SEED] [-v VIRTUAL_MS] [-q QPS]
 *             [-b GBPS] [-r FRAMES] [-o LATE] [-l NUMBER] RATE
 *   -a      what comes back is lost as often: ACKs, NAKs, CNPs, reports
 *   -e      selective repeat, at both ends; else go-back-N
 *   -R      READs of the other end, instead of WRITEs
 *   -o      so many frames, a share as RATE, are late: by the time of 32 frames
 *           at most, so that others overtake them
 *   -l      WRITEs of 4 KiB, so many of each QP at a time
 *   -b, -r  a slower wire behind it, and the queue before that, which loses
 *           what it has no room for
 *   RATE    the share that is lost by chance, as 1e-3
 * Prints "loss RATE gbps G bound B lost N timeouts T early E vain V idle I":
 * payload that arrived and was acknowledged; what go-back-N can reach at best
 * with losses by chance; data frames lost; how often only a timer noticed, the
 * QP's or what answers took before; and for each lost frame, frames that were
 * sent in vain, and the time that the wire was idle, in frames. With -l also
 * "p9995 NS": so long did 99.95 of 100 WRITEs take at most.
 *
 * The bound: a lost frame costs its own time, and that of all behind it until
 * the receiver's NAK is back: N frames. It is what an ideal sender gets whose
 * window is just the round trip, so that no queue stands before the wire.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/wire/frame.h"
#include "tests/bench/ends.h"

#define GBPS 100.0
/* The port's descriptors: so many frames stand before the wire at most. */
#define RING_FRAMES 32u
#define WIRE_LEN 16384u
#define MTU_BYTES 4096u
/* Ethernet, IPv4, UDP, BTH and ICRC; preamble, gap and FCS. */
#define FRAME_BYTES (MTU_BYTES + 14 + 20 + 8 + 12 + 4 + 24)
#define WIRE_EXTRA_BYTES 24u
#define LATE_FRAMES 32u
#define TAKEN_MAX (1u << 22)
#define STEP_NS 100u

struct bench_wire {
	struct {
		struct rte_mbuf *mbuf;
		uint64_t arrival_ns;
	} frames[WIRE_LEN];
	uint32_t head, tail;
	double free_at_ns;
	double idle_ns; /* of the time since the first frame */
	bool loses;
	uint64_t nb_frames;
	uint64_t nb_lost;
};

static struct bench_wire wires[2];
static struct bench_end *from = bench_ends; /* whose requests they are */
static uint64_t now_ns = 1000000000;
static uint64_t delay_ns = 3000;
static uint64_t random_state = 1;
static double loss_rate;
static unsigned int nb_qps = 1;
static uint32_t msg_bytes = 65536;
static unsigned int nb_at_once = 16;
static double late_rate;
static uint32_t *taken_ns; /* by each WRITE; NULL: without -l */
static double queue_gbps;  /* 0: there is no queue */
static double queue_frames = 64;
static double queue_free_at_ns;

/* splitmix64 */
static double chance(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) / (double)(1ull << 53);
}

static double wire_ns(size_t len_bytes)
{
	return (double)len_bytes * 8 / GBPS;
}

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->in;
	uint16_t i = 0;

	(void)queue;
	while (i < n && wire->tail != wire->head &&
	       wire->frames[wire->tail % WIRE_LEN].arrival_ns <= now_ns)
		pkts[i++] = wire->frames[wire->tail++ % WIRE_LEN].mbuf;
	return i;
}

/* Through the queue, at its end at in_ns. Returns when the frame is behind the
 * wire, 0: there is no room for it.
 */
static double pass_queue(size_t len_bytes, double in_ns)
{
	double frame_ns = (double)len_bytes * 8 / queue_gbps;

	if (queue_free_at_ns < in_ns)
		queue_free_at_ns = in_ns;
	if (queue_free_at_ns - in_ns >= queue_frames * frame_ns)
		return 0;
	queue_free_at_ns += frame_ns;
	return queue_free_at_ns;
}

/* No chance is taken where there is none, so that a seed gives the same. */
static bool chance_of(double rate)
{
	return rate > 0 && chance() < rate;
}

/* Before those that come later. */
static void arrive(struct bench_wire *wire, struct rte_mbuf *mbuf,
		   uint64_t arrival_ns)
{
	uint32_t at = wire->head++;

	for (; at != wire->tail &&
	       wire->frames[(at - 1) % WIRE_LEN].arrival_ns > arrival_ns;
	     at--)
		wire->frames[at % WIRE_LEN] = wire->frames[(at - 1) % WIRE_LEN];
	wire->frames[at % WIRE_LEN].mbuf = mbuf;
	wire->frames[at % WIRE_LEN].arrival_ns = arrival_ns;
}

static void put(struct bench_wire *wire, struct rte_mbuf *mbuf)
{
	double now = (double)now_ns, out_ns;

	if (wire->free_at_ns < now) {
		if (wire->nb_frames > 0)
			wire->idle_ns += now - wire->free_at_ns;
		wire->free_at_ns = now;
	}
	wire->nb_frames++;
	wire->free_at_ns += wire_ns(mbuf->pkt_len + WIRE_EXTRA_BYTES);
	out_ns = wire->free_at_ns;
	if (wire == &wires[0] && queue_gbps != 0)
		out_ns = pass_queue(mbuf->pkt_len + WIRE_EXTRA_BYTES, out_ns);
	if (out_ns == 0 || (wire->loses && chance_of(loss_rate))) {
		wire->nb_lost++;
		rte_pktmbuf_free(mbuf);
		return;
	}
	if (wire == &wires[0] && chance_of(late_rate))
		out_ns += chance() * LATE_FRAMES * wire_ns(FRAME_BYTES);
	arrive(wire, mbuf, (uint64_t)out_ns + delay_ns);
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->out;
	double full = (double)now_ns + RING_FRAMES * wire_ns(FRAME_BYTES);
	uint16_t i = 0;

	(void)queue;
	while (i < n && wire->free_at_ns < full &&
	       wire->head - wire->tail < WIRE_LEN)
		put(wire, pkts[i++]);
	return i;
}

static const struct bench_bursts bursts = { rx_burst, tx_burst };

/* One WRITE, at the next QP that has room for it. Returns false: none has. */
static bool post(void)
{
	static unsigned int next;

	for (unsigned int i = 0; i < nb_qps; i++)
		if (bench_post(from, next++ % nb_qps,
			       from == bench_ends ? ROOST_WR_WRITE
						  : ROOST_WR_READ,
			       &bench_ends[from == bench_ends], msg_bytes) == 0)
			return true;
	return false;
}

/* WRITEs of one QP are done in the order in which they were posted. */
static void note_posted(uint64_t nb)
{
	if (taken_ns && nb < TAKEN_MAX)
		taken_ns[nb] = (uint32_t)(now_ns - 1000000000);
}

static void note_done(uint64_t nb)
{
	if (taken_ns && nb < TAKEN_MAX)
		taken_ns[nb] = (uint32_t)(now_ns - 1000000000) - taken_ns[nb];
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print_taken(void)
{
	size_t nb = RTE_MIN(from->nb_done, TAKEN_MAX);

	if (!taken_ns || nb == 0)
		return;
	qsort(taken_ns, nb, sizeof(taken_ns[0]), compare);
	printf(" p9995 %u", taken_ns[nb * 9995 / 10000]);
}

/* Payload a second, in Gb/s. */
static double run(uint64_t for_ns)
{
	uint64_t begin_ns = now_ns, nb_posted = 0, nb_seen = 0;

	while (now_ns - begin_ns < for_ns) {
		while (nb_posted - from->nb_done < nb_at_once * nb_qps &&
		       post())
			note_posted(nb_posted++);
		bench_end_turn(&bench_ends[0], now_ns);
		for (; nb_seen < from->nb_done; nb_seen++)
			note_done(nb_seen);
		bench_end_turn(&bench_ends[1], now_ns);
		now_ns += STEP_NS;
	}
	return (double)from->nb_done * msg_bytes * 8 / (double)for_ns;
}

static double bound(void)
{
	double best = GBPS * MTU_BYTES / FRAME_BYTES;
	/* The lost frame, and those sent until the NAK is back: the next one
	 * has to arrive for the gap to be seen.
	 */
	double behind = 2 + 2 * (double)delay_ns / wire_ns(FRAME_BYTES);

	return best * (1 - loss_rate) / (1 - loss_rate + loss_rate * behind);
}

/* Frames that were lost, or came and were of no use, for each loss. */
static double vain(void)
{
	uint64_t nb_used = from->nb_done * (msg_bytes / MTU_BYTES);

	return (double)(wires[0].nb_frames - nb_used) /
	       (double)wires[0].nb_lost;
}

static void begin_taking(unsigned int nb)
{
	nb_at_once = nb;
	msg_bytes = MTU_BYTES;
	taken_ns = calloc(TAKEN_MAX, sizeof(taken_ns[0]));
	if (!taken_ns)
		exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	struct roost_dev_counters counters;
	uint64_t for_ns = 200000000;
	int option;
	double gbps;

	while ((option = getopt(argc, argv, "ab:d:el:o:q:r:Rs:v:")) != -1) {
		if (option == 'e')
			bench_selective = true;
		else if (option == 'a')
			wires[1].loses = true;
		else if (option == 'R')
			from = &bench_ends[1];
		else if (option == 'l')
			begin_taking((unsigned int)strtoul(optarg, NULL, 0));
		else if (option == 'o')
			late_rate = strtod(optarg, NULL);
		else if (option == 'd')
			delay_ns = strtoull(optarg, NULL, 0);
		else if (option == 'b')
			queue_gbps = strtod(optarg, NULL);
		else if (option == 'r')
			queue_frames = strtod(optarg, NULL);
		else if (option == 'q')
			nb_qps = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 's')
			random_state = strtoull(optarg, NULL, 0);
		else if (option == 'v')
			for_ns = 1000000 * strtoull(optarg, NULL, 0);
		else
			return EXIT_FAILURE;
	}
	if (optind + 1 != argc || for_ns == 0 || (taken_ns && nb_qps != 1)) {
		fprintf(stderr, "usage: loss [-aeR] [-d ONE_WAY_NS] [-s SEED] "
				"[-v VIRTUAL_MS] [-q QPS] [-b GBPS] "
				"[-r FRAMES] [-o LATE] [-l NUMBER] RATE\n"
				"-l is for one QP\n");
		return EXIT_FAILURE;
	}
	loss_rate = strtod(argv[optind], NULL);
	bench_ends_open(&bursts,
			(struct bench_wire *[]){ &wires[0], &wires[1] },
			nb_qps);
	wires[0].loses = true;
	gbps = run(for_ns);
	roost_dev_counters(from->dev, &counters);
	printf("loss %s gbps %.2f bound %.2f lost %llu timeouts %llu "
	       "early %llu vain %.1f idle %.1f",
	       argv[optind], gbps, bound(),
	       (unsigned long long)wires[0].nb_lost,
	       (unsigned long long)counters.timeouts,
	       (unsigned long long)counters.adaptive_retransmits, vain(),
	       wires[0].idle_ns / wire_ns(FRAME_BYTES) /
		       (double)wires[0].nb_lost);
	print_taken();
	printf("\n");
	return EXIT_SUCCESS;
}
