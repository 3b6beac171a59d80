/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The engine alone: both ends in one thread, frames handed over as they are,
 * no port, no other core, no shim. What a message costs here is what the
 * transport itself costs, requester and responder together.
 *
 * usage: engine [-n MESSAGES] [-q QPS] [-k KERNEL] [-t RUNS] [-w FRAMES]
 * CASE... -k  the loops for the ICRC (lib/wire/kernel.h), or "none": no ICRC at
 * all, neither made nor looked at -t  how long an iteration takes while all QPs
 * have requests at all times; cases of WRITE and READ. Each of so many runs
 * does the same, iteration by iteration, and the least time of each one counts:
 * what interrupts and neighbours take is never the same -w  frames that the
 * wire holds each way (4096) Prints "engine CASE ns NANOSECONDS gbps GIGABITS"
 * per case: per message, and of payload; with -t "engine CASE p50 NS p999 NS
 * most NS" of CPU time: of the end that takes longer.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "lib/wire/frame.h"
#include "lib/wire/icrc.h"
#include "tests/bench/ends.h"

#define BATCH 32u
#define WIRE_LEN 4096u
/* With -t: iterations of each end, and before these, those that make all warm.
 */
#define TIMED_TURNS 20000u
#define WARM_TURNS 2000u

static const struct bench_case {
	const char *name;
	enum roost_wr_opcode opcode;
	uint32_t len_bytes;
	uint32_t flags;
	unsigned int batch;
} cases[] = {
	{ "send16", ROOST_WR_SEND, 16, ROOST_SEND_INLINE, BATCH },
	{ "write16", ROOST_WR_WRITE, 16, ROOST_SEND_INLINE, BATCH },
	{ "write16-one", ROOST_WR_WRITE, 16, ROOST_SEND_INLINE, 1 },
	{ "write4k-one", ROOST_WR_WRITE, 4096, 0, 1 },
	{ "read16-one", ROOST_WR_READ, 16, 0, 1 },
	{ "send64", ROOST_WR_SEND, 64, 0, BATCH },
	{ "send64-one", ROOST_WR_SEND, 64, 0, 1 },
	{ "write4k", ROOST_WR_WRITE, 4096, 0, BATCH },
	{ "write64k", ROOST_WR_WRITE, 65536, 0, 4 },
	{ "read64k", ROOST_WR_READ, 65536, 0, 4 },
	{ "send64k", ROOST_WR_SEND, 65536, 0, 4 },
};

struct bench_wire {
	struct rte_mbuf *frames[WIRE_LEN];
	uint32_t head, tail;
};

static struct bench_wire wires[2];
static uint32_t wire_len = WIRE_LEN;
static unsigned int nb_qps = 1;

/* ---- the port --------------------------------------------------------- */

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->in;
	uint16_t i = 0;

	(void)queue;
	while (i < n && wire->tail != wire->head)
		pkts[i++] = wire->frames[wire->tail++ % WIRE_LEN];
	return i;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->out;
	uint16_t i = 0;

	(void)queue;
	while (i < n && wire->head - wire->tail < wire_len)
		wire->frames[wire->head++ % WIRE_LEN] = pkts[i++];
	return i;
}

static const struct bench_bursts bursts = { rx_burst, tx_burst };

static void open_ends(void)
{
	bench_ends_open(&bursts,
			(struct bench_wire *[]){ &wires[0], &wires[1] },
			nb_qps);
}

/* ---- messages --------------------------------------------------------- */

static void post_receives(unsigned int i, unsigned int n)
{
	struct bench_end *end = &bench_ends[1];
	const struct roost_sge sge = { (uintptr_t)end->buf, BENCH_BUF_BYTES,
				       roost_mr_lkey(end->mr) };
	const struct roost_recv_wr wr = { .sges = &sge, .nb_sges = 1 };

	roost_qp_recv_begin(end->qps[i]);
	while (n-- > 0)
		bench_must(roost_qp_recv_add(end->qps[i], &wr), "receive");
	roost_qp_recv_end(end->qps[i]);
}

