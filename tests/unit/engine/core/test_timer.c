/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>

#include <limits.h>

#include "lib/engine/core/timer.h"
#include "tests/cmocka.h"

#define TICK_NS (1ull << ROOST_TIMER_TICK_SHIFT)
#define ROUND_NS (TICK_NS * ROOST_TIMER_SLOTS)
/* A clock that has been going for a while. */
#define START_NS 123456789012345ull

static struct roost_timer_wheel wheel;

static int start(void **state)
{
	roost_timer_wheel_init(&wheel, START_NS);
	return 0;
}

/* How many fire at now_ns; each must be due. */
static unsigned int fire(uint64_t now_ns)
{
	unsigned int left = UINT_MAX, n = 0;
	struct roost_timer *timer;

	while ((timer = roost_timer_wheel_expired(&wheel, now_ns, &left)) !=
	       NULL) {
		assert_true(timer->deadline_ns <= now_ns);
		assert_false(roost_timer_is_set(timer));
		n++;
	}
	return n;
}

static void timer__empty_wheel(void **state)
{
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), UINT64_MAX);
	assert_int_equal(fire(START_NS), 0);
	assert_int_equal(fire(START_NS + 100 * ROUND_NS), 0);
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), UINT64_MAX);
}

/* Never early, and late by less than a tick. */
static void timer_set__fires_in_its_tick(void **state)
{
	static const uint64_t after[] = {
		1,           TICK_NS - 1,       TICK_NS,
		TICK_NS + 1, 10 * TICK_NS,      64 * TICK_NS,
		1000000,     ROUND_NS - TICK_NS
	};

	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		struct roost_timer timer = { 0 };
		uint64_t deadline = START_NS + after[i];

		roost_timer_wheel_init(&wheel, START_NS);
		roost_timer_set(&wheel, &timer, deadline);
		assert_true(roost_timer_is_set(&timer));
		assert_int_equal(fire(deadline - 1), 0);
		assert_in_range(roost_timer_wheel_next_ns(&wheel), deadline,
				deadline + TICK_NS - 1);
		assert_int_equal(fire(roost_timer_wheel_next_ns(&wheel)), 1);
		assert_int_equal(roost_timer_wheel_next_ns(&wheel), UINT64_MAX);
	}
}

static void timer_set__past_deadline_fires_next(void **state)
{
	struct roost_timer timer = { 0 };

	fire(START_NS + 5 * ROUND_NS);
	roost_timer_set(&wheel, &timer, START_NS);
	assert_true(roost_timer_wheel_next_ns(&wheel) <=
		    START_NS + 5 * ROUND_NS);
	assert_int_equal(fire(START_NS + 5 * ROUND_NS), 1);
}

/* A later deadline is only written down; it must not fire at the old one. */
static void timer_set__later(void **state)
{
	struct roost_timer timer = { 0 };

	roost_timer_set(&wheel, &timer, START_NS + 10 * TICK_NS);
	for (uint64_t i = 11; i < 100; i++) {
		roost_timer_set(&wheel, &timer, START_NS + i * TICK_NS);
		assert_int_equal(fire(START_NS + (i - 1) * TICK_NS), 0);
	}
	assert_int_equal(fire(START_NS + 100 * TICK_NS), 1);
	assert_int_equal(fire(START_NS + ROUND_NS), 0);
}

static void timer_set__earlier(void **state)
{
	struct roost_timer timer = { 0 };

	roost_timer_set(&wheel, &timer, START_NS + 5000 * TICK_NS);
	roost_timer_set(&wheel, &timer, START_NS + 20 * TICK_NS);
	assert_in_range(roost_timer_wheel_next_ns(&wheel),
			START_NS + 20 * TICK_NS, START_NS + 21 * TICK_NS);
	assert_int_equal(fire(START_NS + 21 * TICK_NS), 1);
	assert_int_equal(fire(START_NS + 6000 * TICK_NS), 0);
}

