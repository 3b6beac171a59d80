/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Figures of many objects: how fast they come and go, also beside many others
 * (in processor time of the calls), what they weigh, and what a lookup among a
 * million costs. An ordinary verbs program, so that what it
 * says holds for programs:
 *
 *	roost run --link objects -- objects [-q QPS] [-m REGIONS] [-b BYTES]
 *
 * Every figure stands beside what it should reach. It reports, and fails only
 * where a call does: what a figure is worth depends on who else uses the
 * machine meanwhile.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define FEW 1000u
#define ROUNDS 20u
#define OPS 200000u
#define DEPTH 64u
#define PIECE_BYTES 64u
#define ACCESS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ)

static unsigned long nb_qps = 100000, nb_mrs = 1000000;
static size_t big_bytes = 1ul << 30;

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void row(const char *name, double value, const char *unit,
		const char *aim)
{
	printf("%-46s %12.1f %-7s %s\n", name, value, unit, aim);
	fflush(stdout);
}

/* Memory of this process that is there, but for files: QPs are not in the heap.
 * It grows by a huge page at a time.
 */
static double resident_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	double kib = -1;

	user_check(file != NULL, "/proc/self/status");
	while (kib < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "RssAnon: %lf", &kib);
	fclose(file);
	user_check(kib >= 0, "RssAnon");
	return kib * 1024;
}

/* ---- queue pairs -------------------------------------------------------- */

static struct ibv_qp *qp_new(uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	user_check(qp != NULL, "ibv_create_qp");
	return qp;
}

/* To itself. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1 };

	user_check(ibv_query_gid(context, 1, 0, &ah.grh.dgid) == 0,
		   "ibv_query_gid");
	user_check(user_to_init(qp, ACCESS) == 0, "to INIT");
	user_check(user_to_rtr(qp, qp->qp_num, &ah, 0) == 0, "to RTR");
	user_check(user_to_rts(qp, 0) == 0, "to RTS");
}

/* Of this thread: others do not count. */
static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* How fast some come and go beside those that there are. */
static void come_and_go(const char *comes, const char *goes)
{
	static struct ibv_qp *qps[FEW];
	double start, come_s = 0, go_s = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		start = cpu_s();
		for (unsigned int i = 0; i < FEW; i++) {
			qps[i] = qp_new(1);
			to_rts(qps[i]);
		}
		come_s += cpu_s() - start;
		start = cpu_s();
		for (unsigned int i = 0; i < FEW; i++)
			user_check(ibv_destroy_qp(qps[i]) == 0,
				   "ibv_destroy_qp");
		go_s += cpu_s() - start;
	}
	row(comes, FEW * ROUNDS / come_s, "/s", "");
	row(goes, FEW * ROUNDS / go_s, "/s", "");
}

static void queue_pairs(void)
{
	struct ibv_qp **qps = calloc(nb_qps, sizeof(struct ibv_qp *));
	double before, start;

	user_check(qps != NULL, "memory");
	come_and_go("RC QPs created to RTS, alone", "destroyed, alone");
	memset(qps, 1, nb_qps * sizeof(struct ibv_qp *));
	before = resident_bytes();
	start = now_s();
	for (unsigned long i = 0; i < nb_qps; i++)
		qps[i] = qp_new(1);
	row("RC QPs created", (double)nb_qps / (now_s() - start), "/s",
	    "> 100000");
	row("memory of one, queues of 1 included",
	    (resident_bytes() - before) / (double)nb_qps, "B", "< 1536");
	for (unsigned long i = 0; i < nb_qps; i++)
		to_rts(qps[i]);
	come_and_go("RC QPs created to RTS, beside all of these",
		    "destroyed, beside them");
	start = now_s();
	for (unsigned long i = 0; i < nb_qps; i++)
		user_check(ibv_destroy_qp(qps[i]) == 0, "ibv_destroy_qp");
	row("RC QPs destroyed", (double)nb_qps / (now_s() - start), "/s", "");
	free(qps);
}

/* ---- regions ------------------------------------------------------------ */

static struct ibv_qp *qp_to_itself(void)
{
	struct ibv_qp *qp = qp_new(DEPTH);

	to_rts(qp);
	return qp;
}

/* WRITEs from one of n regions to another, at random; the regions are stride
 * apart. Returns nanoseconds of each.
 */
