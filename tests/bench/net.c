/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Many flows into one wire: senders, each with a wire of its own to a switch,
 * and one receiver behind the switch's queue, in virtual time. The time that
 * the processor takes is not in it; the same options give the same result.
 *
 * usage: net [-eRu] [-n SENDERS] [-q QPS] [-a GBPS] [-b GBPS] [-r FRAMES]
 *            [-m FRAMES] [-d ONE_WAY_NS] [-v VIRTUAL_MS] [-i BYTES]
 *            [-t STEP_US] [-l GBPS]
 *   -e      selective repeat, at both ends; else go-back-N
 *   -R      the receiver READs what the senders would write
 *   -u      QPs of UC: payload is what was sent, lost or not
 *   -q      QPs of each sender
 *   -a, -b  the senders' wires; the receiver's
 *   -r      the queue, in frames; what it has no room for is lost
 *   -m      what comes to a queue that is so long is marked (ECN)
 *   -i      incast: each QP writes so much, once, and all begin together; else
 *           WRITEs of 64 KiB without a pause, 16 of each QP at a time
 *   -l      QPs have a rate limit, and all together this
 *   -t      a line for each so many us, "at MS FRAMES GBPS...": the longest
 *           queue in that time, and the payload of each sender. The last sender
 *           begins after a third of the time, and posts nothing in the last
 *           third
 * Prints "net share S failed F lost L queue Q jain J", or for incast "net ratio
 * R ...": payload that was acknowledged by what the receiver's wire carries;
 * the time by what that wire needs for it; requests that failed, but for those
 * that were flushed; the part of the frames that the queue lost; its length, in
 * frames, that 99 of 100 frames met at most; Jain's index among QPs, of the
 * payload of each, or of the rate that each had until it was done.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/qp_priv.h"
#include "tests/bench/ends.h"

#define WIRE_LEN 4096u
/* The port's descriptors: so many frames stand before a wire at most. */
#define RING_FRAMES 32u
#define MSG_BYTES 65536u
#define MTU_BYTES 4096u
/* Ethernet, IPv4, UDP, BTH and ICRC; preamble, gap and FCS. */
#define FRAME_BYTES (MTU_BYTES + 14 + 20 + 8 + 12 + 4 + 24)
#define WIRE_EXTRA_BYTES 24u
/* Of IPv4, in a frame. */
#define TOS_BYTE (14 + 1)
#define SUM_BYTE (14 + 10)
#define DST_LAST_BYTE (14 + 19)
#define OUTSTANDING 16u
#define STEP_NS 100u

/* Frames in the order in which they come to its end. */
struct bench_wire {
	struct {
		struct rte_mbuf *mbuf;
		double out_ns;
	} frames[WIRE_LEN];
	uint32_t head, tail;
	double free_at_ns;
};

static struct bench_wire up[BENCH_SENDERS_MAX];       /* to the switch */
static struct bench_wire down[BENCH_SENDERS_MAX + 1]; /* by bench_ends */
static uint64_t now_ns = 1000000000;
static uint64_t delay_ns = 3000;
static double sender_gbps = 100, receiver_gbps = 40, limit_gbps;
static unsigned int nb_senders = 1, nb_qps = 16, queue_frames = 1024;
static uint32_t msg_bytes = MSG_BYTES;
static bool incast, reads;
static uint32_t left; /* of the receiver's wire: the first in the queue */
static uint32_t mark_at = WIRE_LEN;
static uint64_t nb_lost, nb_failed, nb_done;
static uint64_t series_ns;             /* -t; 0: without */
static uint32_t longest;               /* queue, in this step of it */
static uint64_t nb_met[WIRE_LEN];      /* frames, by the queue that they met */
static double progress[BENCH_QPS_MAX]; /* by QP of the receiver; see jain() */

/* At the end of the wire's frames, behind those. */
static void append(struct bench_wire *wire, struct rte_mbuf *mbuf, double gbps)
{
	double len = mbuf->pkt_len + WIRE_EXTRA_BYTES;

	if (wire->free_at_ns < (double)now_ns)
		wire->free_at_ns = (double)now_ns;
	wire->free_at_ns += len * 8 / gbps;
	wire->frames[wire->head % WIRE_LEN].mbuf = mbuf;
	wire->frames[wire->head++ % WIRE_LEN].out_ns = wire->free_at_ns;
}