/* Each batch asks for one completion, of its last. */
static void post_sends(const struct bench_case *c, unsigned int i,
		       unsigned int n)
{
	struct bench_end *end = &bench_ends[0];
	const struct roost_sge sge = { (uintptr_t)end->buf, c->len_bytes,
				       roost_mr_lkey(end->mr) };
	struct roost_send_wr wr = {
		.sges = &sge,
		.wr_id = i,
		.nb_sges = 1,
		.opcode = c->opcode,
		.flags = c->flags,
		.remote_addr = (uintptr_t)bench_ends[1].buf,
		.rkey = roost_mr_rkey(bench_ends[1].mr),
	};

	roost_qp_send_begin(end->qps[i]);
	while (n-- > 0) {
		if (n == 0)
			wr.flags |= ROOST_SEND_SIGNALED;
		bench_must(roost_qp_send_add(end->qps[i], &wr), "send");
	}
	roost_qp_send_end(end->qps[i]);
}

static void turn(struct bench_end *end)
{
	static uint64_t now_ns = 1000000000;

	bench_end_turn(end, now_ns += 100);
}

static void exchange(const struct bench_case *c, unsigned int i)
{
	bool receives = c->opcode == ROOST_WR_SEND;
	uint64_t sent = bench_ends[0].nb_done + 1;
	uint64_t received = bench_ends[1].nb_done + (receives ? c->batch : 0);

	if (receives)
		post_receives(i, c->batch);
	post_sends(c, i, c->batch);
	while (bench_ends[0].nb_done < sent ||
	       bench_ends[1].nb_done < received) {
		turn(&bench_ends[0]);
		turn(&bench_ends[1]);
	}
}

/* Of this thread: what others do meanwhile is not in it. */
static double used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run(const struct bench_case *c, unsigned long nb_msgs)
{
	unsigned long rounds = nb_msgs / c->batch;
	double ns;

	if (rounds == 0)
		rounds = 1;
	exchange(c, 0);
	ns = used_ns();
	for (unsigned long i = 0; i < rounds; i++)
		exchange(c, (unsigned int)(i % nb_qps));
	ns = (used_ns() - ns) / (double)(rounds * c->batch);
	printf("engine %s ns %.1f gbps %.1f\n", c->name, ns,
	       8 * c->len_bytes / ns);
	fflush(stdout);
}

/* ---- iterations ------------------------------------------------------- */

struct bench_times {
	uint32_t ns[2][TIMED_TURNS]; /* of each end */
};

/* All that is there. again: each QP whose batch is done has another one.
 * Returns how many are done.
 */
static unsigned int poll_all(const struct bench_case *c, bool again)
{
	struct roost_cqe cqes[BATCH];
	unsigned int done = 0;
	int n;

	while ((n = roost_cq_poll(bench_ends[0].cqs[0], BATCH, cqes)) > 0)
		for (int i = 0; i < n; i++, done++) {
			bench_must(-cqes[i].status, "completion");
			if (again)
				post_sends(c, (unsigned int)cqes[i].wr_id,
					   c->batch);
		}
	return done;
}

/* One iteration; how long it took. The clock of the engines is a slow one: with
 * thousands of QPs that all want everything, none is to time out.
 */
static double timed_turn(struct bench_end *end)
{
	static uint64_t now_ns = 1000000000;
	double ns = used_ns();

	bench_iterate(end, now_ns);
	now_ns += 100;
	return used_ns() - ns;
}

