/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Objects come and go while requests of every kind are under way, by several
 * threads at a time, each of which turns the worker when it waits. No memory
 * grows, and the
 * tables of numbers neither: after a first while, as much is allocated as in
 * the end.
 *
 * ROOST_SIM_SOAK_S says for how many seconds each test runs.
 */

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/raw.h"

#define SECONDS_DEFAULT 2
#define ROUNDS_MIN 20
/* Of each thread, however slow the machine: idmap keeps more free numbers for
 * who deletes some, and has all that it keeps after 576 of a kind.
 */
#define ROUNDS_WARM 250
#define NB_THREADS 3
#define BUFFER_BYTES 65536u
#define GROWTH_MAX_BYTES 8192u
#define NB_REQUESTS 24u
#define TICK_NS 500u
#define WAIT_NS (500 * SIM_US)

/* All of one thread. */
struct churner {
	struct sim_end *end;
	struct sim_rng rng;
	uint8_t buffer[BUFFER_BYTES];
	struct roost_cq *cq;
	struct roost_mr *mr;
	struct roost_mw *mw;
	struct roost_srq *srq;
	struct roost_qp *qps[2];
	uint64_t nb_rounds, nb_good, rounds_min;
	unsigned int nb_wrong; /* calls that did not do as they should */
	atomic_bool *stop;
	pthread_t thread;
};

static uint32_t below(struct churner *c, uint32_t limit)
{
	return (uint32_t)sim_random_below(&c->rng, limit);
}

/* Threads cannot fail a test. */
static void expect(struct churner *c, bool holds)
{
	c->nb_wrong += !holds;
}

/* ---- one round ----------------------------------------------------------- */

