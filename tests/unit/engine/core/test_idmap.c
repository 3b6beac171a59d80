/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine/core/idmap.h"
#include "tests/cmocka.h"

static const uint64_t seed[2] = { 0x0123456789abcdefu, 0xfedcba9876543210u };

static bool none_reserved(uint32_t id)
{
	(void)id;
	return false;
}

static struct roost_idmap new_map(unsigned int bits, unsigned int index_bits)
{
	struct roost_idmap map;

	assert_int_equal(roost_idmap_init(&map, bits, index_bits, seed,
					  none_reserved),
			 0);
	return map;
}

/* ---- the permutation ------------------------------------------------ */

static void idmap_permute__is_a_bijection_of_24_bits(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	uint64_t *seen = calloc((1u << 24) / 64, sizeof(*seen));

	assert_non_null(seen);
	for (uint32_t value = 0; value < 1u << 24; value++) {
		uint32_t id = roost_idmap_permute(&map, value);

		assert_true(id < 1u << 24);
		assert_false(seen[id / 64] >> id % 64 & 1);
		seen[id / 64] |= 1ull << id % 64;
		if (roost_idmap_invert(&map, id) != value)
			fail_msg("%u does not come back", value);
	}
	free(seen);
	roost_idmap_fini(&map);
}

static void idmap_permute__comes_back_from_32_bits(void **state)
{
	struct roost_idmap map = new_map(32, 22);

	for (uint32_t i = 0; i < 1u << 20; i++) {
		uint32_t value = i * 0x9e3779b1u;

		assert_int_equal(roost_idmap_invert(&map,
						    roost_idmap_permute(&map,
									value)),
				 value);
		assert_int_equal(roost_idmap_permute(&map,
						     roost_idmap_invert(&map,
									value)),
				 value);
	}
	roost_idmap_fini(&map);
}

/* How many of n numbers two maps give alike. */
static unsigned int equal_numbers(const uint64_t a[2], const uint64_t b[2])
{
	struct roost_idmap m, n;
	unsigned int equal = 0;

	assert_int_equal(roost_idmap_init(&m, 24, 18, a, none_reserved), 0);
	assert_int_equal(roost_idmap_init(&n, 24, 18, b, none_reserved), 0);
	for (uint32_t i = 0; i < 4096; i++)
		equal += roost_idmap_permute(&m, i) ==
			 roost_idmap_permute(&n, i);
	roost_idmap_fini(&m);
	roost_idmap_fini(&n);
	return equal;
}

static void idmap_permute__depends_on_all_of_the_seed(void **state)
{
	for (int bit = 0; bit < 128; bit++) {
		uint64_t other[2] = { seed[0], seed[1] };

		other[bit / 64] ^= 1ull << bit % 64;
		assert_true(equal_numbers(seed, other) < 5);
	}
}

/* Numbers given one after the other show no order. */
static void idmap_add__shows_no_index(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	uint32_t id[4096], ones[24] = { 0 }, flips[24] = { 0 }, rising = 0;
	int object;

	for (int i = 0; i < 4096; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &id[i]), 0);
		for (int bit = 0; bit < 24; bit++) {
			ones[bit] += id[i] >> bit & 1;
			if (i > 0)
				flips[bit] += (id[i] ^ id[i - 1]) >> bit & 1;
		}
		rising += i > 0 && id[i] > id[i - 1];
	}
	/* Seven standard deviations. */
	assert_in_range(rising, 2048 - 140, 2048 + 140);
	for (int bit = 0; bit < 24; bit++) {
		assert_in_range(ones[bit], 2048 - 224, 2048 + 224);
		assert_in_range(flips[bit], 2048 - 224, 2048 + 224);
	}
	roost_idmap_fini(&map);
}

/* ---- add, get, del -------------------------------------------------- */

static void idmap_get__finds_what_is_there(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	int a, b;
	uint32_t id_a, id_b;

	assert_null(roost_idmap_get(&map, 0));
	assert_null(roost_idmap_get(&map, 0xffffff));
	assert_int_equal(roost_idmap_add(&map, &a, &id_a), 0);
	assert_int_equal(roost_idmap_add(&map, &b, &id_b), 0);
	assert_ptr_equal(roost_idmap_get(&map, id_a), &a);
	assert_ptr_equal(roost_idmap_get(&map, id_b), &b);
	for (uint32_t id = 0; id < 1u << 24; id += 7)
		if (id != id_a && id != id_b)
			assert_null(roost_idmap_get(&map, id));
	roost_idmap_set(&map, id_a, &b);
	assert_ptr_equal(roost_idmap_get(&map, id_a), &b);
	roost_idmap_del(&map, id_a);
	assert_null(roost_idmap_get(&map, id_a));
	assert_ptr_equal(roost_idmap_get(&map, id_b), &b);
	roost_idmap_fini(&map);
}

