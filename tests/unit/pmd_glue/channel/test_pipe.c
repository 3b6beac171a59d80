/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "pmd_glue/channel/pipe.h"
#include "pmd_glue/channel/sleep.h"
#include "tests/cmocka.h"

#define LEN 8u
#define SLOTS 16u

static struct roost_shm_memory a, b;
static struct roost_shm_out out;
static struct roost_shm_in in;

/* The pipe from a's seat 1 to b's seat 0. */
static int open_pipe(void **state)
{
	const struct roost_shm_shape shape = { SLOTS, 4352, 2, LEN };

	assert_int_equal(roost_shm_memory_make(&shape, &a), 0);
	assert_int_equal(roost_shm_memory_make(&shape, &b), 0);
	roost_shm_out_open(&out, &a, 1, &b, 0);
	roost_shm_in_open(&in, &b, 0, &a, 1);
	return 0;
}

static int close_pipe(void **state)
{
	roost_shm_memory_close(&a);
	roost_shm_memory_close(&b);
	return 0;
}

/* Both ends go on from there, as after so many frames. */
static void begin_at(uint32_t position)
{
	out.published = out.freed = in.taken = in.given = position;
	atomic_store(in.count, position);
	for (uint32_t p = position; p != position + LEN; p++)
		atomic_store(&out.ring[p % LEN],
			     (uint64_t)(p + 1 - LEN) << 32 | 60);
}

static uint32_t take_all(struct roost_shm_entry *entries)
{
	return roost_shm_in_take(&in, entries, LEN);
}

static uint64_t word(uint32_t sequence, uint32_t slot, uint32_t len_bytes)
{
	return (uint64_t)sequence << 32 | slot << 16 | len_bytes;
}

/* ---- frames ----------------------------------------------------------------
 */

static void pipe__frames_come_in_order(void **state)
{
	struct roost_shm_entry e[LEN];

	assert_int_equal(take_all(e), 0);
	for (uint32_t i = 0; i < 5; i++)
		roost_shm_out_publish(&out, 15 - i, 60 + i);
	assert_int_equal(roost_shm_in_take(&in, e, 2), 2);
	assert_int_equal(roost_shm_in_take(&in, e + 2, LEN), 3);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(e[i].slot, 15 - i);
		assert_int_equal(e[i].len_bytes, 60 + i);
	}
	assert_int_equal(take_all(e), 0);
	assert_int_equal(in.fault, ROOST_SHM_OK);
}

static void pipe__slots_come_back_as_they_are_given(void **state)
{
	struct roost_shm_entry e[LEN];

	for (uint32_t i = 0; i < 5; i++)
		roost_shm_out_publish(&out, 10 - i, 60);
	assert_int_equal(roost_shm_out_collect(&out), 0);
	assert_int_equal(take_all(e), 5);
	assert_int_equal(roost_shm_out_collect(&out), 0);
	roost_shm_in_give(&in, 2);
	assert_int_equal(roost_shm_out_collect(&out), 2);
	assert_int_equal(roost_shm_out_slot(&out, 0), 10);
	assert_int_equal(roost_shm_out_slot(&out, 1), 9);
	roost_shm_out_free(&out, 2);
	assert_int_equal(roost_shm_out_pending(&out), 3);
	roost_shm_in_give(&in, 3);
	assert_int_equal(roost_shm_out_collect(&out), 3);
	assert_int_equal(roost_shm_out_slot(&out, 0), 8);
	roost_shm_out_free(&out, 3);
	assert_int_equal(roost_shm_out_pending(&out), 0);
}

/* Positions and sequence numbers pass 2^32 like any other number. */
static void pipe__numbers_wrap(void **state)
{
	struct roost_shm_entry e[LEN];

	begin_at(UINT32_MAX - 20);
	for (uint32_t i = 0; i < 50; i++) {
		for (uint32_t k = 0; k < 5; k++)
			roost_shm_out_publish(&out, (i + k) % SLOTS, 100 + i);
		assert_int_equal(take_all(e), 5);
		for (uint32_t k = 0; k < 5; k++) {
			assert_int_equal(e[k].slot, (i + k) % SLOTS);
			assert_int_equal(e[k].len_bytes, 100 + i);
		}
		assert_int_equal(take_all(e), 0);
		roost_shm_in_give(&in, 5);
		assert_int_equal(roost_shm_out_collect(&out), 5);
		roost_shm_out_free(&out, 5);
	}
	assert_int_equal(in.fault, ROOST_SHM_OK);
	assert_int_equal(out.fault, ROOST_SHM_OK);
}