static void connect(struct churner *c, struct roost_qp *qp,
		    const struct roost_qp *peer)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = 1,
		.access = sim_qp_conf_default.access,
		.path_mtu = ROOST_MTU_256 + below(c, 5),
		.dest_qpn = roost_qp_num(peer),
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.av = { .is_global = true,
			.port_num = 1,
			.dgid = c->end->gid,
			.hop_limit = 1 },
	};

	expect(c, roost_qp_modify(qp, &attr,
				  ROOST_QP_STATE | ROOST_QP_PORT |
					  ROOST_QP_PKEY_INDEX |
					  ROOST_QP_ACCESS_FLAGS) == 0);
	attr.state = ROOST_QPS_RTR;
	expect(c, roost_qp_modify(qp, &attr,
				  ROOST_QP_STATE | ROOST_QP_AV |
					  ROOST_QP_PATH_MTU |
					  ROOST_QP_DEST_QPN | ROOST_QP_RQ_PSN |
					  ROOST_QP_MAX_DEST_RD_ATOMIC |
					  ROOST_QP_MIN_RNR_TIMER) == 0);
	attr.state = ROOST_QPS_RTS;
	expect(c,
	       roost_qp_modify(qp, &attr,
			       ROOST_QP_STATE | ROOST_QP_SQ_PSN |
				       ROOST_QP_TIMEOUT | ROOST_QP_RETRY_CNT |
				       ROOST_QP_RNR_RETRY |
				       ROOST_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void create(struct churner *c)
{
	struct roost_srq_init srq = { .max_wr = NB_REQUESTS, .max_sge = 1 };

	expect(c, roost_cq_create(c->end->ctx, 4 * NB_REQUESTS, NULL, NULL,
				  &c->cq) == 0);
	expect(c,
	       roost_mr_reg(c->end->pd, c->buffer, BUFFER_BYTES,
			    (uintptr_t)c->buffer,
			    sim_qp_conf_default.access | ROOST_ACCESS_MW_BIND,
			    &c->mr) == 0);
	expect(c, roost_mw_alloc(c->end->pd, 1, &c->mw) == 0);
	expect(c, roost_srq_create(c->end->pd, &srq, &c->srq) == 0);
	for (int i = 0; i < 2; i++) {
		struct roost_qp_init init = {
			.send_cq = c->cq,
			.recv_cq = c->cq,
			.srq = i == 0 ? c->srq : NULL,
			.cap = { .max_send_wr = NB_REQUESTS,
				 .max_recv_wr = NB_REQUESTS,
				 .max_send_sge = 1,
				 .max_recv_sge = 1 },
		};

		expect(c, roost_qp_create(c->end->ctx, c->end->pd, &init,
					  &c->qps[i]) == 0);
	}
	connect(c, c->qps[0], c->qps[1]);
	connect(c, c->qps[1], c->qps[0]);
}

static struct roost_sge draw_sge(struct churner *c)
{
	uint32_t len = below(c, below(c, 4) == 0 ? BUFFER_BYTES : 300);

	return (struct roost_sge){
		.addr = (uintptr_t)c->buffer + below(c, BUFFER_BYTES - len),
		.len_bytes = len,
		.lkey = roost_mr_lkey(c->mr),
	};
}

static void post_one(struct churner *c, struct roost_qp *qp)
{
	static const enum roost_wr_opcode opcodes[] = {
		ROOST_WR_WRITE,     ROOST_WR_READ,      ROOST_WR_READ,
		ROOST_WR_FETCH_ADD, ROOST_WR_WRITE_IMM, ROOST_WR_SEND,
		ROOST_WR_BIND_MW,
	};
	struct roost_sge sge = draw_sge(c);
	struct roost_send_wr wr = {
		.opcode = opcodes[below(c, 7)],
		.flags = ROOST_SEND_SIGNALED,
		.sges = &sge,
		.nb_sges = 1,
		.remote_addr = (uintptr_t)c->buffer,
		.rkey = roost_mr_rkey(c->mr),
	};

	if (wr.opcode == ROOST_WR_FETCH_ADD) {
		sge.addr = (uintptr_t)c->buffer;
		sge.len_bytes = 8;
	} else if (wr.opcode == ROOST_WR_BIND_MW) {
		wr.nb_sges = 0;
		wr.bind = (struct roost_mw_bind){
			.mw = c->mw,
			.mr = c->mr,
			.addr = (uintptr_t)c->buffer,
			.len_bytes = 8,
			.rkey = roost_mw_rkey(c->mw),
		};
	}
	roost_qp_send_begin(qp);
	expect(c, roost_qp_send_add(qp, &wr) == 0);
	roost_qp_send_end(qp);
}

/* Receives as well, of both kinds, but not always enough. */
static void post_all(struct churner *c)
{
	struct roost_sge sge = draw_sge(c);
	struct roost_recv_wr wr = { .sges = &sge, .nb_sges = 1 };

	sge.addr = (uintptr_t)c->buffer;
	sge.len_bytes = BUFFER_BYTES;
	for (uint32_t n = below(c, NB_REQUESTS); n > 0; n--) {
		roost_srq_recv_begin(c->srq);
		expect(c, roost_srq_recv_add(c->srq, &wr) == 0);
		roost_srq_recv_end(c->srq);
		roost_qp_recv_begin(c->qps[1]);
		expect(c, roost_qp_recv_add(c->qps[1], &wr) == 0);
		roost_qp_recv_end(c->qps[1]);
	}
	for (uint32_t n = below(c, NB_REQUESTS); n > 0; n--) {
		post_one(c, c->qps[0]);
		post_one(c, c->qps[1]);
	}
}

/* Of this thread: it says nothing about how loaded the machine is. */
static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SIM_S + (uint64_t)now.tv_nsec;
}

/* One iteration of each worker, if nobody else is at it: as threads do that
 * poll.
 */
static void help(struct churner *c)
{
	struct roost_dev *dev = c->end->dev;

	for (unsigned int i = 0; i < roost_dev_nb_workers(dev); i++) {
		struct roost_worker *w = roost_dev_worker_at(dev, i);

		if (roost_worker_turn_wanted(w) || !roost_worker_turn_try(w))
			continue;
		/* Other threads turn other workers. */
		roost_worker_iterate(w, __atomic_add_fetch(&c->end->sim->now_ns,
							   TICK_NS,
							   __ATOMIC_RELAXED));
		roost_worker_turn_release(w);
	}
}

/* Until so many are done, or it has been long enough: some never are. */
static void take_some(struct churner *c)
{
	uint64_t until_ns = clock_ns() + WAIT_NS;
	uint32_t want = below(c, NB_REQUESTS);
	struct roost_cqe cqe;

	while (want > 0 && clock_ns() < until_ns) {
		if (roost_cq_poll(c->cq, 1, &cqe) != 1) {
			help(c);
			continue;
		}
		c->nb_good += cqe.status == ROOST_WC_SUCCESS;
		want--;
	}
}

/* While requests are under way; the window may be bound, or be about to. */
static void destroy(struct churner *c)
{
	uint32_t first = below(c, 2);

	expect(c, roost_qp_destroy(c->qps[first], NULL) == 0);
	take_some(c);
	expect(c, roost_qp_destroy(c->qps[!first], NULL) == 0);
	expect(c, roost_mw_dealloc(c->mw) == 0);
	expect(c, roost_srq_destroy(c->srq, NULL) == 0);
	expect(c, roost_mr_dereg(c->mr) == 0);
	expect(c, roost_cq_destroy(c->cq, NULL, NULL) == 0);
}

static void *churn(void *arg)
{
	struct churner *c = arg;

	for (; !atomic_load(c->stop) || c->nb_rounds < c->rounds_min;
	     c->nb_rounds++) {
		create(c);
		post_all(c);
		take_some(c);
		destroy(c);
	}
	return NULL;
}

/* ---- for a while --------------------------------------------------------- */

struct place {
	struct sim *sim;
	atomic_bool stop;
	struct churner churners[NB_THREADS];
};

static void run_for(struct place *p, long ms, uint64_t rounds_min)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	atomic_store(&p->stop, false);
	for (int i = 0; i < NB_THREADS; i++) {
		struct churner *c = &p->churners[i];

		c->nb_rounds = 0;
		c->rounds_min = rounds_min;
		assert_int_equal(pthread_create(&c->thread, NULL, churn, c), 0);
	}
	nanosleep(&pause, NULL);
	atomic_store(&p->stop, true);
	for (int i = 0; i < NB_THREADS; i++) {
		pthread_join(p->churners[i].thread, NULL);
		assert_int_equal(p->churners[i].nb_wrong, 0);
	}
}