/* The memo has one place for them: each is found, whoever was there last, and
 * what it remembers of a number that is gone, it does not tell.
 */
static void idmap_get__numbers_that_share_a_place(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	static uint32_t ids[2 * ROOST_IDMAP_MEMO_LEN], first[2], again;
	static uint32_t at[ROOST_IDMAP_MEMO_LEN];
	unsigned int nb_shared = 0;

	for (uint32_t i = 0; i < 2 * ROOST_IDMAP_MEMO_LEN; i++) {
		uint32_t *other;

		assert_int_equal(roost_idmap_add(&map, &ids[i], &ids[i]), 0);
		other = &at[ids[i] % ROOST_IDMAP_MEMO_LEN];
		if (*other != 0) {
			nb_shared++;
			for (int n = 0; n < 3; n++) {
				assert_ptr_equal(roost_idmap_get(&map, ids[i]),
						 &ids[i]);
				assert_ptr_equal(roost_idmap_get(&map,
								 ids[*other]),
						 &ids[*other]);
			}
		}
		*other = i;
	}
	assert_true(nb_shared > 100);
	first[0] = ids[0];
	first[1] = ids[1];
	assert_non_null(roost_idmap_get(&map, first[0]));
	roost_idmap_del(&map, first[0]);
	assert_null(roost_idmap_get(&map, first[0]));
	assert_null(roost_idmap_get(&map, first[0]));
	/* Its slot with another number, after all the others. */
	do {
		assert_int_equal(roost_idmap_add(&map, &again, &again), 0);
	} while (((roost_idmap_invert(&map, again) ^
		   roost_idmap_invert(&map, first[0])) &
		  ((1u << 18) - 1)) != 0);
	assert_ptr_equal(roost_idmap_get(&map, again), &again);
	assert_null(roost_idmap_get(&map, first[0]));
	assert_ptr_equal(roost_idmap_get(&map, first[1]), &ids[1]);
	roost_idmap_fini(&map);
}

/* A number that was given back stays unknown as long as possible. */
static void idmap_add__reuses_the_oldest(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	uint32_t first, id, slot_mask = (1u << 18) - 1;
	int object;

	assert_int_equal(roost_idmap_add(&map, &object, &first), 0);
	roost_idmap_del(&map, first);
	for (int i = 0; i < 1023; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
		assert_int_not_equal(roost_idmap_invert(&map, id) & slot_mask,
				     roost_idmap_invert(&map, first) &
					     slot_mask);
		roost_idmap_del(&map, id);
	}
	assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
	/* The same slot, with another number. */
	assert_int_equal(roost_idmap_invert(&map, id) & slot_mask,
			 roost_idmap_invert(&map, first) & slot_mask);
	assert_int_not_equal(id, first);
	assert_null(roost_idmap_get(&map, first));
	roost_idmap_fini(&map);
}

/* However many are in use: a number does not come back soon. */
static void idmap_add__does_not_repeat_soon(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	uint64_t *seen = calloc((1u << 24) / 64, sizeof(*seen));
	uint32_t id;
	int object;

	assert_non_null(seen);
	for (int i = 0; i < 1023; i++)
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
	for (uint32_t i = 0; i < 1u << 17; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
		assert_false(seen[id / 64] >> id % 64 & 1);
		seen[id / 64] |= 1ull << id % 64;
		roost_idmap_del(&map, id);
	}
	free(seen);
	roost_idmap_fini(&map);
}

/* One free slot, given away again and again: all generations, then from the
 * beginning.
 */
static void idmap_add__counts_generations(void **state)
{
	struct roost_idmap map = new_map(24, 10);
	uint64_t *seen = calloc((1u << 24) / 64, sizeof(*seen));
	uint32_t id, first = 0;
	int object;

	assert_non_null(seen);
	for (int i = 0; i < 1023; i++)
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
	for (uint32_t i = 0; i < 1u << 14; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
		assert_false(seen[id / 64] >> id % 64 & 1);
		seen[id / 64] |= 1ull << id % 64;
		if (i == 0)
			first = id;
		roost_idmap_del(&map, id);
	}
	assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
	assert_int_equal(id, first);
	free(seen);
	roost_idmap_fini(&map);
}

static void idmap_add__full(void **state)
{
	struct roost_idmap map = new_map(24, 12);
	uint32_t id = 0;
	int object;

	for (int i = 0; i < 4096; i++)
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
	assert_int_equal(roost_idmap_add(&map, &object, &id), -ENOSPC);
	roost_idmap_del(&map, id);
	assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
	assert_int_equal(roost_idmap_add(&map, &object, &id), -ENOSPC);
	roost_idmap_fini(&map);
}

