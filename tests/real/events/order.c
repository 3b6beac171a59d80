/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Who reads an async event can poll every completion that happened before it:
 * what a thread finds that polls once as soon as it has the event.
 */

#include <semaphore.h>

#include "tests/real/events/events.h"

#define ROUNDS 1000
#define NB_SENDS 4
/* In a while like this, what is late comes. */
#define LATE_NS 200000

/* A thread that waits for events, and what it saw with the last one. */
struct watcher {
	pthread_t thread;
	sem_t seen;
	enum ibv_event_type type;
	int at_once; /* completions that it could poll with the event */
	int late;    /* ones that came thereafter */
};

static int poll_all(void)
{
	struct ibv_wc wcs[2 * NB_SENDS];

	return ibv_poll_cq(tour.scq, 2 * NB_SENDS, wcs);
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	struct ibv_async_event e;
	int64_t until_ns;

	for (int i = 0; i < ROUNDS; i++) {
		if (ibv_get_async_event(tour.context, &e) != 0)
			return NULL;
		w->at_once = poll_all();
		w->late = 0;
		until_ns = tour_now_ns() + LATE_NS;
		while (tour_now_ns() < until_ns)
			w->late += poll_all();
		w->type = e.event_type;
		ibv_ack_async_event(&e);
		sem_post(&w->seen);
	}
	return NULL;
}

static void watch_begin(struct watcher *w)
{
	assert_int_equal(sem_init(&w->seen, 0, 0), 0);
	assert_int_equal(pthread_create(&w->thread, NULL, watch, w), 0);
}

static void watch_end(struct watcher *w)
{
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	sem_destroy(&w->seen);
}

static void to(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

/* ---- the tests ---------------------------------------------------------- */

/* The peer has no receive: its requests wait, and are flushed. */
static void order__last_wqe_follows_what_is_flushed(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_srq *srq = ibv_create_srq(tour.pd, &srq_attr);
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct watcher w;
	int nb_early = 0;

	(void)state;
	attr.srq = srq;
	watch_begin(&w);
	for (int round = 0; round < ROUNDS; round++) {
		struct tour_pair p = { .a = ibv_create_qp_ex(tour.context,
							     &attr) };
		struct ibv_qp_init_attr_ex attr_b = tour_init_attr(IBV_QPT_RC);

		p.b = ibv_create_qp_ex(tour.context, &attr_b);
		tour_connect(p.a, p.b->qp_num);
		tour_connect(p.b, p.a->qp_num);
		for (int i = 0; i < NB_SENDS; i++) {
			struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

			tour_post(p.a, &wr);
		}
		to(p.a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, 0);
		sem_wait(&w.seen);
		assert_int_equal(w.type, IBV_EVENT_QP_LAST_WQE_REACHED);
		assert_int_equal(w.at_once + w.late, NB_SENDS);
		nb_early += w.late != 0;
		tour_pair_part(p);
	}
	watch_end(&w);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(nb_early, 0);
}

static void order__drained_follows_what_is_done(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct watcher w;
	int nb_early = 0;

	(void)state;
	watch_begin(&w);
	for (int round = 0; round < ROUNDS; round++) {
		struct ibv_sge sge = tour_sge(tour.buf, TOUR_BUF_BYTES / 2);
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = { (uintptr_t)tour.peer, tour.mr->rkey },
			.sg_list = &sge,
			.num_sge = 1,
		};

		tour_post(p.a, &wr);
		to(p.a,
		   (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD,
					 .en_sqd_async_notify = 1 },
		   IBV_QP_EN_SQD_ASYNC_NOTIFY);
		sem_wait(&w.seen);
		assert_int_equal(w.type, IBV_EVENT_SQ_DRAINED);
		nb_early += w.late != 0;
		to(p.a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, 0);
		/* It may not have begun before. */
		if (w.at_once + w.late == 0)
			assert_int_equal(tour_completion(tour.scq).status,
					 IBV_WC_SUCCESS);
	}
	watch_end(&w);
	tour_pair_part(p);
	assert_int_equal(nb_early, 0);
}

const struct CMUnitTest events_order[] = {
	TOUR_TEST(order__last_wqe_follows_what_is_flushed),
	TOUR_TEST(order__drained_follows_what_is_done),
	{ 0 },
};