static int by_ns(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void run_timed(const struct bench_case *c, struct bench_times *times)
{
	for (unsigned int i = 0; i < nb_qps; i++)
		post_sends(c, i, c->batch);
	for (unsigned int t = 0; t < WARM_TURNS + TIMED_TURNS; t++) {
		for (int side = 0; side < 2; side++) {
			double ns = timed_turn(&bench_ends[side]);

			if (t >= WARM_TURNS)
				times->ns[side][t - WARM_TURNS] = (uint32_t)ns;
		}
		poll_all(c, true);
	}
	for (unsigned int left = nb_qps; left > 0;) {
		timed_turn(&bench_ends[0]);
		timed_turn(&bench_ends[1]);
		left -= poll_all(c, false);
	}
}

static void keep_least(struct bench_times *times,
		       const struct bench_times *others)
{
	for (int side = 0; side < 2; side++)
		for (unsigned int t = 0; t < TIMED_TURNS; t++)
			times->ns[side][t] = RTE_MIN(times->ns[side][t],
						     others->ns[side][t]);
}

static void print_times(const char *name, struct bench_times *times)
{
	const unsigned int p50 = TIMED_TURNS / 2;
	const unsigned int p999 = TIMED_TURNS - 1 - TIMED_TURNS / 1000;
	bool worse;

	for (int side = 0; side < 2; side++)
		qsort(times->ns[side], TIMED_TURNS, sizeof(times->ns[0][0]),
		      by_ns);
	worse = times->ns[1][p999] > times->ns[0][p999];
	printf("engine %s p50 %u p999 %u most %u\n", name,
	       times->ns[worse][p50], times->ns[worse][p999],
	       times->ns[worse][TIMED_TURNS - 1]);
}

/* Each run is a process: it begins as the others do. Returns what it found. */
static struct bench_times *timed_run(const struct bench_case *c)
{
	struct bench_times *times =
		mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int status;

	if (times == MAP_FAILED)
		exit(EXIT_FAILURE);
	pid = fork();
	if (pid == 0) {
		open_ends();
		run_timed(c, times);
		_exit(EXIT_SUCCESS);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(EXIT_FAILURE);
	return times;
}

static void run_timed_often(const struct bench_case *c, unsigned long runs)
{
	struct bench_times *times = timed_run(c), *others;

	while (--runs > 0) {
		others = timed_run(c);
		keep_least(times, others);
		munmap(others, sizeof(*others));
	}
	print_times(c->name, times);
	munmap(times, sizeof(*times));
}

static void choose_kernel(const char *name)
{
	for (unsigned int i = 0; i < ROOST_NB_KERNELS; i++)
		if (strcmp(roost_kernels[i]->name, name) == 0 &&
		    roost_kernels[i]->usable()) {
			roost_kernel = roost_kernels[i];
			return;
		}
	if (strcmp(name, "none") != 0) {
		fprintf(stderr, "engine: -k %s: not on this machine\n", name);
		exit(EXIT_FAILURE);
	}
	roost_icrc_disable();
}

static int run_named(const char *name, unsigned long nb_msgs,
		     unsigned long timed_runs)
{
	for (size_t i = 0; i < RTE_DIM(cases); i++)
		if (strcmp(cases[i].name, name) == 0) {
			if (timed_runs > 0)
				run_timed_often(&cases[i], timed_runs);
			else
				run(&cases[i], nb_msgs);
			return 0;
		}
	fprintf(stderr, "engine: no case %s; there are:", name);
	for (size_t i = 0; i < RTE_DIM(cases); i++)
		fprintf(stderr, " %s", cases[i].name);
	fprintf(stderr, "\n");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	unsigned long nb_msgs = 100000, timed_runs = 0;
	int option, rc = 0;

	/* Inside valgrind, the instructions of elsewhere are counted: see
	 * roost_catch_is_blind().
	 */
	unsetenv("LD_PRELOAD");
	while ((option = getopt(argc, argv, "n:q:k:t:w:")) != -1) {
		if (option == 'n')
			nb_msgs = strtoul(optarg, NULL, 0);
		else if (option == 'q')
			nb_qps = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'k')
			choose_kernel(optarg);
		else if (option == 't')
			timed_runs = strtoul(optarg, NULL, 0);
		else if (option == 'w')
			wire_len = (uint32_t)strtoul(optarg, NULL, 0);
		else
			return EXIT_FAILURE;
	}
	if (timed_runs == 0)
		open_ends();
	for (int i = optind; i < argc && rc == 0; i++)
		rc = run_named(argv[i], nb_msgs, timed_runs);
	return rc;
}
