/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Posts that wait to be sent together (pmd_glue/progress/batch.h): who sends
 * them, and when. The worker and the QP are the test's.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <roost/qp.h>
#include "lib/engine/core/catch.h"
#include "lib/engine/sched/worker.h"
#include "lib/event/wakes.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/progress/batch.h"
#include "pmd_glue/progress/progress.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/progress/fake_turn.h"

#define MS 1000000ull

/* A machine that gives no thread a processor for so long is out of order. */
#define END_NS (5000 * MS)

_Atomic uint32_t roost_event_wakes;

static struct roost_worker {
	struct fake_turn turn;
	atomic_uint unsent; /* posts that rang, and no iteration has seen */
	_Atomic uint64_t sent_ns; /* when the last iteration saw some */
} worker;

static struct {
	bool can_wait;
	unsigned int in_turn; /* posts that were sent at once */
	uint32_t waiting;     /* what the QP was told */
} qp;

static struct roost_progress *progress;

bool roost_catch_unblock(void)
{
	return true;
}

bool roost_worker_turn_try(struct roost_worker *w)
{
	return fake_turn_try(&w->turn);
}

void roost_worker_turn_take(struct roost_worker *w)
{
	pthread_mutex_lock(&w->turn.lock);
}

bool roost_worker_turn_release(struct roost_worker *w)
{
	pthread_mutex_unlock(&w->turn.lock);
	return roost_worker_has_work(w);
}

bool roost_worker_turn_wanted(const struct roost_worker *w)
{
	(void)w;
	return false;
}

unsigned int roost_worker_iterate(struct roost_worker *w, uint64_t now_ns)
{
	(void)now_ns;
	if (atomic_exchange(&w->unsent, 0) == 0)
		return 0;
	atomic_store(&w->sent_ns, roost_now_ns());
	return 1;
}

unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns)
{
	roost_worker_iterate(w, now_ns);
	return 1;
}

uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w)
{
	(void)w;
	return ROOST_NEVER_NS;
}

bool roost_worker_has_work(const struct roost_worker *w)
{
	return atomic_load(&w->unsent) != 0;
}

bool roost_worker_has_more(const struct roost_worker *w)
{
	(void)w;
	return false;
}

bool roost_worker_is_due_before(struct roost_worker *w, uint64_t ns)
{
	(void)w;
	(void)ns;
	return false;
}

bool roost_worker_has_looped(const struct roost_worker *w)
{
	(void)w;
	return false;
}

bool roost_worker_has_left(const struct roost_worker *w)
{
	(void)w;
	return false;
}

bool roost_qp_send_can_wait(const struct roost_qp *q, uint32_t waiting)
{
	(void)q;
	qp.waiting = waiting;
	return qp.can_wait;
}

void roost_qp_send_end(struct roost_qp *q)
{
	(void)q;
	atomic_fetch_add(&worker.unsent, 1);
}

void roost_qp_send_end_in_turn(struct roost_qp *q)
{
	(void)q;
	qp.in_turn++;
}

static int start(void **state)
{
	const struct roost_progress_conf conf = {
		.worker = &worker,
		.mode = ROOST_PROGRESS_ADAPTIVE,
	};

	fake_turn_init(&worker.turn);
	atomic_store(&worker.unsent, 0);
	qp.can_wait = true;
	qp.in_turn = 0;
	assert_int_equal(roost_progress_start(&conf, &progress), 0);
	return 0;
}

static int stop(void **state)
{
	roost_progress_stop(progress);
	return 0;
}

/* Post one. Returns whether it waits; the thread may have seen it since. */
static bool post_waits(void)
{
	unsigned int in_turn = qp.in_turn;

	roost_progress_send_end(progress, NULL);
	return qp.in_turn == in_turn && atomic_load(&worker.unsent) != 0;
}

/* Poll and post until a post waits: then the thread is watching. */
static void post_until_one_waits(void)
{
	uint64_t end_ns = roost_now_ns() + END_NS;

	do {
		assert_true(roost_now_ns() < end_ns);
		roost_progress_help(progress);
	} while (!post_waits());
}

static void batch__nothing_waits_where_the_qp_is_idle(void **state)
{
	uint64_t end_ns = roost_now_ns() + 20 * MS;

	qp.can_wait = false;
	while (roost_now_ns() < end_ns) {
		roost_progress_help(progress);
		/* The turn may be the thread's at that moment. */
		post_waits();
	}
	assert_int_equal(qp.waiting, 0);
	assert_true(qp.in_turn > 0);
}

/* Nobody polls: the thread has the port, and watches for nothing. */
static void batch__nothing_waits_without_a_watch(void **state)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50 * MS }, NULL);
	for (int i = 0; i < 1000 && qp.in_turn == 0; i++)
		roost_progress_send_end(progress, NULL);
	assert_true(qp.in_turn > 0);
}