static void idmap_add__grows_to_the_limit(void **state)
{
	struct roost_idmap map = new_map(24, 18);
	uint32_t n = 1u << 18, *ids = malloc(n * sizeof(*ids));

	assert_non_null(ids);
	/* Objects that tell their place. */
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(roost_idmap_add(&map, &ids[i], &ids[i]), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_ptr_equal(roost_idmap_get(&map, ids[i]), &ids[i]);
	for (uint32_t i = 0; i < n; i += 2)
		roost_idmap_del(&map, ids[i]);
	for (uint32_t i = 0; i < n; i++)
		assert_ptr_equal(roost_idmap_get(&map, ids[i]),
				 i % 2 == 0 ? NULL : &ids[i]);
	for (uint32_t i = 0; i < n; i += 2)
		assert_int_equal(roost_idmap_add(&map, &ids[i], &ids[i]), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_ptr_equal(roost_idmap_get(&map, ids[i]), &ids[i]);
	free(ids);
	roost_idmap_fini(&map);
}

static bool most_reserved(uint32_t id)
{
	return id % 8 != 5;
}

static void idmap_add__keeps_off_reserved(void **state)
{
	struct roost_idmap map;
	uint32_t id;
	int object;

	assert_int_equal(roost_idmap_init(&map, 24, 10, seed, most_reserved),
			 0);
	for (int i = 0; i < 1024; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
		assert_int_equal(id % 8, 5);
	}
	roost_idmap_fini(&map);
}

/* ---- readers without a lock ----------------------------------------- */

struct churn {
	struct roost_idmap map;
	_Atomic uint32_t known[64]; /* numbers, some of them gone */
	atomic_bool stop;
	bool wrong;
};

static void *look_up(void *arg)
{
	struct churn *c = arg;

	while (!atomic_load(&c->stop)) {
		for (uint32_t i = 0; i < 64; i++) {
			void *object =
				roost_idmap_get(&c->map,
						atomic_load(&c->known[i]));

			if (object != NULL && object != &c->known[i])
				c->wrong = true;
		}
	}
	return NULL;
}

static void idmap_get__while_others_change(void **state)
{
	static struct churn c;
	pthread_t reader;

	c.map = new_map(24, 10);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t id;

		assert_int_equal(roost_idmap_add(&c.map, (void *)&c.known[i],
						 &id),
				 0);
		atomic_store(&c.known[i], id);
	}
	assert_int_equal(pthread_create(&reader, NULL, look_up, &c), 0);
	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t id = atomic_load(&c.known[i % 64]);

		roost_idmap_del(&c.map, id);
		assert_int_equal(roost_idmap_add(&c.map,
						 (void *)&c.known[i % 64], &id),
				 0);
		atomic_store(&c.known[i % 64], id);
	}
	atomic_store(&c.stop, true);
	pthread_join(reader, NULL);
	assert_false(c.wrong);
	roost_idmap_fini(&c.map);
}

/* ---- leased indices ------------------------------------------------- */

/* Blocks of 64 indices, each with another number; none after the last one. */
static struct {
	uint32_t blocks[8];
	unsigned int nb, nb_asked;
} lessor;

static int lease_block(void *ctx, uint32_t *first, uint32_t *nb)
{
	assert_ptr_equal(ctx, &lessor);
	if (lessor.nb_asked++ >= lessor.nb)
		return -EDQUOT;
	*first = lessor.blocks[lessor.nb_asked - 1] * 64;
	*nb = 64;
	return 0;
}

static struct roost_idmap leased_map(unsigned int nb_blocks)
{
	const struct roost_idmap_source source = { lease_block, &lessor };
	static const uint32_t blocks[8] = { 16383, 7, 8, 40, 6, 9999, 1, 2 };
	struct roost_idmap map = new_map(24, 20);

	memset(&lessor, 0, sizeof(lessor));
	memcpy(lessor.blocks, blocks, sizeof(blocks));
	lessor.nb = nb_blocks;
	roost_idmap_set_source(&map, &source);
	return map;
}

static void idmap_source__gives_its_indices_and_no_others(void **state)
{
	struct roost_idmap map = leased_map(2);
	uint32_t ids[128], again[64];
	unsigned int nb[2] = { 0 };
	int object;

	for (int i = 0; i < 128; i++) {
		uint32_t index;

		assert_int_equal(roost_idmap_add(&map, &ids[i], &ids[i]), 0);
		index = roost_idmap_invert(&map, ids[i]) & ((1u << 20) - 1);
		assert_true(index / 64 == 16383 || index / 64 == 7);
		nb[index / 64 == 7]++;
		assert_ptr_equal(roost_idmap_get(&map, ids[i]), &ids[i]);
	}
	assert_int_equal(nb[0], 64);
	assert_int_equal(nb[1], 64);
	assert_int_equal(roost_idmap_add(&map, &object, &again[0]), -EDQUOT);
	/* What is given back serves again, by another number. */
	for (int i = 0; i < 64; i++)
		roost_idmap_del(&map, ids[i]);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &again[i]), 0);
		assert_int_not_equal(again[i], ids[i]);
		assert_null(roost_idmap_get(&map, ids[i]));
		assert_ptr_equal(roost_idmap_get(&map, again[i]), &object);
	}
	assert_int_equal(roost_idmap_add(&map, &object, ids), -EDQUOT);
	roost_idmap_fini(&map);
}