static void pipe__seat_is_cleared_for_the_next_peer(void **state)
{
	struct roost_shm_entry e[LEN];

	for (uint32_t i = 0; i < LEN; i++)
		roost_shm_out_publish(&out, i, 60);
	assert_int_equal(take_all(e), LEN);
	roost_shm_in_give(&in, LEN);
	roost_shm_pipes_clear(&a, 1);
	roost_shm_pipes_clear(&b, 0);
	roost_shm_out_open(&out, &a, 1, &b, 0);
	roost_shm_in_open(&in, &b, 0, &a, 1);
	assert_int_equal(roost_shm_out_collect(&out), 0);
	assert_int_equal(take_all(e), 0);
	roost_shm_out_publish(&out, 3, 61);
	assert_int_equal(take_all(e), 1);
	assert_int_equal(e[0].slot, 3);
}

/* ---- hostile senders --------------------------------------------------------
 */

/* What a word that stands where the next one is due leads to. */
static void expect(uint64_t value, enum roost_shm_fault fault)
{
	struct roost_shm_entry e[LEN];

	atomic_store(&out.ring[in.taken % LEN], value);
	assert_int_equal(take_all(e), 0);
	assert_int_equal(in.fault, fault);
	/* For good. */
	if (fault != ROOST_SHM_OK) {
		atomic_store(&out.ring[in.taken % LEN],
			     word(in.taken + 1, 0, 60));
		assert_int_equal(take_all(e), 0);
		in.fault = ROOST_SHM_OK;
	}
}

static void in__words_that_no_sender_writes(void **state)
{
	begin_at(1000);
	expect(word(1001, SLOTS, 60), ROOST_SHM_BAD_SLOT);
	expect(word(1001, 0xffff, 60), ROOST_SHM_BAD_SLOT);
	expect(word(1001, 0, 0), ROOST_SHM_BAD_LENGTH);
	expect(word(1001, 0, 13), ROOST_SHM_BAD_LENGTH);
	expect(word(1001, 0, 4352 - 128 + 1), ROOST_SHM_BAD_LENGTH);
	expect(word(1001, 0, 0xffff), ROOST_SHM_BAD_LENGTH);
	expect(word(1000, 0, 60), ROOST_SHM_BAD_SEQUENCE);
	expect(word(1002, 0, 60), ROOST_SHM_BAD_SEQUENCE);
	expect(word(1001 + LEN, 0, 60), ROOST_SHM_BAD_SEQUENCE);
	expect(0, ROOST_SHM_BAD_SEQUENCE);
	expect(UINT64_MAX, ROOST_SHM_BAD_SEQUENCE);
	expect(word(1001 - LEN, 0, 60), ROOST_SHM_OK);
	expect(word(1001 - LEN, 0xffff, 0xffff), ROOST_SHM_OK);
}

static void in__bounds_themselves_are_good(void **state)
{
	struct roost_shm_entry e[LEN];

	roost_shm_out_publish(&out, SLOTS - 1, 4352 - 128);
	roost_shm_out_publish(&out, 0, 14);
	assert_int_equal(take_all(e), 2);
	assert_int_equal(in.fault, ROOST_SHM_OK);
}

/* Good frames before a bad one are taken. */
static void in__fault_comes_behind_good_frames(void **state)
{
	struct roost_shm_entry e[LEN];

	roost_shm_out_publish(&out, 1, 60);
	roost_shm_out_publish(&out, 2, 60);
	roost_shm_out_publish(&out, 99, 60);
	assert_int_equal(take_all(e), 2);
	assert_int_equal(in.fault, ROOST_SHM_OK);
	assert_int_equal(take_all(e), 0);
	assert_int_equal(in.fault, ROOST_SHM_BAD_SLOT);
	assert_string_equal(roost_shm_fault_text(ROOST_SHM_BAD_SLOT),
			    "a descriptor of no slot");
}

