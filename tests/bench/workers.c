/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The engine alone with several workers: two devices of N workers each, and N
 * threads, each on its own processor. Thread i turns worker i of both devices,
 * and queue i of the one ends at queue i of the other. So threads share what
 * the workers of a device share, and nothing else, unless -x joins QPs of
 * different workers: then steering hands their frames over, as behind a NIC
 * that spreads flows over its queues by a hash.
 *
 * usage: workers [-x] [-b BYTES] [-t SECONDS] -c CPU,CPU...
 * One worker for each CPU. Prints "workers pps N handed PART": messages a
 * second of CPU time, the sum over the threads, and the part of the frames that
 * were handed over. What other programs do on the processors is not in it.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "tests/bench/ends.h"

#define WIRE_LEN 1024u
#define QPS_PER_WORKER 16u
#define BATCH 32u
#define POLL_ENTRIES 32
#define STRIDE_BYTES 4096u /* of what QPs write: no two share a cache line */
#define INLINE_BYTES 64u
#define WARM_US 100000u

/* One direction of one queue. Both ends belong to one thread. */
struct bench_wire {
	struct rte_mbuf *frames[WIRE_LEN];
	uint32_t head, tail;
} __attribute__((aligned(128)));

struct bench_thread {
	pthread_t thread;
	unsigned int worker;
	int cpu;
	double pps;
} __attribute__((aligned(128)));

static struct bench_wire wires[2][ROOST_DEV_WORKERS_MAX];
static struct bench_thread threads[ROOST_DEV_WORKERS_MAX];
static uint32_t msg_bytes = 16;
/* Thread of main() writes it: 0 to warm up, 1 to measure, 2 to stop. */
static atomic_int phase;

/* ---- the port --------------------------------------------------------- */

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = &((struct bench_end *)ctx)->in[queue];
	uint16_t i = 0;

	while (i < n && wire->tail != wire->head)
		pkts[i++] = wire->frames[wire->tail++ % WIRE_LEN];
	return i;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = &((struct bench_end *)ctx)->out[queue];
	uint16_t i = 0;

	while (i < n && wire->head - wire->tail < WIRE_LEN)
		wire->frames[wire->head++ % WIRE_LEN] = pkts[i++];
	return i;
}

static const struct bench_bursts bursts = { rx_burst, tx_burst };

/* ---- messages --------------------------------------------------------- */

/* One completion, of the last. */
static void post_batch(unsigned int i)
{
	struct bench_end *end = &bench_ends[0], *to = &bench_ends[1];
	const uint64_t at = (uint64_t)i * STRIDE_BYTES;
	const struct roost_sge sge = { (uintptr_t)end->buf + at, msg_bytes,
				       roost_mr_lkey(end->mr) };
	struct roost_send_wr wr = {
		.sges = &sge,
		.wr_id = i,
		.nb_sges = 1,
		.opcode = ROOST_WR_WRITE,
		.flags = msg_bytes <= INLINE_BYTES ? ROOST_SEND_INLINE : 0,
		.remote_addr = (uintptr_t)to->buf + at,
		.rkey = roost_mr_rkey(to->mr),
	};

	roost_qp_send_begin(end->qps[i]);
	for (unsigned int k = 1; k <= BATCH; k++) {
		if (k == BATCH)
			wr.flags |= ROOST_SEND_SIGNALED;
		bench_must(roost_qp_send_add(end->qps[i], &wr), "send");
	}
	roost_qp_send_end(end->qps[i]);
}

static void turn(struct bench_end *end, unsigned int worker, uint64_t now_ns)
{
	struct roost_worker *w = roost_dev_worker_at(end->dev, worker);

	if (!roost_worker_turn_try(w))
		exit(EXIT_FAILURE);
	roost_worker_iterate(w, now_ns);
	roost_worker_turn_release(w);
}

/* Turns of worker w of both ends for a phase. A QP whose batch is done has
 * another one. Returns how many are done.
 */