static double write_among(struct ibv_qp *qp, struct ibv_mr **mrs,
			  unsigned long n, unsigned long stride)
{
	double start = now_s();
	uint64_t random = 1;
	unsigned int posted = 0, done = 0;

	while (done < OPS) {
		struct ibv_wc wc[DEPTH];
		int got;

		while (posted < OPS && posted - done < DEPTH) {
			struct ibv_mr *from, *to;
			struct ibv_send_wr *bad;

			random = random * 6364136223846793005u + 1;
			from = mrs[(random >> 33) % n * stride];
			random = random * 6364136223846793005u + 1;
			to = mrs[(random >> 33) % n * stride];
			user_check(
				ibv_post_send(
					qp,
					&(struct ibv_send_wr){
						.sg_list =
							&(struct ibv_sge){
								(uintptr_t)from
									->addr,
								8, from->lkey },
						.num_sge = 1,
						.opcode = IBV_WR_RDMA_WRITE,
						.send_flags = IBV_SEND_SIGNALED,
						.wr.rdma = { (uintptr_t)
								     to->addr,
							     to->rkey },
					},
					&bad) == 0,
				"ibv_post_send");
			posted++;
		}
		got = ibv_poll_cq(cq, DEPTH, wc);
		user_check(got >= 0, "ibv_poll_cq");
		for (int i = 0; i < got; i++)
			user_check(wc[i].status == IBV_WC_SUCCESS, "WRITE");
		done += (unsigned int)got;
	}
	return (now_s() - start) / OPS * 1e9;
}

static void regions(void)
{
	struct ibv_mr **mrs = calloc(nb_mrs, sizeof(struct ibv_mr *));
	uint8_t *memory = calloc(FEW, PIECE_BYTES);
	struct ibv_qp *qp = qp_to_itself();
	double before, start;

	user_check(mrs != NULL && memory != NULL, "memory");
	memset(memory, 1, (size_t)FEW * PIECE_BYTES);
	memset(mrs, 1, nb_mrs * sizeof(struct ibv_mr *));
	before = resident_bytes();
	start = now_s();
	for (unsigned long i = 0; i < nb_mrs; i++) {
		if (i == FEW) {
			double pause = now_s();

			row("a WRITE among 1000 regions",
			    write_among(qp, mrs, i, 1), "ns", "");
			start += now_s() - pause;
		}
		mrs[i] = ibv_reg_mr(pd, memory + i % FEW * PIECE_BYTES,
				    PIECE_BYTES, ACCESS);
		user_check(mrs[i] != NULL, "ibv_reg_mr");
	}
	row("regions registered", (double)nb_mrs / (now_s() - start), "/s",
	    "> 100000");
	row("memory of one", (resident_bytes() - before) / (double)nb_mrs, "B",
	    "");
	if (nb_mrs >= FEW)
		row("a WRITE among 1000 out of all",
		    write_among(qp, mrs, FEW, nb_mrs / FEW), "ns", "the same");
	row("a WRITE among all, cache misses included",
	    write_among(qp, mrs, nb_mrs, 1), "ns", "");
	start = now_s();
	for (unsigned long i = 0; i < nb_mrs; i++)
		user_check(ibv_dereg_mr(mrs[i]) == 0, "ibv_dereg_mr");
	row("regions deregistered", (double)nb_mrs / (now_s() - start), "/s",
	    "");
	user_check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
	free(memory);
	free(mrs);
}

/* Touched already: there is nothing to be faulted in. */
static void big_region(void)
{
	uint8_t *memory = mmap(NULL, big_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	double start;

	user_check(memory != MAP_FAILED, "memory");
	memset(memory, 1, big_bytes);
	start = now_s();
	mr = ibv_reg_mr(pd, memory, big_bytes, ACCESS);
	row("ibv_reg_mr of 1 GiB that was touched", (now_s() - start) * 1e3,
	    "ms", "< 50");
	user_check(mr != NULL, "ibv_reg_mr");
	user_check(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
	munmap(memory, big_bytes);
}

static void parse_args(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "q:m:b:")) != -1) {
		switch (c) {
		case 'q':
			nb_qps = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			nb_mrs = strtoul(optarg, NULL, 0);
			break;
		case 'b':
			big_bytes = strtoul(optarg, NULL, 0);
			break;
		default:
			fprintf(stderr, "usage: objects [-q QPS] [-m REGIONS] "
					"[-b BYTES]\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct ibv_device **list;

	parse_args(argc, argv);
	list = ibv_get_device_list(NULL);
	user_check(list != NULL && list[0] != NULL, "no device");
	context = ibv_open_device(list[0]);
	user_check(context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(context);
	user_check(pd != NULL, "ibv_alloc_pd");
	cq = ibv_create_cq(context, 1024, NULL, NULL, 0);
	user_check(cq != NULL, "ibv_create_cq");
	queue_pairs();
	regions();
	big_region();
	user_check(ibv_destroy_cq(cq) == 0, "ibv_destroy_cq");
	user_check(ibv_dealloc_pd(pd) == 0, "ibv_dealloc_pd");
	user_check(ibv_close_device(context) == 0, "ibv_close_device");
	return 0;
}
