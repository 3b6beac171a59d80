/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/neigh.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define MS 1000000ull
#define S (1000 * MS)

/* What the cache asked. */
static struct {
	unsigned int to_all;
} asked;

/* Whom it told of. */
static struct {
	unsigned int nb;
	struct roost_gid addr;
	uint64_t tried_ns;
} told;

static void silent(void *ctx, const struct roost_gid *a, uint64_t tried_ns)
{
	(void)ctx;
	told.nb++;
	told.addr = *a;
	told.tried_ns = tried_ns;
}

static void ask(void *ctx, const struct roost_gid *a, const uint8_t *mac)
{
	assert_ptr_equal(ctx, &asked);
	(void)a;
	asked.to_all += mac == NULL;
}

struct fixture {
	struct roost_neigh_cache *cache;
	uint64_t now_ns; /* turned by hand */
};

static int setup(void **state)
{
	static const struct roost_neigh_conf conf = {
		.ask = ask,
		.silent = silent,
		.ctx = &asked,
	};
	static struct fixture f;

	memset(&asked, 0, sizeof(asked));
	memset(&told, 0, sizeof(told));
	f.now_ns = 1000 * S;
	*state = &f;
	return roost_neigh_cache_create(&conf, &f.cache);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	roost_neigh_cache_destroy(f->cache);
	return 0;
}

static struct roost_neigh *get(struct fixture *f, const char *text)
{
	struct roost_gid a = addr(text);
	struct roost_neigh *n;

	assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n), 0);
	return n;
}

/* Go on in time, through every deadline on the way. Returns true if some
 * entry failed.
 */
static bool advance(struct fixture *f, uint64_t ns)
{
	uint64_t end_ns = f->now_ns + ns;
	bool any_failed = false, failed;
	uint64_t next_ns;

	for (;;) {
		next_ns = roost_neigh_tick(f->cache, f->now_ns, &failed);
		any_failed = any_failed || failed;
		assert_true(next_ns > f->now_ns);
		if (next_ns > end_ns)
			break;
		f->now_ns = next_ns;
	}
	f->now_ns = end_ns;
	return any_failed;
}

static struct roost_neigh_word word(const char *text, const uint8_t mac[6],
				    bool solicited)
{
	struct roost_neigh_word w = {
		.addr = addr(text),
		.solicited = solicited,
		.override = true,
	};

	memcpy(w.mac, mac, 6);
	return w;
}

static bool hear(struct fixture *f, struct roost_neigh_word w)
{
	return roost_neigh_hear(f->cache, &w, f->now_ns);
}

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
	assert_true(hear(f, word("10.0.0.2", mac_b, true)));
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
	assert_true(hear(f, word("10.0.0.3", mac_b, true)));
	advance(f, 2699 * MS);
	assert_int_equal(told.nb, 0);
	advance(f, 1 * MS);
	assert_int_equal(told.nb, 1);
	assert_true(roost_gid_eq(&told.addr, &wanted));
	assert_true(told.tried_ns == 2700 * MS);
	assert_true(hear(f, word("10.0.0.2", mac_b, true)));
	advance(f, 90 * S);
	assert_int_equal(told.nb, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(neigh__failure_is_remembered_for_a_while),
		TEST(neigh__an_answer_ends_the_failure),
		TEST(neigh__who_is_wanted_and_silent_is_told_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
