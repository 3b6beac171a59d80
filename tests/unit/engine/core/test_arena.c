/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine/core/arena.h"
#include "tests/cmocka.h"

#define PIECES 4000u
#define THREADS 4u

static struct roost_arena arena;

static int open_arena(void **state)
{
	(void)state;
	roost_arena_init(&arena);
	return 0;
}

static int close_arena(void **state)
{
	(void)state;
	roost_arena_fini(&arena);
	return 0;
}

/* No two sizes in a row are equal. */
static size_t size_of(unsigned int i)
{
	static const size_t sizes[] = { 1472, 64, 4096, 1, 640, 16384, 20000 };

	return sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
}

static uint8_t *get(struct roost_arena *from, unsigned int i)
{
	uint8_t *piece = roost_arena_alloc(from, size_of(i));

	assert_non_null(piece);
	assert_int_equal((uintptr_t)piece % 64, 0);
	memset(piece, (int)(i % 251), size_of(i));
	return piece;
}

static void put(struct roost_arena *to, unsigned int i, uint8_t *piece)
{
	for (size_t k = 0; k < size_of(i); k++)
		if (piece[k] != i % 251)
			fail_msg("piece %u is another one's, too", i);
	roost_arena_free(to, piece, size_of(i));
}

static unsigned int nb_chunks(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ROOST_ARENA_SIZES; i++)
		n += arena.sizes[i].nb_chunks;
	return n;
}

/* Several chunks of each size; a third is freed and taken again on the way. */
static void arena__pieces_are_apart(void **state)
{
	static uint8_t *pieces[PIECES];

	(void)state;
	for (unsigned int i = 0; i < PIECES; i++)
		pieces[i] = get(&arena, i);
	for (unsigned int i = 0; i < PIECES; i += 3) {
		put(&arena, i, pieces[i]);
		pieces[i] = NULL;
	}
	for (unsigned int i = 0; i < PIECES; i += 3)
		pieces[i] = get(&arena, i);
	for (unsigned int i = PIECES; i-- > 0;)
		put(&arena, i, pieces[i]);
}

/* One chunk of each size stays. */
static void arena__memory_goes_back(void **state)
{
	static uint8_t *pieces[PIECES];
	unsigned int few, many;

	(void)state;
	for (unsigned int i = 0; i < 7; i++)
		pieces[i] = get(&arena, i);
	few = nb_chunks();
	for (unsigned int i = 7; i < PIECES; i++)
		pieces[i] = get(&arena, i);
	many = nb_chunks();
	/* Unless each piece is the C library's (AddressSanitizer). */
	assert_true(many > few || many == 0);
	for (unsigned int i = 0; i < PIECES; i++)
		put(&arena, i, pieces[i]);
	assert_int_equal(nb_chunks(), few);
	for (unsigned int i = 0; i < PIECES; i++)
		pieces[i] = get(&arena, i);
	assert_int_equal(nb_chunks(), many);
	for (unsigned int i = PIECES; i-- > 0;)
		put(&arena, i, pieces[i]);
	assert_int_equal(nb_chunks(), few);
}

/* Where a chunk is full, pieces that come and go do not map the next one each
 * time.
 */
static void arena__a_spare_chunk_stays(void **state)
{
	static uint8_t *pieces[2048];
	unsigned int n = 0, few;

	(void)state;
	pieces[n++] = get(&arena, 0);
	few = nb_chunks();
	do
		pieces[n++] = roost_arena_alloc(&arena, size_of(0));
	while (few > 0 && nb_chunks() == few);
	roost_arena_free(&arena, pieces[0], size_of(0));
	roost_arena_free(&arena, pieces[--n], size_of(0));
	assert_int_equal(nb_chunks(), 2 * few);
	while (n-- > 1)
		roost_arena_free(&arena, pieces[n], size_of(0));
	assert_int_equal(nb_chunks(), few);
}

static void arena__without_one(void **state)
{
	uint8_t *piece = get(NULL, 0);

	(void)state;
	put(NULL, 0, piece);
	roost_arena_free(NULL, NULL, 64);
	roost_arena_free(&arena, NULL, 64);
	assert_int_equal(nb_chunks(), 0);
}

static void *take_and_free(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	uint8_t *pieces[64] = { NULL };

	for (unsigned int n = 0; n < 20000; n++) {
		unsigned int i = (unsigned int)rand_r(&seed) % 64;

		if (pieces[i])
			put(&arena, i, pieces[i]);
		pieces[i] = pieces[i] != NULL ? NULL : get(&arena, i);
	}
	for (unsigned int i = 0; i < 64; i++)
		if (pieces[i])
			put(&arena, i, pieces[i]);
	return NULL;
}

static void arena__several_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						take_and_free, (void *)(i + 1)),
				 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#define arena_test(f)                                                          \
	cmocka_unit_test_setup_teardown(f, open_arena, close_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		arena_test(arena__pieces_are_apart),
		arena_test(arena__memory_goes_back),
		arena_test(arena__a_spare_chunk_stays),
		arena_test(arena__without_one),
		arena_test(arena__several_threads),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
