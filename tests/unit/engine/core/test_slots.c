/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "lib/engine/core/slots.h"
#include "tests/cmocka.h"

#define NB_QUEUES 8u
#define NB_POSTERS 2u
#define DEPTH 32u
#define BURSTS 40000u

static struct roost_slots slots;
static struct roost_queue queues[NB_QUEUES];
static _Atomic unsigned int nb_posting;
static _Atomic unsigned int nb_wrong;

/* No CQ: a request that is done counts as polled. */
static int open_queues(void **state)
{
	(void)state;
	slots = (struct roost_slots){ .lock = ROOST_SPIN_INIT };
	for (unsigned int i = 0; i < NB_QUEUES; i++)
		assert_int_equal(roost_queue_create(&queues[i], NULL, DEPTH, 64,
						    NULL),
				 0);
	return 0;
}

static int close_queues(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < NB_QUEUES; i++) {
		roost_slots_forget(&slots, &queues[i]);
		if (!roost_queue_slots(&queues[i]))
			roost_slots_take(&slots, &queues[i]);
		roost_queue_destroy(&queues[i], NULL);
	}
	return 0;
}

/* A request says which queue it is of, and which of its requests. */
static uint32_t mark_of(const struct roost_queue *q, uint32_t index)
{
	return (uint32_t)(q - queues) << 24 | (index & 0xffffff);
}

static void post(struct roost_queue *q, unsigned int n)
{
	roost_queue_begin(q);
	if (!roost_queue_slots(q))
		roost_slots_take(&slots, q);
	for (; n > 0 && !roost_queue_is_full(q, DEPTH); n--) {
		*(uint32_t *)roost_queue_at(q, q->added) = mark_of(q, q->added);
		q->added++;
	}
	roost_queue_end(q);
}

/* Do all that was posted, as the holder of the turn. */
static void work(struct roost_queue *q)
{
	const uint32_t first =
		atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint32_t at = first;

	for (; at != atomic_load_explicit(&q->head, memory_order_acquire);
	     at++) {
		nb_wrong +=
			*(uint32_t *)roost_queue_at(q, at) != mark_of(q, at);
		roost_queue_done_silently(q, at, 0);
	}
	atomic_store_explicit(&q->tail, at, memory_order_release);
	if (at != first && roost_queue_count(q) == 0)
		roost_slots_emptied(&slots, q);
}

static unsigned int nb_with_slots(void)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < NB_QUEUES; i++)
		nb += roost_queue_slots(&queues[i]) != NULL;
	return nb;
}

/* The next queue gets what was used last. */
static void slots__last_used_first(void **state)
{
	uint8_t *last;

	(void)state;
	for (unsigned int i = 0; i < NB_QUEUES; i++) {
		post(&queues[i], 10);
		work(&queues[i]);
	}
	/* The newest one is looked at when another one is empty. */
	assert_int_equal(nb_with_slots(), 1);
	for (unsigned int i = 0; i < 3 * NB_QUEUES; i++) {
		post(&queues[i % NB_QUEUES], 10);
		last = roost_queue_slots(&queues[i % NB_QUEUES]);
		work(&queues[i % NB_QUEUES]);
		post(&queues[(i + 1) % NB_QUEUES], 10);
		assert_ptr_not_equal(roost_queue_slots(
					     &queues[(i + 1) % NB_QUEUES]),
				     last);
		work(&queues[(i + 1) % NB_QUEUES]);
		post(&queues[(i + 2) % NB_QUEUES], 10);
		assert_ptr_equal(roost_queue_slots(
					 &queues[(i + 2) % NB_QUEUES]),
				 last);
		work(&queues[(i + 2) % NB_QUEUES]);
	}
	assert_int_equal(nb_wrong, 0);
}

/* Posted to again before it was looked at: it keeps them. */
static void slots__of_a_busy_queue(void **state)
{
	(void)state;
	post(&queues[0], 10);
	work(&queues[0]);
	post(&queues[0], 1);
	post(&queues[1], 10);
	work(&queues[1]);
	assert_non_null(roost_queue_slots(&queues[0]));
	work(&queues[0]);
	work(&queues[1]);
	assert_int_equal(nb_wrong, 0);
}

static void *post_all(void *arg)
{
	for (unsigned int i = 0; i < BURSTS; i++) {
		post(&queues[(i * (1 + 2 * *(unsigned int *)arg)) % NB_QUEUES],
		     1 + i % 20);
		if (i % 64 == 0)
			sched_yield();
	}
	nb_posting--;
	return NULL;
}

/* Threads that post, and one that works. */
static void slots__threads(void **state)
{
	unsigned int numbers[NB_POSTERS];
	pthread_t threads[NB_POSTERS];

	(void)state;
	nb_posting = NB_POSTERS;
	for (unsigned int i = 0; i < NB_POSTERS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, post_all,
						&numbers[i]),
				 0);
	}
	while (nb_posting > 0) {
		for (unsigned int i = 0; i < NB_QUEUES; i++)
			work(&queues[i]);
		sched_yield();
	}
	for (unsigned int i = 0; i < NB_POSTERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < NB_QUEUES; i++)
		work(&queues[i]);
	assert_int_equal(nb_wrong, 0);
	assert_true(nb_with_slots() <= NB_QUEUES);
}

#define SLOTS_TEST(test)                                                       \
	cmocka_unit_test_setup_teardown(test, open_queues, close_queues)

static const struct CMUnitTest tests[] = {
	SLOTS_TEST(slots__last_used_first),
	SLOTS_TEST(slots__of_a_busy_queue),
	SLOTS_TEST(slots__threads),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
