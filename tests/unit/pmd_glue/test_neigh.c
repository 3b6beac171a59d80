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

#include "pmd_glue/neigh.h"
#include "tests/unit/pmd_glue/frames.h"

#define MS 1000000ull
#define S (1000 * MS)

/* What the cache asked. */
static struct {
	unsigned int to_all;
	unsigned int to_one;
	struct roost_gid last_addr;
	uint8_t last_mac[6];
} asked;

static void ask(void *ctx, const struct roost_gid *a, const uint8_t *mac)
{
	assert_ptr_equal(ctx, &asked);
	asked.last_addr = *a;
	if (mac) {
		asked.to_one++;
		memcpy(asked.last_mac, mac, 6);
	} else {
		asked.to_all++;
	}
}

struct fixture {
	struct roost_neigh_cache *cache;
	uint64_t now_ns; /* turned by hand */
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&asked, 0, sizeof(asked));
	f.now_ns = 1000 * S;
	*state = &f;
	return roost_neigh_cache_create(ask, &asked, &f.cache);
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

static void assert_mac(const struct roost_neigh *n, const uint8_t want[6])
{
	uint8_t mac[6];

	roost_neigh_mac(n->mac_gen, mac);
	assert_memory_equal(mac, want, 6);
}

/* A reachable entry with one reference. */
static struct roost_neigh *reachable(struct fixture *f, const char *text)
{
	struct roost_neigh *n = get(f, text);

	assert_true(hear(f, word(text, mac_b, true)));
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_REACHABLE);
	return n;
}

static void neigh__new_entry_asks_all_at_once(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");
	struct roost_gid want = addr("10.0.0.2");

	assert_int_equal(asked.to_all, 1);
	assert_true(roost_gid_eq(&asked.last_addr, &want));
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_INCOMPLETE);
	assert_true(n->mac_gen == 0);
}

static void neigh__second_reference_asks_nothing(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");

	assert_ptr_equal(get(f, "10.0.0.2"), n);
	assert_int_equal(asked.to_all, 1);
}

static void neigh__answer_publishes_the_mac(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "10.0.0.2");

	assert_mac(n, mac_b);
	assert_true((n->mac_gen & 0xffff) == 1);
}

static void neigh__silence_is_retried_then_fails(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");

	assert_false(advance(f, 99 * MS));
	assert_int_equal(asked.to_all, 1);
	assert_false(advance(f, 1 * MS));
	assert_int_equal(asked.to_all, 2);
	assert_true(advance(f, 4 * S));
	assert_int_equal(asked.to_all, 5);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_FAILED);
	assert_true(n->mac_gen == 0);
}

static void neigh__failed_entry_is_asked_again_later(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");

	assert_true(advance(f, 3 * S));
	asked.to_all = 0;
	advance(f, 10 * S);
	assert_true(asked.to_all > 0);
	assert_true(hear(f, word("10.0.0.2", mac_b, true)));
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_REACHABLE);
}

static void neigh__new_reference_wakes_a_failed_entry(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");

	assert_true(advance(f, 3 * S));
	asked.to_all = 0;
	get(f, "10.0.0.2");
	assert_int_equal(asked.to_all, 1);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_INCOMPLETE);
}

static void neigh__reachable_grows_stale_then_is_probed(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "10.0.0.2");

	advance(f, 14 * S); /* 0.5 times 30 s at least */
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_REACHABLE);
	while (roost_neigh_state(n) == ROOST_NEIGH_REACHABLE)
		advance(f, 100 * MS);
	assert_true(f->now_ns <= 1046 * S); /* 1.5 times at most */
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
	assert_int_equal(asked.to_one, 0);
	advance(f, 5 * S);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_PROBE);
	assert_int_equal(asked.to_one, 1);
	assert_memory_equal(asked.last_mac, mac_b, 6);
	hear(f, word("10.0.0.2", mac_b, true));
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_REACHABLE);
	assert_true((n->mac_gen & 0xffff) == 1); /* nothing new for workers */
}

static void neigh__unanswered_probe_asks_all_and_keeps_the_mac(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "10.0.0.2");

	while (roost_neigh_state(n) != ROOST_NEIGH_PROBE)
		advance(f, 100 * MS);
	asked.to_all = 0;
	advance(f, 2900 * MS);
	assert_int_equal(asked.to_one, 3);
	assert_int_equal(asked.to_all, 0);
	advance(f, 100 * MS);
	assert_int_equal(asked.to_all, 1);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_INCOMPLETE);
	assert_mac(n, mac_b);
	assert_true(advance(f, 3 * S));
	assert_mac(n, mac_b);
}

static void neigh__moved_neighbour_changes_the_generation(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "10.0.0.2");

	assert_false(hear(f, word("10.0.0.2", mac_a, false)));
	assert_mac(n, mac_a);
	assert_true((n->mac_gen & 0xffff) == 2);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
}