static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void churn__memory_does_not_grow(void **state)
{
	const char *text = getenv("ROOST_SIM_SOAK_S");
	long seconds = text != NULL ? atol(text) : SECONDS_DEFAULT;
	struct place *p = calloc(1, sizeof(*p));
	uint64_t nb_rounds = 0, nb_good = 0;
	size_t before;

	assert_non_null(p);
	p->sim = sim_new();
	for (int i = 0; i < NB_THREADS; i++)
		p->churners[i] = (struct churner){
			.end = &p->sim->ends[SIM_A],
			.rng.state = sim_random(&p->sim->rng),
			.stop = &p->stop,
		};
	run_for(p, 300, ROUNDS_WARM);
	before = allocated_bytes();
	run_for(p, seconds * 1000, ROUNDS_MIN);
	assert_in_range(allocated_bytes(), 0, before + GROWTH_MAX_BYTES);
	for (int i = 0; i < NB_THREADS; i++) {
		nb_rounds += p->churners[i].nb_rounds;
		nb_good += p->churners[i].nb_good;
	}
	print_message("%llu rounds, %llu requests done, %zd bytes more\n",
		      (unsigned long long)nb_rounds,
		      (unsigned long long)nb_good,
		      (ssize_t)(allocated_bytes() - before));
	assert_true(nb_good > NB_THREADS * ROUNDS_MIN);
	assert_int_equal(sim_counters(p->sim, SIM_A)->tx_pkts,
			 sim_counters(p->sim, SIM_A)->loopback_pkts);
	sim_free(p->sim);
	free(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(churn__memory_does_not_grow),
};

SIM_MAIN("sim-churn", tests)