/* It leases before it runs out, so that a number does not come back soon; and
 * it does not ask in vain each time.
 */
static void idmap_source__is_asked_early_and_seldom(void **state)
{
	struct roost_idmap map = leased_map(8);
	uint32_t ids[512];

	for (int i = 0; i < 8; i++)
		assert_int_equal(roost_idmap_add(&map, &ids[i], &ids[i]), 0);
	assert_int_equal(lessor.nb_asked, 8);
	for (int i = 8; i < 512; i++)
		assert_int_equal(roost_idmap_add(&map, &ids[i], &ids[i]), 0);
	assert_int_equal(lessor.nb_asked, 9);
	assert_int_equal(roost_idmap_add(&map, &ids[0], &ids[0]), -EDQUOT);
	assert_int_equal(lessor.nb_asked, 10);
	lessor.nb_asked = 7; /* the lessor has one more */
	lessor.blocks[7] = 77;
	assert_int_equal(roost_idmap_add(&map, &ids[0], &ids[0]), 0);
	roost_idmap_fini(&map);
}

static int lease_wrong(void *ctx, uint32_t *first, uint32_t *nb)
{
	const uint32_t *range = ctx;

	*first = range[0];
	*nb = range[1];
	return 0;
}

static void idmap_source__outside_the_map_is_refused(void **state)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0 },
		{ 1u << 20, 1 },
		{ (1u << 20) - 1, 2 },
		{ 5, UINT32_MAX },
	};
	uint32_t id;
	int object;

	for (unsigned int i = 0; i < 4; i++) {
		struct roost_idmap map = new_map(24, 20);
		uint32_t range[2] = { ranges[i][0], ranges[i][1] };
		const struct roost_idmap_source source = { lease_wrong, range };

		roost_idmap_set_source(&map, &source);
		assert_int_equal(roost_idmap_add(&map, &object, &id), -EINVAL);
		roost_idmap_fini(&map);
	}
}

static bool all_reserved(uint32_t id)
{
	(void)id;
	return true;
}

/* A slot whose numbers are all reserved is left out, and none is waited for. */
static void idmap_add__all_reserved(void **state)
{
	struct roost_idmap map;
	uint32_t id;
	int object;

	assert_int_equal(roost_idmap_init(&map, 24, 20, seed, all_reserved), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(roost_idmap_add(&map, &object, &id), -ENOSPC);
	roost_idmap_fini(&map);
}

static void idmap_prefix__is_in_all_numbers(void **state)
{
	struct roost_idmap map = new_map(32, 17);
	uint32_t first = 0, id;
	int object;

	roost_idmap_set_prefix(&map, 0, 0); /* none */
	roost_idmap_set_prefix(&map, 13, 0x1234);
	for (int i = 0; i < 4096; i++) {
		assert_int_equal(roost_idmap_add(&map, &object, &id), 0);
		assert_int_equal(roost_idmap_invert(&map, id) >> 19, 0x1234);
		assert_int_not_equal(id, first);
		first = i == 0 ? id : first;
		assert_ptr_equal(roost_idmap_get(&map, id), &object);
		roost_idmap_del(&map, id);
	}
	roost_idmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idmap_permute__is_a_bijection_of_24_bits),
		cmocka_unit_test(idmap_permute__comes_back_from_32_bits),
		cmocka_unit_test(idmap_permute__depends_on_all_of_the_seed),
		cmocka_unit_test(idmap_add__shows_no_index),
		cmocka_unit_test(idmap_get__finds_what_is_there),
		cmocka_unit_test(idmap_get__numbers_that_share_a_place),
		cmocka_unit_test(idmap_add__reuses_the_oldest),
		cmocka_unit_test(idmap_add__does_not_repeat_soon),
		cmocka_unit_test(idmap_add__counts_generations),
		cmocka_unit_test(idmap_add__full),
		cmocka_unit_test(idmap_add__grows_to_the_limit),
		cmocka_unit_test(idmap_add__keeps_off_reserved),
		cmocka_unit_test(idmap_source__gives_its_indices_and_no_others),
		cmocka_unit_test(idmap_source__is_asked_early_and_seldom),
		cmocka_unit_test(idmap_source__outside_the_map_is_refused),
		cmocka_unit_test(idmap_add__all_reserved),
		cmocka_unit_test(idmap_prefix__is_in_all_numbers),
		cmocka_unit_test(idmap_get__while_others_change),
	};

	return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
