/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Ascending copies: right for every length and place, and, seen from another
 * core, the end never before the rest.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "lib/engine/core/copy.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/each_kernel.h"

#define LEN_MAX 4096u
#define PLACES 72u
#define GUARD 0xa5
#define ROUND_MS 6

static void copy__every_length_and_place(void **state)
{
	static uint8_t from[2 * PLACES + 1200], to[2 * PLACES + 1200];
	size_t step = 1;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + 1);
	for (size_t len = 0; len <= 1200; len += step) {
		step = len < 300 ? 1 : 19;
		for (size_t place = 0; place < 256; place++) {
			const uint8_t *src = from + place % 16;
			uint8_t *dst = to + PLACES + place / 16;

			memset(to, GUARD, sizeof(to));
			assert_false(roost_copy_ascending(dst, src, len));
			assert_memory_equal(dst, src, len);
			for (uint8_t *p = to; p < to + sizeof(to); p++)
				if (p < dst || p >= dst + len)
					assert_int_equal(*p, GUARD);
		}
	}
}

static void copy_last_bytes__is_as_wide_as_aligned(void **state)
{
	static const struct {
		uintptr_t end;
		size_t len, last;
	} rows[] = {
		{ 0x1000, 100, 8 }, { 0x1000, 8, 8 },   { 0x1000, 7, 4 },
		{ 0x1000, 4, 4 },   { 0x1000, 3, 2 },   { 0x1000, 2, 2 },
		{ 0x1000, 1, 1 },   { 0x1008, 100, 8 }, { 0x1004, 100, 4 },
		{ 0x100c, 3, 2 },   { 0x1002, 100, 2 }, { 0x1001, 100, 1 },
		{ 0x1007, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			roost_copy_last_bytes((const uint8_t *)rows[i].end,
					      rows[i].len),
			rows[i].last);
}

/* ---- seen from another core ---------------------------------------------- */

/* Copy number n has the byte n everywhere. Whoever sees n in one byte, and
 * looks at those before it then, finds n there or what came later.
 */
struct hammer {
	_Alignas(64) uint8_t to[LEN_MAX + PLACES];
	_Alignas(64) uint8_t from[LEN_MAX + PLACES];
	_Alignas(64) atomic_uint begun; /* number of the newest copy */
	_Alignas(64) atomic_bool stop;
	size_t len_bytes;
	uint8_t *at;
	pthread_t copier;
};

static struct hammer hammer;

static void *copy_all_the_time(void *arg)
{
	struct hammer *h = arg;

	for (unsigned int n = 1; !atomic_load(&h->stop); n++) {
		memset(h->from, (uint8_t)n, sizeof(h->from));
		atomic_store(&h->begun, n);
		roost_copy_ascending(h->at, h->from + n % 16, h->len_bytes);
	}
	return NULL;
}

static void hammer_start(struct hammer *h, size_t place, size_t len_bytes)
{
	memset(h->to, 0, sizeof(h->to));
	h->at = h->to + place;
	h->len_bytes = len_bytes;
	atomic_store(&h->begun, 0);
	atomic_store(&h->stop, false);
	assert_int_equal(pthread_create(&h->copier, NULL, copy_all_the_time, h),
			 0);
}

static void hammer_stop(struct hammer *h)
{
	atomic_store(&h->stop, true);
	pthread_join(h->copier, NULL);
}

/* Returns whether one before the last byte was older than that. A sample that
 * took too long to tell old from new says nothing.
 */
static bool is_out_of_order(const struct hammer *h)
{
	unsigned int before = atomic_load(&h->begun);
	uint8_t last =
		__atomic_load_n(h->at + h->len_bytes - 1, __ATOMIC_ACQUIRE);
	int oldest = 0;

	for (size_t i = h->len_bytes - 1; i-- > 0;) {
		int8_t age =
			(int8_t)(__atomic_load_n(h->at + i, __ATOMIC_RELAXED) -
				 last);

		if (age < oldest)
			oldest = age;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return oldest < 0 && atomic_load(&h->begun) - before < 100;
}

static bool time_is_left(const struct timespec *start, long ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 +
		       (now.tv_nsec - start->tv_nsec) / 1000000 <
	       ms;
}

/* Lengths about which memcpy has its own mind, at places that lie across
 * cache lines.
 */
static void copy__last_byte_comes_last(void **state)
{
	static const size_t lens[] = {
		2,   9,   15,  31,  33,  47,  65,   90,
		127, 128, 129, 160, 255, 256, 1000, 4096
	};
	struct hammer *h = &hammer;
	unsigned int nb_bad = 0, nb_seen = 0;

	for (size_t i = 0; i < 3 * sizeof(lens) / sizeof(lens[0]); i++) {
		struct timespec start;

		hammer_start(h, i * 23 % PLACES, lens[i / 3]);
		clock_gettime(CLOCK_MONOTONIC, &start);
		do {
			for (int n = 0; n < 100; n++, nb_seen++)
				nb_bad += is_out_of_order(h);
		} while (time_is_left(&start, ROUND_MS));
		hammer_stop(h);
	}
	print_message("%u looks\n", nb_seen);
	assert_int_equal(nb_bad, 0);
}

/* A flag of eight bytes at the end changes at once. */
static void copy__last_word_is_whole(void **state)
{
	static const size_t lens[] = { 8, 24, 31, 4095 };
	const uint64_t ones = 0x0101010101010101u;
	struct hammer *h = &hammer;
	unsigned int nb_bad = 0;

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t place = 64 - lens[i] % 8;
		struct timespec start;
		const uint64_t *flag;

		hammer_start(h, place, lens[i]);
		flag = (const uint64_t *)(h->at + lens[i] - sizeof(*flag));
		clock_gettime(CLOCK_MONOTONIC, &start);
		do {
			for (int n = 0; n < 1000; n++) {
				uint64_t now =
					__atomic_load_n(flag, __ATOMIC_RELAXED);

				nb_bad += now != (now & 0xff) * ones;
			}
		} while (time_is_left(&start, 4 * ROUND_MS));
		hammer_stop(h);
	}
	assert_int_equal(nb_bad, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(copy__every_length_and_place),
	cmocka_unit_test(copy_last_bytes__is_as_wide_as_aligned),
	cmocka_unit_test(copy__last_byte_comes_last),
	cmocka_unit_test(copy__last_word_is_whole),
};

int main(void)
{
	return RUN_WITH_EACH_KERNEL(tests);
}