/* A sender that overwrites what was not given back gets no more taken. */
static void in__holds_no_more_than_a_ring(void **state)
{
	struct roost_shm_entry e[4 * LEN];

	for (uint32_t i = 0; i < LEN; i++)
		roost_shm_out_publish(&out, i, 60);
	assert_int_equal(roost_shm_in_take(&in, e, 4 * LEN), LEN);
	for (uint32_t i = 0; i < LEN; i++)
		roost_shm_out_publish(&out, i, 60);
	assert_int_equal(roost_shm_in_take(&in, e, 4 * LEN), 0);
	roost_shm_in_give(&in, 3);
	assert_int_equal(roost_shm_in_take(&in, e, 4 * LEN), 3);
}

/* ---- hostile receivers ------------------------------------------------------
 */

static void out__counts_that_no_receiver_writes(void **state)
{
	static const uint32_t bad[] = { 999,        1006,       1000 - LEN, 0,
					UINT32_MAX, 1000 + LEN, 1u << 31 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin_at(1000);
		for (uint32_t k = 0; k < 5; k++)
			roost_shm_out_publish(&out, k, 60);
		atomic_store(in.count, bad[i]);
		assert_int_equal(roost_shm_out_collect(&out), 0);
		assert_int_equal(out.fault, ROOST_SHM_BAD_COUNT);
		/* For good. */
		atomic_store(in.count, 1002);
		assert_int_equal(roost_shm_out_collect(&out), 0);
		out.fault = ROOST_SHM_OK;
	}
	assert_int_equal(roost_shm_out_collect(&out), 2);
}

static void out__count_that_goes_back(void **state)
{
	begin_at(1000);
	for (uint32_t k = 0; k < 5; k++)
		roost_shm_out_publish(&out, k, 60);
	atomic_store(in.count, 1003);
	assert_int_equal(roost_shm_out_collect(&out), 3);
	roost_shm_out_free(&out, 3);
	atomic_store(in.count, 1002);
	assert_int_equal(roost_shm_out_collect(&out), 0);
	assert_int_equal(out.fault, ROOST_SHM_BAD_COUNT);
}

/* Whatever one end writes, the other one stays inside its bounds. */
static void pipe__survives_random_words(void **state)
{
	struct roost_shm_entry e[LEN];
	uint64_t random = 88172645463325252u;

	for (int i = 0; i < 1000000; i++) {
		uint32_t n, old_freed = out.freed;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Mostly near to what is due. */
		atomic_store(&out.ring[random % LEN],
			     word(in.taken + (uint32_t)(random >> 60),
				  (uint32_t)(random >> 40) % (SLOTS + 1),
				  (uint32_t)(random >> 20) % 4300));
		n = take_all(e);
		assert_true(n <= LEN);
		for (uint32_t k = 0; k < n; k++) {
			assert_true(e[k].slot < SLOTS);
			assert_in_range(e[k].len_bytes, 14, 4352 - 128);
		}
		roost_shm_in_give(&in, n);
		out.published = out.freed + (uint32_t)(random >> 50) % LEN;
		atomic_store(in.count,
			     out.freed + (uint32_t)(random >> 55) % 10);
		n = roost_shm_out_collect(&out);
		assert_true(n <= LEN);
		roost_shm_out_free(&out, n);
		assert_true(out.freed - old_freed <= LEN);
		in.fault = out.fault = ROOST_SHM_OK;
	}
}

/* ---- two threads
 * ------------------------------------------------------------- */

#ifndef __SANITIZE_THREAD__
#define FRAMES 3000000u
#else
#define FRAMES 300000u
#endif
#define FRAME_BYTES 72u

static _Atomic uint64_t *sleeps_of_b;
static atomic_bool rung_bell;