/* The thread comes now and then, and sends sooner: then the burst begins again,
 * and only what is left of it waits.
 */
static void batch__the_last_of_a_burst_sends_all(void **state)
{
	unsigned int longest = 0;

	for (int i = 0; i < 1000 && longest != ROOST_BATCH_POSTS - 1; i++) {
		longest = 0;
		post_until_one_waits();
		do {
			unsigned int n = atomic_load(&worker.unsent);

			assert_in_range(n, 0, ROOST_BATCH_POSTS - 1);
			longest = n > longest ? n : longest;
		} while (post_waits());
	}
	assert_int_equal(longest, ROOST_BATCH_POSTS - 1);
}

/* At once, and not by the thread: the turn is the test's alone. */
static void check_sends(void (*something)(struct roost_progress *t))
{
	fake_turn_bar(&worker.turn);
	for (int i = 0; i < 100; i++) {
		post_until_one_waits();
		something(progress);
		assert_int_equal(atomic_load(&worker.unsent), 0);
	}
}

static void batch__polling_sends_them(void **state)
{
	check_sends(roost_progress_send_batched);
}

static void batch__arming_sends_them(void **state)
{
	check_sends(roost_progress_expect);
}

/* The application goes away. On a busy machine the thread gets its processor
 * late, but not each time.
 */
static void batch__the_thread_sends_what_is_left(void **state)
{
	unsigned int in_time = 0;

	for (int i = 0; i < 200 && in_time < 5; i++) {
		uint64_t posted_ns, end_ns;

		post_until_one_waits();
		posted_ns = roost_now_ns();
		end_ns = posted_ns + END_NS;
		while (atomic_load(&worker.unsent) != 0) {
			assert_true(roost_now_ns() < end_ns);
			sched_yield();
		}
		if (atomic_load(&worker.sent_ns) <
		    posted_ns + 2 * ROOST_BATCH_NS)
			in_time++;
	}
	assert_int_equal(in_time, 5);
}

/* It is told how many wait, so that they do not count as sent. */
static void batch__the_qp_hears_how_many_wait(void **state)
{
	for (int i = 0; i < 1000; i++) {
		post_until_one_waits();
		if (post_waits() && qp.waiting == 1)
			return;
	}
	fail_msg("no second post waited");
}

/* ---- how often the thread looks ---------------------------------------- */

/* So many more posts, and the thread looks again when it said. */
static uint64_t look(struct roost_batch *g, uint64_t *now_ns, uint64_t sleep_ns,
		     unsigned int nb_posts)
{
	*now_ns += sleep_ns;
	atomic_fetch_add(&g->posts, nb_posts);
	return roost_batch_watch(g, *now_ns);
}

static void batch__few_posts_are_looked_after_often(void **state)
{
	struct roost_batch g = { 0 };
	uint64_t now_ns = 5000 * MS;

	assert_int_equal(look(&g, &now_ns, 0, 0), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(look(&g, &now_ns, ROOST_BATCH_NS, 99),
				 ROOST_BATCH_NS);
}

/* Never longer than the stream went on. */
static void batch__a_stream_is_looked_after_less_often(void **state)
{
	struct roost_batch g = { 0 };
	uint64_t now_ns = 5000 * MS;
	uint64_t ns, began_ns;

	ns = look(&g, &now_ns, 0, 1);
	assert_int_equal(ns, ROOST_BATCH_NS);
	began_ns = now_ns;
	for (int i = 0; i < 10; i++) {
		ns = look(&g, &now_ns, ns, (unsigned int)(ns / 100));
		assert_in_range(ns, ROOST_BATCH_NS + 1, ROOST_BATCH_MAX_NS);
		assert_in_range(ns, 0, now_ns - began_ns + ROOST_BATCH_NS);
	}
	assert_int_equal(ns, ROOST_BATCH_MAX_NS);
	/* Looking too early says nothing about the stream. */
	assert_int_equal(look(&g, &now_ns, 1000, 10), ROOST_BATCH_MAX_NS);
	/* It ends. */
	assert_int_equal(look(&g, &now_ns, ns, 15), ROOST_BATCH_NS);
	assert_int_equal(look(&g, &now_ns, ROOST_BATCH_WATCH_NS, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(batch__nothing_waits_where_the_qp_is_idle),
		TEST(batch__nothing_waits_without_a_watch),
		TEST(batch__the_last_of_a_burst_sends_all),
		TEST(batch__polling_sends_them),
		TEST(batch__arming_sends_them),
		TEST(batch__the_thread_sends_what_is_left),
		TEST(batch__the_qp_hears_how_many_wait),
		cmocka_unit_test(batch__few_posts_are_looked_after_often),
		cmocka_unit_test(batch__a_stream_is_looked_after_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