static bool has_come(const struct bench_wire *wire, uint64_t after_ns)
{
	return wire->tail != wire->head &&
	       wire->frames[wire->tail % WIRE_LEN].out_ns + (double)after_ns <=
		       (double)now_ns;
}

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->in;
	uint16_t i = 0;

	(void)queue;
	while (i < n && has_come(wire, delay_ns))
		pkts[i++] = wire->frames[wire->tail++ % WIRE_LEN].mbuf;
	return i;
}

/* What the receiver sends finds no queue: it is little. */
static void answer(struct rte_mbuf *mbuf)
{
	unsigned int to =
		*rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, DST_LAST_BYTE) -
		1u;

	if (down[to].head - down[to].tail == WIRE_LEN) {
		fprintf(stderr, "bench: too many answers\n");
		exit(EXIT_FAILURE);
	}
	append(&down[to], mbuf, receiver_gbps);
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	const struct bench_end *end = ctx;
	struct bench_wire *wire = end->out;
	uint16_t i = 0;

	(void)queue;
	if (end == &bench_ends[1])
		for (; i < n; i++)
			answer(pkts[i]);
	while (i < n && wire->head - wire->tail < RING_FRAMES)
		append(wire, pkts[i++], sender_gbps);
	return i;
}

static const struct bench_bursts bursts = { rx_burst, tx_burst };

/* CE; a checksum of one's complement is one less where the sum is one more. */
static void mark(struct rte_mbuf *mbuf)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	uint32_t sum = (uint32_t)frame[SUM_BYTE] << 8 | frame[SUM_BYTE + 1];

	if ((frame[TOS_BYTE] & ROOST_ECN_MASK) != ROOST_ECN_ECT0)
		return;
	frame[TOS_BYTE] |= ROOST_ECN_CE;
	sum = sum == 0 ? 0xfffe : sum - 1;
	frame[SUM_BYTE] = (uint8_t)(sum >> 8);
	frame[SUM_BYTE + 1] = (uint8_t)sum;
}

static void pass_one(struct bench_wire *from)
{
	struct bench_wire *wire = &down[1];
	struct rte_mbuf *mbuf = from->frames[from->tail++ % WIRE_LEN].mbuf;

	while (left != wire->head &&
	       wire->frames[left % WIRE_LEN].out_ns <= (double)now_ns)
		left++;
	nb_met[wire->head - left]++;
	longest = RTE_MAX(longest, wire->head - left);
	if (wire->head - left >= queue_frames) {
		nb_lost++;
		rte_pktmbuf_free(mbuf);
		return;
	}
	if (wire->head - left >= mark_at)
		mark(mbuf);
	append(wire, mbuf, receiver_gbps);
}

/* Another sender is the first in each step. */
static void run_switch(void)
{
	unsigned int first = (unsigned int)(now_ns / STEP_NS % nb_senders);

	for (unsigned int i = 0; i < nb_senders; i++) {
		struct bench_wire *from = &up[(first + i) % nb_senders];

		while (has_come(from, 0))
			pass_one(from);
	}
}

static void post(unsigned int sender, unsigned int i)
{
	struct bench_end *end = bench_sender(sender);
	int rc = reads ? bench_post(&bench_ends[1], sender * nb_qps + i,
				    ROOST_WR_READ, end, msg_bytes)
		       : bench_write(end, i, msg_bytes);

	bench_must(rc, "post");
}

/* The requester of a QP of a sender. */
static const struct roost_requester *requester(unsigned int sender,
					       unsigned int i)
{
	return reads ? &bench_ends[1].qps[sender * nb_qps + i]->req
		     : &bench_sender(sender)->qps[i]->req;
}