static void timer_set__beyond_one_round(void **state)
{
	static const uint64_t rounds[] = { 1, 2, 7, 131072 };

	for (size_t i = 0; i < 4; i++) {
		struct roost_timer timer = { 0 };
		uint64_t deadline = START_NS + rounds[i] * ROUND_NS + 77;
		uint64_t now, wakeups = 0;

		roost_timer_wheel_init(&wheel, START_NS);
		roost_timer_set(&wheel, &timer, deadline);
		/* As a sleeper does it: from one next_ns to the other. */
		while (roost_timer_is_set(&timer)) {
			now = roost_timer_wheel_next_ns(&wheel);
			if (fire(now) == 1) {
				assert_in_range(now, deadline,
						deadline + TICK_NS - 1);
				break;
			}
			assert_true(roost_timer_wheel_next_ns(&wheel) > now);
			wakeups++;
		}
		assert_false(roost_timer_is_set(&timer));
		assert_in_range(wakeups, rounds[i], rounds[i] + 20);
	}
}

/* Time may jump: a process was stopped. */
static void timer__clock_jumps(void **state)
{
	struct roost_timer timers[64] = { 0 };

	for (uint64_t i = 0; i < 64; i++)
		roost_timer_set(&wheel, &timers[i],
				START_NS + i * i * ROUND_NS / 16);
	assert_int_equal(fire(START_NS + 10000 * ROUND_NS), 64);
}

static void timer_cancel__does_not_fire(void **state)
{
	struct roost_timer timer = { 0 };

	roost_timer_set(&wheel, &timer, START_NS + 10 * TICK_NS);
	roost_timer_cancel(&timer);
	assert_false(roost_timer_is_set(&timer));
	assert_int_equal(fire(START_NS + ROUND_NS), 0);
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), UINT64_MAX);
	/* Cancelled while in the wheel, and set again: sooner and later. */
	roost_timer_set(&wheel, &timer, START_NS + ROUND_NS + 100 * TICK_NS);
	roost_timer_cancel(&timer);
	roost_timer_set(&wheel, &timer, START_NS + ROUND_NS + 50 * TICK_NS);
	assert_int_equal(fire(START_NS + ROUND_NS + 51 * TICK_NS), 1);
	roost_timer_set(&wheel, &timer, START_NS + ROUND_NS + 100 * TICK_NS);
	roost_timer_cancel(&timer);
	roost_timer_set(&wheel, &timer, START_NS + ROUND_NS + 200 * TICK_NS);
	assert_int_equal(fire(START_NS + ROUND_NS + 199 * TICK_NS), 0);
	assert_int_equal(fire(START_NS + ROUND_NS + 201 * TICK_NS), 1);
}

/* A program that sleeps between messages cancels one with each. */
static void timer_drop_cancelled__leaves_what_fires(void **state)
{
	const uint64_t at_ns = 4 * TICK_NS;
	struct roost_timer some[4] = { 0 };

	(void)state;
	roost_timer_wheel_init(&wheel, 0);
	for (unsigned int i = 0; i < 4; i++)
		roost_timer_set(&wheel, &some[i], (i + 1) * at_ns);
	roost_timer_cancel(&some[0]);
	roost_timer_cancel(&some[1]);
	roost_timer_cancel(&some[3]);
	roost_timer_wheel_drop_cancelled(&wheel, 2 * at_ns);
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), 2 * at_ns);
	roost_timer_wheel_drop_cancelled(&wheel, UINT64_MAX);
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), 3 * at_ns);
	roost_timer_cancel(&some[2]);
	roost_timer_wheel_drop_cancelled(&wheel, UINT64_MAX);
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), UINT64_MAX);
}

