/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_pause.h>

#include <roost/drop.h>
#include "lib/engine/core/mbuf.h"
#include "tests/unit/engine/busy.h"
#include "tests/unit/engine/eal.h"
#include "tests/unit/engine/fixture.h"

#define RAW_QUEUE_LEN 1023
#define TXQ_LEN 64

static struct rte_mempool *pool;

static int start(void **state)
{
	eal_start();
	pool = eal_pool("worker", 2047);
	return 0;
}

/* ---- mbufs ------------------------------------------------------------ */

/* Of a mempool without caches, if it says so, and for worker 0 alone. */
static void mbuf__own_cache(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	struct fixture f;

	for (unsigned int i = 0; i < 4; i++) {
		const bool says_so = i / 2 == 1, cached = i == 2;
		struct roost_worker *w;
		struct rte_mbuf *mbuf;

		pool->pool_config =
			says_so ? (void *)(uintptr_t)&roost_worker_pools : NULL;
		fixture_open_workers(&f, pool, 2);
		w = roost_dev_worker_at(f.dev, i % 2);
		roost_mbuf_begin(w);
		mbuf = roost_mbuf_alloc(w);
		assert_non_null(mbuf);
		roost_mbuf_free(w, mbuf);
		assert_int_equal(rte_mempool_avail_count(pool),
				 cached ? before - 1 - ROOST_MBUF_CACHE
					: before);
		fixture_close(&f);
		assert_int_equal(rte_mempool_avail_count(pool), before);
	}
	pool->pool_config = NULL;
}

/* ---- frames as they are --------------------------------------------- */

static int send_raw(struct fixture *f)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(mbuf);
	rte_pktmbuf_append(mbuf, 60);
	return roost_worker_send_frame(f->worker, 1, mbuf);
}

static void send_frame__goes_out_with_the_next_turn(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	struct fixture f;

	fixture_open(&f, pool);
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_raw(&f), 0);
	assert_int_equal(f.nb_sent, 0);
	assert_true(roost_worker_has_work(f.worker));
	assert_true(fixture_iterate(&f, 1) > 0);
	assert_int_equal(f.nb_sent, 10);
	assert_false(roost_worker_has_work(f.worker));
	assert_int_equal(fixture_iterate(&f, 2), 0);
	fixture_close(&f);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