static unsigned long run(unsigned int w, uint64_t *now_ns, int during)
{
	struct roost_cqe cqes[POLL_ENTRIES];
	unsigned long done = 0;

	while (atomic_load_explicit(&phase, memory_order_relaxed) == during) {
		int n;

		turn(&bench_ends[0], w, *now_ns += 100);
		turn(&bench_ends[1], w, *now_ns += 100);
		n = roost_cq_poll(bench_ends[0].cqs[w], POLL_ENTRIES, cqes);
		for (int i = 0; i < n; i++) {
			bench_must(-(int)cqes[i].status, "completion");
			post_batch((unsigned int)cqes[i].wr_id);
		}
		done += (unsigned long)n;
	}
	return done;
}

static double used_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pin(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	bench_must(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus),
		   "affinity");
}

static void *thread_main(void *arg)
{
	struct bench_thread *self = arg;
	uint64_t now_ns = 1000000000;
	unsigned long done;
	double start_s;

	/* As workers' threads do: mempools have caches for lcores. */
	if (rte_thread_register() != 0)
		exit(EXIT_FAILURE);
	pin(self->cpu);
	for (unsigned int k = 0; k < QPS_PER_WORKER; k++)
		post_batch(k * bench_nb_workers + self->worker);
	run(self->worker, &now_ns, 0);
	start_s = used_s();
	done = run(self->worker, &now_ns, 1);
	self->pps = (double)done * BATCH / (used_s() - start_s);
	return NULL;
}

/* ---- program ---------------------------------------------------------- */

static unsigned int parse_cpus(char *list)
{
	unsigned int n = 0;

	for (char *cpu = strtok(list, ","); cpu; cpu = strtok(NULL, ",")) {
		if (n == ROOST_DEV_WORKERS_MAX)
			exit(EXIT_FAILURE);
		threads[n].worker = n;
		threads[n++].cpu = (int)strtol(cpu, NULL, 0);
	}
	return n;
}

static void measure(double seconds)
{
	double pps = 0;
	struct roost_dev_counters c[2];

	for (unsigned int i = 0; i < bench_nb_workers; i++)
		bench_must(-pthread_create(&threads[i].thread, NULL,
					   thread_main, &threads[i]),
			   "thread");
	usleep(WARM_US);
	atomic_store(&phase, 1);
	usleep((useconds_t)(seconds * 1e6));
	atomic_store(&phase, 2);
	for (unsigned int i = 0; i < bench_nb_workers; i++) {
		pthread_join(threads[i].thread, NULL);
		pps += threads[i].pps;
	}
	for (int side = 0; side < 2; side++)
		roost_dev_counters(bench_ends[side].dev, &c[side]);
	printf("workers pps %.0f handed %.3f\n", pps,
	       (double)(c[0].handed_pkts + c[1].handed_pkts) /
		       (double)(c[0].queue_pkts + c[1].queue_pkts));
}

int main(int argc, char **argv)
{
	double seconds = 0.5;
	int option;

	bench_nb_workers = 0;
	while ((option = getopt(argc, argv, "xb:t:c:")) != -1) {
		if (option == 'x')
			bench_crossed = true;
		else if (option == 'b')
			msg_bytes = (uint32_t)strtoul(optarg, NULL, 0);
		else if (option == 't')
			seconds = strtod(optarg, NULL);
		else if (option == 'c')
			bench_nb_workers = parse_cpus(optarg);
		else
			return EXIT_FAILURE;
	}
	if (bench_nb_workers == 0 || msg_bytes > STRIDE_BYTES) {
		fprintf(stderr, "usage: workers [-x] [-b BYTES] [-t SECONDS] "
				"-c CPU,CPU...\n");
		return EXIT_FAILURE;
	}
	bench_ends_open(&bursts, (struct bench_wire *[]){ wires[0], wires[1] },
			QPS_PER_WORKER * bench_nb_workers);
	measure(seconds);
	return EXIT_SUCCESS;
}