static void timer_remove__leaves_the_others(void **state)
{
	struct roost_timer a = { 0 }, b = { 0 }, c = { 0 };
	uint64_t deadline = START_NS + 10 * TICK_NS;

	roost_timer_remove(&wheel, &a); /* never set */
	roost_timer_set(&wheel, &a, deadline);
	roost_timer_set(&wheel, &b, deadline);
	roost_timer_set(&wheel, &c, deadline);
	roost_timer_remove(&wheel, &b);
	assert_false(roost_timer_is_set(&b));
	assert_int_equal(fire(deadline + TICK_NS), 2);
	roost_timer_set(&wheel, &b, deadline + ROUND_NS / 2);
	roost_timer_remove(&wheel, &b);
	assert_int_equal(roost_timer_wheel_next_ns(&wheel), UINT64_MAX);
}

/* Some at a time, those that are due and those that are only moved: no more are
 * looked at, none is lost, and the wheel says that there are others.
 */
static void timer_expired__is_bounded(void **state)
{
	enum {
		N = 1000
	};
	static struct roost_timer timers[N];
	uint64_t now = START_NS + 10 * TICK_NS;
	unsigned int fired = 0, looks = 0;

	for (int i = 0; i < N; i++)
		roost_timer_set(&wheel, &timers[i], now - 2 * TICK_NS);
	for (int i = 0; i < N; i += 2)
		roost_timer_set(&wheel, &timers[i], now + 100 * TICK_NS);
	while (roost_timer_wheel_next_ns(&wheel) <= now) {
		unsigned int left = 16;

		while (roost_timer_wheel_expired(&wheel, now, &left) != NULL)
			fired++;
		assert_in_range(left, 0, 15);
		assert_in_range(++looks, 1, N / 16 + 1);
	}
	assert_int_equal(fired, N / 2);
	assert_in_range(looks, N / 16, N / 16 + 1);
	assert_int_equal(fire(now + 101 * TICK_NS), N / 2);
}

/* Against a list that is searched from end to end. */
static void timer__like_a_plain_list(void **state)
{
	enum {
		N = 200
	};
	static struct roost_timer timers[N];
	uint64_t want[N];
	uint64_t now = START_NS;

	srand(1);
	for (int i = 0; i < N; i++)
		want[i] = UINT64_MAX;
	for (int step = 0; step < 20000; step++) {
		int i = rand() % N;
		unsigned int left = UINT_MAX;
		struct roost_timer *timer;

		switch (rand() % 8) {
		case 0:
			roost_timer_cancel(&timers[i]);
			want[i] = UINT64_MAX;
			break;
		case 1:
			roost_timer_remove(&wheel, &timers[i]);
			want[i] = UINT64_MAX;
			break;
		default:
			want[i] = now + (1ull << rand() % 31);
			roost_timer_set(&wheel, &timers[i], want[i]);
			break;
		}
		now += 1ull << rand() % 22;
		while ((timer = roost_timer_wheel_expired(&wheel, now,
							  &left)) != NULL) {
			i = (int)(timer - timers);
			assert_true(want[i] <= now);
			want[i] = UINT64_MAX;
		}
		for (i = 0; i < N; i++) {
			/* One that is due for a whole tick has fired. */
			assert_true(want[i] == UINT64_MAX ||
				    want[i] + TICK_NS > now);
			if (want[i] != UINT64_MAX)
				assert_true(roost_timer_wheel_next_ns(&wheel) <
					    want[i] + TICK_NS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(timer__empty_wheel, start),
		cmocka_unit_test_setup(timer_set__fires_in_its_tick, start),
		cmocka_unit_test_setup(timer_set__past_deadline_fires_next,
				       start),
		cmocka_unit_test_setup(timer_set__later, start),
		cmocka_unit_test_setup(timer_set__earlier, start),
		cmocka_unit_test_setup(timer_set__beyond_one_round, start),
		cmocka_unit_test_setup(timer__clock_jumps, start),
		cmocka_unit_test_setup(timer_cancel__does_not_fire, start),
		cmocka_unit_test_setup(timer_drop_cancelled__leaves_what_fires,
				       start),
		cmocka_unit_test_setup(timer_remove__leaves_the_others, start),
		cmocka_unit_test_setup(timer_expired__is_bounded, start),
		cmocka_unit_test_setup(timer__like_a_plain_list, start),
	};

	return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