/* A QP that has failed sends no more, nor one that is to leave. */
static void take(unsigned int sender, unsigned int i,
		 const struct roost_cqe *cqe, uint64_t begin_ns, bool leaves)
{

	if (cqe->status != ROOST_WC_SUCCESS) {
		nb_failed += cqe->status != ROOST_WC_WR_FLUSH_ERR;
		return;
	}
	nb_done++;
	if (incast)
		progress[sender * nb_qps + i] = 1 / (double)(now_ns - begin_ns);
	else if (!leaves)
		post(sender, i);
}

/* Completions of a sender, or of all READs. last_leaves: the last sender. */
static void poll(struct bench_end *end, unsigned int sender, uint64_t begin_ns,
		 bool last_leaves)
{
	struct roost_cqe cqes[64];
	int n;

	while ((n = roost_cq_poll(end->cqs[0], 64, cqes)) > 0)
		for (int k = 0; k < n; k++) {
			unsigned int i = (unsigned int)cqes[k].wr_id;

			if (reads)
				sender = i / nb_qps;
			take(sender, i % nb_qps, &cqes[k], begin_ns,
			     last_leaves && sender == nb_senders - 1);
		}
}

/* All begin to send at once. */
static void limit_all(void)
{
	const struct roost_qp_attr attr = {
		.rate_limit_kbps =
			(uint32_t)(limit_gbps * 1e6 / (nb_senders * nb_qps)),
	};

	for (unsigned int s = 0; s < nb_senders; s++)
		for (unsigned int i = 0; i < nb_qps; i++)
			bench_must(roost_qp_modify(bench_sender(s)->qps[i],
						   &attr, ROOST_QP_RATE_LIMIT),
				   "rate limit");
}

static void post_all(unsigned int sender)
{
	for (unsigned int i = 0; i < nb_qps; i++)
		for (unsigned int k = 0; k < (incast ? 1 : OUTSTANDING); k++)
			post(sender, i);
}

/* Packets of a sender that were acknowledged. The PSNs began at 0; half of
 * their circle is 8 million.
 */
static double count_sender(unsigned int sender)
{
	double sum = 0;

	for (unsigned int i = 0; i < nb_qps; i++) {
		double *mine = &progress[sender * nb_qps + i];

		*mine = roost_psn_diff(requester(sender, i)->oldest_unacked_psn,
				       roost_psn(0));
		sum += *mine;
	}
	return sum;
}

/* A line, once in series_ns. */
static void show(uint64_t since_ns)
{
	static double before[BENCH_SENDERS_MAX];

	if (series_ns == 0 || since_ns % series_ns != 0)
		return;
	printf("at %.3f %u", (double)since_ns / 1e6, longest);
	longest = 0;
	for (unsigned int s = 0; s < nb_senders; s++) {
		double pkts = count_sender(s);

		printf(" %.2f",
		       (pkts - before[s]) * MTU_BYTES * 8 / (double)series_ns);
		before[s] = pkts;
	}
	printf("\n");
}

/* Returns the time that it took. */
static double run(uint64_t for_ns)
{
	uint64_t begin_ns = now_ns, wanted = (uint64_t)nb_senders * nb_qps;

	uint64_t third_ns = series_ns == 0 ? 0 : for_ns / 3 / STEP_NS * STEP_NS;
	unsigned int last = nb_senders - 1;

	for (unsigned int s = 0; s < nb_senders; s++)
		if (s != last || third_ns == 0)
			post_all(s);
	while (incast ? nb_done + nb_failed < wanted
		      : now_ns - begin_ns < for_ns) {
		bool leaves =
			third_ns != 0 && now_ns - begin_ns >= 2 * third_ns;

		for (unsigned int s = 0; s < nb_senders; s++) {
			bench_iterate(bench_sender(s), now_ns);
			poll(bench_sender(s), s, begin_ns, leaves);
		}
		run_switch();
		bench_iterate(&bench_ends[1], now_ns);
		poll(&bench_ends[1], 0, begin_ns, leaves);
		now_ns += STEP_NS;
		if (third_ns != 0 && now_ns - begin_ns == third_ns)
			post_all(last);
		show(now_ns - begin_ns);
	}
	return (double)(now_ns - begin_ns);
}

/* A long WRITE that is not done counts by its packets that are. */
static double count_pkts(void)
{
	double sum = 0;

	for (unsigned int s = 0; s < nb_senders; s++)
		sum += count_sender(s);
	return sum;
}