/* RFC 4861, 7.2.5: without the override flag another MAC is only a doubt. */
static void neigh__doubt_keeps_the_mac(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "fd00::2");
	struct roost_neigh_word w = word("fd00::2", mac_a, true);

	w.override = false;
	hear(f, w);
	assert_mac(n, mac_b);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
}

static void neigh__hearsay_does_not_confirm(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");

	assert_true(hear(f, word("10.0.0.2", mac_b, false)));
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
	assert_mac(n, mac_b);
}

static void neigh__strangers_make_no_entry_unless_told(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh_word w = word("10.0.0.9", mac_b, false);

	assert_false(hear(f, w));
	get(f, "10.0.0.9");
	assert_int_equal(asked.to_all, 1); /* nothing was known */
	w = word("10.0.0.8", mac_b, false);
	w.create = true;
	hear(f, w);
	assert_mac(get(f, "10.0.0.8"), mac_b);
	assert_int_equal(asked.to_all, 1);
}

static void neigh__unheld_entry_is_not_probed_and_forgotten(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "10.0.0.2");

	roost_neigh_put(f->cache, n, f->now_ns);
	advance(f, 59 * S);
	asked.to_all = 0;
	n = get(f, "10.0.0.2"); /* still there */
	assert_int_equal(asked.to_all, 0);
	roost_neigh_put(f->cache, n, f->now_ns);
	advance(f, 61 * S);
	assert_int_equal(asked.to_one, 0);
	get(f, "10.0.0.2");
	assert_int_equal(asked.to_all, 1); /* had been forgotten */
}

static void neigh__nothing_waits_in_an_empty_cache(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");
	bool failed;

	roost_neigh_put(f->cache, n, f->now_ns);
	assert_true(roost_neigh_tick(f->cache, f->now_ns, &failed) ==
		    UINT64_MAX);
	assert_false(failed);
}

static void neigh__flood_evicts_only_what_nobody_holds(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *held = reachable(f, "10.0.0.2");
	struct roost_neigh_word w = word("11.0.0.0", mac_a, false);

	w.create = true;
	for (unsigned int i = 0; i < 3 * ROOST_NEIGHS_MAX; i++) {
		w.addr.b[14] = (uint8_t)(i >> 8);
		w.addr.b[15] = (uint8_t)i;
		hear(f, w);
	}
	assert_ptr_equal(get(f, "10.0.0.2"), held);
	assert_mac(held, mac_b);
}

static void neigh__full_of_held_entries_refuses(void **state)
{
	struct fixture *f = *state;
	struct roost_gid a = addr("11.0.0.0");
	struct roost_neigh *n;

	for (unsigned int i = 0; i < ROOST_NEIGHS_MAX; i++) {
		a.b[14] = (uint8_t)(i >> 8);
		a.b[15] = (uint8_t)i;
		assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n),
				 0);
	}
	a = addr("12.0.0.1");
	assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n),
			 -ENOBUFS);
	/* One less, and there is room. */
	a = addr("11.0.0.5");
	roost_neigh_get(f->cache, &a, f->now_ns, &n);
	roost_neigh_put(f->cache, n, f->now_ns);
	roost_neigh_put(f->cache, n, f->now_ns);
	get(f, "12.0.0.1");
}

static void neigh__link_up_asks_the_silent_ones(void **state)
{
	struct fixture *f = *state;

	get(f, "10.0.0.2");
	reachable(f, "10.0.0.3");
	assert_true(advance(f, 3 * S));
	asked.to_all = 0;
	roost_neigh_link_up(f->cache, f->now_ns);
	assert_int_equal(asked.to_all, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(neigh__new_entry_asks_all_at_once),
		TEST(neigh__second_reference_asks_nothing),
		TEST(neigh__answer_publishes_the_mac),
		TEST(neigh__silence_is_retried_then_fails),
		TEST(neigh__failed_entry_is_asked_again_later),
		TEST(neigh__new_reference_wakes_a_failed_entry),
		TEST(neigh__reachable_grows_stale_then_is_probed),
		TEST(neigh__unanswered_probe_asks_all_and_keeps_the_mac),
		TEST(neigh__moved_neighbour_changes_the_generation),
		TEST(neigh__doubt_keeps_the_mac),
		TEST(neigh__hearsay_does_not_confirm),
		TEST(neigh__strangers_make_no_entry_unless_told),
		TEST(neigh__unheld_entry_is_not_probed_and_forgotten),
		TEST(neigh__nothing_waits_in_an_empty_cache),
		TEST(neigh__flood_evicts_only_what_nobody_holds),
		TEST(neigh__full_of_held_entries_refuses),
		TEST(neigh__link_up_asks_the_silent_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