static void send_frame__queue_full(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	struct fixture f;

	fixture_open(&f, pool);
	for (int i = 0; i < RAW_QUEUE_LEN; i++)
		assert_int_equal(send_raw(&f), 0);
	/* Taken all the same. */
	assert_int_equal(send_raw(&f), -ENOBUFS);
	assert_int_equal(rte_mempool_avail_count(pool), before - RAW_QUEUE_LEN);
	/* Frames that nobody sent are freed with the device. */
	fixture_close(&f);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

/* A port that takes nothing for a while: the worker keeps what it has, says
 * that it is busy, and loses nothing that it took.
 */
static void send_frame__port_takes_nothing(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	struct fixture f;

	fixture_open(&f, pool);
	f.take_max = 0;
	assert_int_equal(send_raw(&f), 0);
	fixture_iterate(&f, 1);
	assert_int_equal(f.nb_sent, 0);
	assert_true(worker_is_busy(f.worker));
	f.take_max = 10;
	fixture_iterate(&f, 2);
	assert_int_equal(f.nb_sent, 1);
	assert_false(worker_is_busy(f.worker));

	f.take_max = 0;
	for (int i = 0; i < RAW_QUEUE_LEN; i++)
		assert_int_equal(send_raw(&f), 0);
	fixture_iterate(&f, 3);
	for (int i = 0; i < TXQ_LEN; i++)
		assert_int_equal(send_raw(&f), 0);
	assert_int_equal(send_raw(&f), -ENOBUFS);
	fixture_iterate(&f, 3);
	assert_true(worker_is_busy(f.worker));
	f.take_max = 100;
	for (uint64_t i = 0; i < 20; i++)
		fixture_iterate(&f, 4 + i);
	assert_int_equal(f.nb_sent, 1 + RAW_QUEUE_LEN + TXQ_LEN);
	assert_false(worker_is_busy(f.worker));
	fixture_close(&f);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

/* Frames as they are come without end, and the port is slow: a QP still gets
 * its share of it.
 */
static void send_frame__leaves_room_for_qps(void **state)
{
	const struct roost_send_wr wr = { .opcode = ROOST_WR_SEND };
	unsigned int before = rte_mempool_avail_count(pool);
	struct roost_dev_counters c;
	struct roost_qp *qp;
	struct fixture f;

	fixture_open(&f, pool);
	qp = fixture_qp_in_rts(&f, 4);
	for (uint64_t i = 0; i < 10; i++) {
		while (roost_worker_frames_waiting(f.worker) < 300)
			assert_int_equal(send_raw(&f), 0);
		if (i == 1)
			assert_int_equal(fixture_send(qp, &wr), 0);
		f.take_left = 1;
		fixture_iterate(&f, 1 + i);
	}
	roost_dev_counters(f.dev, &c);
	assert_int_equal(c.tx_pkts, 1);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	fixture_close(&f);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

/* No mbuf: the request waits, and goes out when there is one again. */
static void iterate__out_of_mbufs(void **state)
{
	const struct roost_send_wr wr = { .opcode = ROOST_WR_SEND };
	unsigned int before = rte_mempool_avail_count(pool), n = 0;
	struct rte_mbuf *all[2047];
	struct roost_dev_counters c;
	struct roost_qp *qp;
	struct fixture f;

	fixture_open(&f, pool);
	qp = fixture_qp_in_rts(&f, 4);
	while (n < 2047 && (all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	assert_int_equal(fixture_send(qp, &wr), 0);
	fixture_iterate(&f, 1);
	assert_int_equal(f.nb_sent, 0);
	assert_true(worker_is_busy(f.worker));
	roost_dev_counters(f.dev, &c);
	assert_true(c.drops[ROOST_DROP_NO_BUFFER] > 0);
	rte_pktmbuf_free_bulk(all, n);
	fixture_iterate(&f, 2);
	assert_int_equal(f.nb_sent, 1);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	fixture_close(&f);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

/* ---- what is posted by the holder of the turn ------------------------ */

static void send__sends_and_does_not_look(void **state)
{
	const struct roost_send_wr wr = { .opcode = ROOST_WR_SEND };
	unsigned int looks;
	struct roost_qp *qp;
	struct fixture f;

	fixture_open(&f, pool);
	qp = fixture_qp_in_rts(&f, 4);
	looks = f.nb_looks;
	assert_true(roost_worker_turn_try(f.worker));
	assert_int_equal(roost_worker_send(f.worker, 1), 0);
	roost_qp_send_begin(qp);
	assert_int_equal(roost_qp_send_add(qp, &wr), 0);
	roost_qp_send_end_in_turn(qp);
	assert_false(roost_worker_has_work(f.worker)); /* no bell rang */
	assert_int_equal(roost_worker_send(f.worker, 2), 1);
	assert_int_equal(f.nb_sent, 1);
	assert_int_equal(f.nb_looks, looks);
	roost_worker_turn_release(f.worker);
	fixture_iterate(&f, 3);
	assert_int_equal(f.nb_looks, looks + 1);
	assert_int_equal(f.nb_sent, 1);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	fixture_close(&f);
}

/* ---- doorbells from many threads ------------------------------------ */

#define POSTERS 4
#define STRESS_QPS 8
#define POSTS 20000u
#define STRESS_MS 500

struct stress {
	struct fixture f;
	struct roost_qp *qps[STRESS_QPS];
	struct roost_cq *cq;
	atomic_uint next_poster;
	atomic_uint nb_posted;
	atomic_bool posting_over;
	atomic_bool stop;
	uint8_t *seen; /* completions of each request */
};

/* In RESET nothing can be posted, nor to a full queue; soon it can. */
static bool keep_trying(struct stress *s)
{
	sched_yield();
	return !atomic_load(&s->posting_over);
}

static void *post_much(void *arg)
{
	struct stress *s = arg;
	unsigned int me = atomic_fetch_add(&s->next_poster, 1);

	for (unsigned int i = 0; i < POSTS; i++) {
		unsigned int n = me * POSTS + i;
		struct roost_send_wr send = {
			.wr_id = n,
			.opcode = ROOST_WR_SEND,
		};
		struct roost_recv_wr recv = { .wr_id = n };
		struct roost_qp *qp = s->qps[(n * 7 + me) % STRESS_QPS];
		int rc;

		do {
			rc = n % 2 == 0 ? fixture_send(qp, &send)
					: fixture_recv(qp, &recv);
		} while ((rc == -ENOMEM || rc == -EINVAL) && keep_trying(s));
		if (rc == 0)
			atomic_fetch_add(&s->nb_posted, 1);
	}
	return NULL;
}

static void *turn_all_the_time(void *arg)
{
	struct stress *s = arg;
	uint64_t now_ns = 0;

	while (!atomic_load(&s->stop)) {
		if (!roost_worker_turn_try(s->f.worker))
			continue;
		roost_worker_iterate(s->f.worker, now_ns += 1000);
		roost_worker_turn_release(s->f.worker);
	}
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned int poll_some(struct stress *s)
{
	struct roost_cqe cqes[64];
	int n = roost_cq_poll(s->cq, 64, cqes);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		assert_true(cqes[i].wr_id < POSTERS * POSTS);
		assert_int_equal(s->seen[cqes[i].wr_id]++, 0);
	}
	return (unsigned int)n;
}

static void stress_open(struct stress *s)
{
	fixture_open(&s->f, pool);
	assert_int_equal(roost_cq_create(s->f.ctx, 2 * POSTERS * POSTS, NULL,
					 NULL, &s->cq),
			 0);
	s->seen = calloc(POSTERS * POSTS, 1);
	assert_non_null(s->seen);
	for (int i = 0; i < STRESS_QPS; i++) {
		struct roost_qp_init init = {
			.type = ROOST_QPT_RC,
			.send_cq = s->cq,
			.recv_cq = s->cq,
			.cap = { .max_send_wr = 64, .max_recv_wr = 64 },
		};

		assert_int_equal(roost_qp_create(s->f.ctx, s->f.pd, &init,
						 &s->qps[i]),
				 0);
	}
}

static void stress_close(struct stress *s)
{
	for (int i = 0; i < STRESS_QPS; i++)
		assert_int_equal(roost_qp_destroy(s->qps[i], NULL), 0);
	assert_int_equal(roost_cq_destroy(s->cq, NULL, NULL), 0);
	free(s->seen);
	fixture_close(&s->f);
}

/* Every request to a QP in ERR must be flushed, whoever posts and rings at the
 * same moment: a doorbell that is lost leaves one behind.
 */
static void ring__none_is_lost(void **state)
{
	static struct stress s;
	pthread_t posters[POSTERS], turner;
	unsigned int seen = 0, idle = 0;

	stress_open(&s);
	for (int i = 0; i < STRESS_QPS; i++)
		assert_int_equal(fixture_to(s.qps[i], ROOST_QPS_ERR), 0);
	assert_int_equal(pthread_create(&turner, NULL, turn_all_the_time, &s),
			 0);
	for (int i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&posters[i], NULL, post_much,
						&s),
				 0);
	while (seen < POSTERS * POSTS && idle < 10000) {
		unsigned int n = poll_some(&s);

		seen += n;
		idle = n == 0 ? idle + 1 : 0;
		if (n == 0)
			usleep(1000);
	}
	assert_int_equal(seen, POSTERS * POSTS);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(posters[i], NULL);
	atomic_store(&s.stop, true);
	pthread_join(turner, NULL);
	stress_close(&s);
}

/* Two requests to one QP, the second at any moment of the first's handling. */
static void ring__while_the_doorbell_is_answered(void **state)
{
	static struct stress s;
	pthread_t turner;

	stress_open(&s);
	assert_int_equal(fixture_to(s.qps[0], ROOST_QPS_ERR), 0);
	assert_int_equal(pthread_create(&turner, NULL, turn_all_the_time, &s),
			 0);
	for (uint64_t round = 0, end_ms = now_ms() + STRESS_MS;
	     now_ms() < end_ms; round++) {
		struct roost_send_wr wr = {
			.wr_id = 2 * round % (POSTERS * POSTS),
			.opcode = ROOST_WR_SEND,
		};
		unsigned int seen = 0, tries_left = 5000;

		s.seen[wr.wr_id] = s.seen[wr.wr_id + 1] = 0;
		assert_int_equal(fixture_send(s.qps[0], &wr), 0);
		for (unsigned int i = 0; i < round % 61; i++)
			rte_pause();
		wr.wr_id++;
		assert_int_equal(fixture_send(s.qps[0], &wr), 0);
		for (unsigned int i = 0; seen < 2; i++) {
			seen += poll_some(&s);
			if (i < 10000)
				continue;
			usleep(1000);
			assert_true(--tries_left > 0);
		}
	}
	atomic_store(&s.stop, true);
	pthread_join(turner, NULL);
	stress_close(&s);
}

static void once_around(struct fixture *f, struct roost_qp *qp)
{
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
	assert_int_equal(fixture_to_rts(qp), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
}

/* QPs change state under the hands of those who post; what is posted and not
 * wiped by RESET completes at most once, and nothing hangs.
 */
static void modify__while_others_post(void **state)
{
	static struct stress s;
	pthread_t posters[POSTERS], turner;
	unsigned int seen = 0;

	stress_open(&s);
	assert_int_equal(pthread_create(&turner, NULL, turn_all_the_time, &s),
			 0);
	for (int i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&posters[i], NULL, post_much,
						&s),
				 0);
	for (int round = 0; round < 200 || seen < 1000; round++) {
		for (int i = 0; i < STRESS_QPS; i++)
			once_around(&s.f, s.qps[i]);
		seen += poll_some(&s);
	}
	atomic_store(&s.posting_over, true);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(posters[i], NULL);
	atomic_store(&s.stop, true);
	pthread_join(turner, NULL);
	for (unsigned int n; (n = poll_some(&s)) > 0;)
		seen += n;
	assert_true(seen <= atomic_load(&s.nb_posted));
	stress_close(&s);
}

/* Objects come and go while the worker turns. */
static void *create_and_destroy(void *arg)
{
	const struct roost_send_wr wr = { .opcode = ROOST_WR_SEND };
	struct stress *s = arg;
	static uint8_t memory[4096];

	for (int i = 0; i < 2000; i++) {
		struct roost_qp *qp = fixture_qp_in_rts(&s->f, 4);
		struct roost_mr *mr;

		fixture_send(qp, &wr);
		if (roost_mr_reg(s->f.pd, memory, sizeof(memory), 0, 0, &mr) ==
		    0)
			roost_mr_dereg(mr);
		roost_qp_destroy(qp, NULL);
	}
	return NULL;
}

static void destroy__while_the_worker_turns(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	static struct stress s;
	pthread_t threads[2], turner;

	stress_open(&s);
	assert_int_equal(pthread_create(&turner, NULL, turn_all_the_time, &s),
			 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						create_and_destroy, &s),
				 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&s.stop, true);
	pthread_join(turner, NULL);
	assert_false(worker_is_busy(s.f.worker));
	stress_close(&s);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mbuf__own_cache),
		cmocka_unit_test(send_frame__goes_out_with_the_next_turn),
		cmocka_unit_test(send_frame__queue_full),
		cmocka_unit_test(send_frame__port_takes_nothing),
		cmocka_unit_test(send_frame__leaves_room_for_qps),
		cmocka_unit_test(iterate__out_of_mbufs),
		cmocka_unit_test(send__sends_and_does_not_look),
		cmocka_unit_test(ring__none_is_lost),
		cmocka_unit_test(ring__while_the_doorbell_is_answered),
		cmocka_unit_test(modify__while_others_post),
		cmocka_unit_test(destroy__while_the_worker_turns),
	};

	return cmocka_run_group_tests_name("worker", tests, start, NULL);
}