static double jain(void)
{
	unsigned int n = nb_senders * nb_qps;
	double sum = 0, squares = 0;

	for (unsigned int i = 0; i < n; i++) {
		sum += progress[i];
		squares += progress[i] * progress[i];
	}
	return squares == 0 ? 0 : sum * sum / (n * squares);
}

/* The queue that 99 of 100 frames met at most; *part_lost: of all. */
static unsigned int queue_99(double *part_lost)
{
	uint64_t nb_all = 0, nb = 0;
	unsigned int len = 0;

	for (unsigned int i = 0; i < WIRE_LEN; i++)
		nb_all += nb_met[i];
	*part_lost = (double)nb_lost / (double)nb_all;
	for (; len < WIRE_LEN - 1; len++)
		if ((nb += nb_met[len]) * 100 >= nb_all * 99)
			break;
	return len;
}

static int usage(void)
{
	fprintf(stderr, "usage: net [-eRu] [-n SENDERS] [-q QPS] [-a GBPS] "
			"[-b GBPS] [-r FRAMES] [-m FRAMES] [-d ONE_WAY_NS] "
			"[-v VIRTUAL_MS] [-i BYTES] [-t STEP_US] [-l GBPS]\n");
	return EXIT_FAILURE;
}

static void take_wires(void)
{
	bench_ends[1].in = &down[1];
	for (unsigned int s = 0; s < nb_senders; s++) {
		struct bench_end *end = bench_sender(s);

		end->out = &up[s];
		end->in = &down[end - bench_ends];
	}
}

static void report(double took_ns)
{
	double payload_gbps = receiver_gbps * MTU_BYTES / FRAME_BYTES;
	double bytes =
		incast ? (double)nb_done * msg_bytes : count_pkts() * MTU_BYTES;
	double ideal_ns = bytes * 8 / payload_gbps, part_lost;
	unsigned int queue = queue_99(&part_lost);

	printf("net %s %.3f failed %llu lost %.6f queue %u jain %.3f\n",
	       incast ? "ratio" : "share",
	       incast ? took_ns / ideal_ns : ideal_ns / took_ns,
	       (unsigned long long)nb_failed, part_lost, queue, jain());
}

int main(int argc, char **argv)
{
	uint64_t for_ns = 200000000;
	int option;

	while ((option = getopt(argc, argv, "a:b:d:ei:l:m:n:q:r:Rt:uv:")) !=
	       -1) {
		if (option == 'a')
			sender_gbps = strtod(optarg, NULL);
		else if (option == 'b')
			receiver_gbps = strtod(optarg, NULL);
		else if (option == 'd')
			delay_ns = strtoull(optarg, NULL, 0);
		else if (option == 'e')
			bench_selective = true;
		else if (option == 'R')
			reads = true;
		else if (option == 'i')
			msg_bytes = (uint32_t)strtoul(optarg, NULL, 0);
		else if (option == 'l')
			limit_gbps = strtod(optarg, NULL);
		else if (option == 'm')
			mark_at = (uint32_t)strtoul(optarg, NULL, 0);
		else if (option == 'n')
			nb_senders = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'q')
			nb_qps = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'r')
			queue_frames = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 't')
			series_ns = 1000 * strtoull(optarg, NULL, 0);
		else if (option == 'u')
			bench_uc = true;
		else if (option == 'v')
			for_ns = 1000000 * strtoull(optarg, NULL, 0);
		else
			return usage();
		incast |= option == 'i';
	}
	/* The wire to the receiver holds the queue and what is behind it. */
	if (optind != argc || for_ns == 0 || sender_gbps <= 0 ||
	    receiver_gbps <= 0 || queue_frames > WIRE_LEN / 2 ||
	    msg_bytes < 1 || msg_bytes > BENCH_BUF_BYTES)
		return usage();
	bench_ect = mark_at < WIRE_LEN;
	bench_star_open(&bursts, nb_senders, nb_qps);
	take_wires();
	if (limit_gbps > 0)
		limit_all();
	report(run(for_ns));
	return EXIT_SUCCESS;
}
