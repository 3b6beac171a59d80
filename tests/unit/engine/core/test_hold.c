/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <unistd.h>

#include "lib/engine/core/hold.h"
#include "tests/cmocka.h"

/* A worker's bound; what is given back is given out again. */
static void hold__bound(void **state)
{
	static struct roost_held *held[ROOST_HELD_MAX];
	struct roost_store store = { 0 };

	(void)state;
	for (unsigned int i = 0; i < ROOST_HELD_MAX; i++) {
		held[i] = roost_held_get(&store);
		assert_non_null(held[i]);
	}
	assert_null(roost_held_get(&store));
	roost_held_put(&store, held[3]);
	roost_held_put(&store, held[7]);
	assert_ptr_equal(roost_held_get(&store), held[7]);
	assert_ptr_equal(roost_held_get(&store), held[3]);
	assert_null(roost_held_get(&store));
	roost_store_fini(&store);
	assert_null(store.held.steps);
}

static size_t mapped_bytes(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	size_t pages;

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%zu", &pages), 1);
	fclose(statm);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Memory that is mapped may be there at once (mlockall): little is mapped that
 * nobody needs.
 */
static void hold__grows_in_steps(void **state)
{
	const size_t first_max = 1 << 20, in_all_max = 96 << 20;
	struct roost_store store = { 0 };
	size_t before;

	(void)state;
	before = mapped_bytes();
	assert_non_null(roost_held_get(&store));
	assert_non_null(roost_shelf_get(&store));
	assert_non_null(roost_score_get(&store));
	assert_non_null(roost_answers_get(&store));
	assert_non_null(roost_share_get(&store));
	assert_non_null(roost_trouble_get(&store));
	assert_in_range(mapped_bytes() - before, 1, first_max);
	for (unsigned int i = 1; i < ROOST_TROUBLES_MAX; i++)
		assert_non_null(roost_trouble_get(&store));
	assert_null(roost_trouble_get(&store));
	assert_in_range(mapped_bytes() - before, first_max, in_all_max);
	roost_store_fini(&store);
	assert_in_range(mapped_bytes() - before, 0, first_max);
}

/* Shelves and scores come as zeros, used ones too. */
static void hold__zeros(void **state)
{
	struct roost_store store = { 0 };
	struct roost_shelf *shelf = roost_shelf_get(&store);
	struct roost_score *score = roost_score_get(&store);

	(void)state;
	roost_bit_set(shelf->have, roost_psn(5));
	shelf->held[5] = (void *)shelf;
	score->nb_lost = 3;
	roost_shelf_put(&store, shelf);
	roost_score_put(&store, score);
	assert_ptr_equal(roost_shelf_get(&store), shelf);
	assert_ptr_equal(roost_score_get(&store), score);
	assert_false(roost_bit_test(shelf->have, roost_psn(5)));
	assert_null(shelf->held[0]);
	assert_null(shelf->held[5]);
	assert_int_equal(score->nb_lost, 0);
	roost_store_fini(&store);
}

static void hold__bits_by_psn(void **state)
{
	uint64_t bits[ROOST_SPAN_WORDS] = { 0 };

	(void)state;
	roost_bit_set(bits, roost_psn(0xffffff));
	roost_bit_set(bits, roost_psn(0));
	roost_bit_set(bits, roost_psn(30));
	assert_true(roost_bit_test(bits, roost_psn(0xffffff)));
	assert_int_equal(roost_bits_at(bits, roost_psn(0xffffff)), 0x80000003u);
	assert_int_equal(roost_bits_at(bits, roost_psn(0)), 0x40000001u);
	assert_int_equal(roost_bits_at(bits, roost_psn(0xffffe0)), 0x80000000u);
	roost_bit_clear(bits, roost_psn(0xffffff));
	assert_int_equal(roost_bits_at(bits, roost_psn(0xffffff)), 0x80000002u);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hold__bound),
	cmocka_unit_test(hold__grows_in_steps),
	cmocka_unit_test(hold__zeros),
	cmocka_unit_test(hold__bits_by_psn),
};

int main(void)
{
	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
