/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/host/neigh_world.h"

#include <errno.h>
#include <string.h>

static int look(struct fixture *f, const char *text)
{
	struct roost_gid a = addr(text);

	return roost_neigh_look(f->cache, &a, f->now_ns);
}

/* Whoever asks when nobody has answered is told so, for ten seconds, while one
 * question a second goes out. It matters not that nobody held on to it.
 */
static void neigh__failure_is_remembered_for_a_while(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(look(f, "10.0.0.2"), -EAGAIN);
	assert_int_equal(asked.to_all, 0);
	roost_neigh_put(f->cache, get(f, "10.0.0.2"), f->now_ns);
	assert_int_equal(look(f, "10.0.0.2"), -EAGAIN);
	assert_true(advance(f, 2700 * MS));
	assert_int_equal(asked.to_all, 5);
	for (int i = 0; i < 99; i++) {
		assert_int_equal(look(f, "10.0.0.2"), -ETIMEDOUT);
		advance(f, 100 * MS);
	}
	assert_int_equal(asked.to_all, 5 + 9);
	advance(f, 100 * MS);
	assert_int_equal(look(f, "10.0.0.2"), -EAGAIN);
}

static void neigh__an_answer_ends_the_failure(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n;

	roost_neigh_put(f->cache, get(f, "10.0.0.2"), f->now_ns);
	advance(f, 5 * S);
	assert_int_equal(look(f, "10.0.0.2"), -ETIMEDOUT);
	assert_true(update(f, word("10.0.0.2", mac_b, true)));
	assert_int_equal(look(f, "10.0.0.2"), 0);
	/* The link was away: that is no failure of the neighbour. */
	roost_neigh_put(f->cache, get(f, "10.0.0.3"), f->now_ns);
	advance(f, 5 * S);
	assert_int_equal(look(f, "10.0.0.3"), -ETIMEDOUT);
	roost_neigh_link_up(f->cache, f->now_ns);
	assert_int_equal(look(f, "10.0.0.3"), -EAGAIN);
	/* Who wants to wait for as long as it takes asks anew. */
	n = get(f, "10.0.0.3");
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_INCOMPLETE);
}

/* Somebody waits for the answer. Who had a MAC once is the transport's. */
static void neigh__who_is_wanted_and_silent_is_told_of(void **state)
{
	struct fixture *f = *state;
	struct roost_gid wanted = addr("10.0.0.2");

	roost_neigh_put(f->cache, get(f, "10.0.0.1"), f->now_ns);
	get(f, "10.0.0.2");
	get(f, "10.0.0.3");
	assert_true(update(f, word("10.0.0.3", mac_b, true)));
	advance(f, 2699 * MS);
	assert_int_equal(told.nb, 0);
	advance(f, 1 * MS);
	assert_int_equal(told.nb, 1);
	assert_true(roost_gid_eq(&told.addr, &wanted));
	assert_true(told.tried_ns == 2700 * MS);
	assert_true(update(f, word("10.0.0.2", mac_b, true)));
	advance(f, 90 * S);
	assert_int_equal(told.nb, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(neigh__failure_is_remembered_for_a_while),
		TEST(neigh__an_answer_ends_the_failure),
		TEST(neigh__who_is_wanted_and_silent_is_told_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