static void *send_frames(void *unused)
{
	uint16_t idle[SLOTS];
	uint32_t nb_idle = 0;
	uint64_t rung = 0;

	for (uint16_t i = 0; i < SLOTS; i++)
		idle[nb_idle++] = i;
	for (uint32_t i = 0; i < FRAMES;) {
		uint32_t n = roost_shm_out_collect(&out);

		for (uint32_t k = 0; k < n; k++)
			idle[nb_idle++] = (uint16_t)roost_shm_out_slot(&out, k);
		roost_shm_out_free(&out, n);
		if (roost_shm_out_pending(&out) == LEN) {
			sched_yield();
			continue;
		}
		nb_idle--;
		memset(roost_shm_slot(&a, idle[nb_idle]), (uint8_t)i,
		       FRAME_BYTES);
		roost_shm_out_publish(&out, idle[nb_idle], 14 + i++ % 50);
		if (roost_shm_must_ring(sleeps_of_b, &rung))
			atomic_store(&rung_bell, true);
	}
	return unused;
}

/* Nothing else than the bell ends the wait: a lost wake-up is a hang. */
static void sleep_till_frames(void)
{
	struct roost_shm_entry e;
	struct roost_shm_in copy = in;

	roost_shm_sleep_begin(sleeps_of_b);
	if (roost_shm_in_take(&copy, &e, 1) == 0)
		while (!atomic_exchange(&rung_bell, false))
			sched_yield();
	roost_shm_sleep_end(sleeps_of_b);
}

static void pipe__two_threads(void **state)
{
	struct roost_shm_entry e[LEN];
	uint8_t expected[FRAME_BYTES];
	pthread_t sender;
	uint32_t nb = 0;

	begin_at(UINT32_MAX - FRAMES / 2);
	sleeps_of_b = roost_shm_sleeps(&b);
	assert_int_equal(pthread_create(&sender, NULL, send_frames, NULL), 0);
	while (nb < FRAMES) {
		uint32_t n = take_all(e);

		if (n == 0) {
			assert_int_equal(in.fault, ROOST_SHM_OK);
			sleep_till_frames();
			continue;
		}
		for (uint32_t i = 0; i < n; i++, nb++) {
			memset(expected, (uint8_t)nb, FRAME_BYTES);
			if (e[i].len_bytes != 14 + nb % 50 ||
			    memcmp(roost_shm_slot(&a, e[i].slot), expected,
				   FRAME_BYTES) != 0)
				fail_msg("frame %u", nb);
		}
		roost_shm_in_give(&in, n);
	}
	pthread_join(sender, NULL);
	assert_int_equal(out.fault, ROOST_SHM_OK);
}

/* ---- sleep
 * -------------------------------------------------------------------- */

static void sleep__one_ring_for_each_sleep(void **state)
{
	_Atomic uint64_t *sleeps = roost_shm_sleeps(&b);
	uint64_t rung = 0;

	assert_false(roost_shm_must_ring(sleeps, &rung));
	for (int i = 0; i < 3; i++) {
		roost_shm_sleep_begin(sleeps);
		assert_true(roost_shm_must_ring(sleeps, &rung));
		assert_false(roost_shm_must_ring(sleeps, &rung));
		roost_shm_sleep_end(sleeps);
		assert_false(roost_shm_must_ring(sleeps, &rung));
	}
}

#define pipe_test(f) cmocka_unit_test_setup_teardown(f, open_pipe, close_pipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipe_test(pipe__frames_come_in_order),
		pipe_test(pipe__slots_come_back_as_they_are_given),
		pipe_test(pipe__numbers_wrap),
		pipe_test(pipe__seat_is_cleared_for_the_next_peer),
		pipe_test(in__words_that_no_sender_writes),
		pipe_test(in__bounds_themselves_are_good),
		pipe_test(in__fault_comes_behind_good_frames),
		pipe_test(in__holds_no_more_than_a_ring),
		pipe_test(out__counts_that_no_receiver_writes),
		pipe_test(out__count_that_goes_back),
		pipe_test(pipe__survives_random_words),
		pipe_test(pipe__two_threads),
		pipe_test(sleep__one_ring_for_each_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
