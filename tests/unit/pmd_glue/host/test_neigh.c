/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/host/neigh_world.h"

#include <errno.h>
#include <string.h>

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

	assert_true(update(f, word(text, mac_b, true)));
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
	assert_true(update(f, word("10.0.0.2", mac_b, true)));
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
	update(f, word("10.0.0.2", mac_b, true));
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

	assert_false(update(f, word("10.0.0.2", mac_a, false)));
	assert_mac(n, mac_a);
	assert_true((n->mac_gen & 0xffff) == 2);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
}

/* RFC 4861, 7.2.5: without the override flag another MAC is only a doubt. */
static void neigh__doubt_keeps_the_mac(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = reachable(f, "fd00::2");
	struct roost_neigh_msg w = word("fd00::2", mac_a, true);

	w.override = false;
	update(f, w);
	assert_mac(n, mac_b);
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
}

static void neigh__hearsay_does_not_confirm(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n = get(f, "10.0.0.2");

	assert_true(update(f, word("10.0.0.2", mac_b, false)));
	assert_int_equal(roost_neigh_state(n), ROOST_NEIGH_STALE);
	assert_mac(n, mac_b);
}

static void neigh__strangers_make_no_entry_unless_told(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh_msg w = word("10.0.0.9", mac_b, false);

	assert_false(update(f, w));
	get(f, "10.0.0.9");
	assert_int_equal(asked.to_all, 1); /* nothing was known */
	w = word("10.0.0.8", mac_b, false);
	w.create = true;
	update(f, w);
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
	bool failed;

	roost_neigh_put(f->cache, get(f, "10.0.0.2"), f->now_ns);
	advance(f, 20 * S);
	assert_true(roost_neigh_tick(f->cache, f->now_ns, &failed) ==
		    UINT64_MAX);
	assert_false(failed);
}

/* Address number i of many, and a MAC of its own for each. */
static struct roost_neigh_msg claim_of(unsigned int i, unsigned int mac)
{
	struct roost_neigh_msg w = word("11.0.0.0", mac_a, false);

	w.create = true;
	w.addr.b[13] = (uint8_t)(i >> 16);
	w.addr.b[14] = (uint8_t)(i >> 8);
	w.addr.b[15] = (uint8_t)i;
	w.mac[3] = (uint8_t)(mac >> 16);
	w.mac[4] = (uint8_t)(mac >> 8);
	w.mac[5] = (uint8_t)mac;
	return w;
}

/* What is still known of the first nb addresses above. */
static unsigned int count_known(struct fixture *f, unsigned int nb)
{
	unsigned int known = 0;

	asked.to_all = 0;
	for (unsigned int i = 0; i < nb; i++) {
		struct roost_gid a = claim_of(i, 0).addr;
		struct roost_neigh *n;

		assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n),
				 0);
		known += n->mac_gen != 0;
		roost_neigh_put(f->cache, n, f->now_ns);
	}
	assert_int_equal(asked.to_all, nb - known);
	return known;
}

/* Neither what is in use, nor what was a moment ago, nor the word of others. */
static void neigh__one_station_drives_out_its_own_claims(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *held = reachable(f, "10.0.0.2");
	struct roost_neigh *idle = reachable(f, "10.0.0.3");

	roost_neigh_put(f->cache, idle, f->now_ns);
	update(f, claim_of(0, 7));
	assert_int_equal(asked.crowds_of_one, 0);
	for (unsigned int i = 1; i < 5000; i++)
		update(f, claim_of(i, 8));
	assert_true(asked.crowds_of_one > 0);
	assert_int_equal(asked.crowds_of_all, 0);
	asked.to_all = 0;
	assert_ptr_equal(get(f, "10.0.0.2"), held);
	assert_mac(held, mac_b);
	assert_mac(get(f, "10.0.0.3"), mac_b);
	assert_int_equal(asked.to_all, 0);
	assert_int_equal(count_known(f, 5000),
			 1 + ROOST_NEIGHS_CLAIMED_BY_ONE_MAX);
}

static void neigh__many_stations_drive_out_claims_only(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *held = reachable(f, "10.0.0.2");
	struct roost_neigh *idle = reachable(f, "10.0.0.3");

	roost_neigh_put(f->cache, idle, f->now_ns);
	for (unsigned int i = 0; i < 20000; i++)
		update(f, claim_of(i, i));
	assert_true(asked.crowds_of_all > 0);
	assert_int_equal(asked.crowds_of_one, 0);
	assert_ptr_equal(get(f, "10.0.0.2"), held);
	assert_mac(held, mac_b);
	asked.to_all = 0;
	assert_mac(get(f, "10.0.0.3"), mac_b);
	assert_int_equal(asked.to_all, 0);
	assert_int_equal(count_known(f, 20000), ROOST_NEIGHS_CLAIMED_MAX);
}

/* An address that moves counts towards the station that it moves to. */
static void neigh__claims_of_the_same_addresses(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 1000; i++)
		update(f, claim_of(i % 10, i));
	assert_int_equal(asked.crowds_of_one + asked.crowds_of_all, 0);
	for (unsigned int i = 0; i < 1000; i++)
		update(f, claim_of(i % 10, i % 3));
	assert_int_equal(asked.crowds_of_one + asked.crowds_of_all, 0);
	assert_int_equal(count_known(f, 10), 10);
}

/* A claim that is used is one no more. */
static void neigh__claims_in_use_stay(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n;

	update(f, claim_of(0, 8));
	n = get(f, "11.0.0.0");
	for (unsigned int i = 1; i < 100; i++)
		update(f, claim_of(i, 8));
	assert_ptr_equal(get(f, "11.0.0.0"), n);
	assert_true(n->mac_gen != 0);
}

static void neigh__what_was_in_use_is_bounded(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 3 * ROOST_NEIGHS_IDLE_MAX; i++) {
		struct roost_neigh_msg w = claim_of(i, i);
		struct roost_neigh *n;

		roost_neigh_get(f->cache, &w.addr, f->now_ns, &n);
		w.solicited = true;
		update(f, w);
		roost_neigh_put(f->cache, n, f->now_ns);
	}
	asked.to_all = 0;
	/* The youngest first: looking makes them young. */
	for (unsigned int i = 3 * ROOST_NEIGHS_IDLE_MAX; i-- > 0;) {
		struct roost_gid a = claim_of(i, i).addr;
		struct roost_neigh *n;

		roost_neigh_get(f->cache, &a, f->now_ns, &n);
		roost_neigh_put(f->cache, n, f->now_ns);
	}
	assert_int_equal(asked.to_all, 2 * ROOST_NEIGHS_IDLE_MAX);
}

/* More than a link has, each with its own time to be asked again. */
static void neigh__a_hundred_thousand(void **state)
{
	enum {
		MANY = 100000
	};
	struct fixture *f = *state;
	static struct roost_neigh *all[MANY];
	unsigned int asked_ones;

	for (unsigned int i = 0; i < MANY; i++) {
		struct roost_neigh_msg w = claim_of(i, i);

		assert_int_equal(roost_neigh_get(f->cache, &w.addr, f->now_ns,
						 &all[i]),
				 0);
		w.solicited = true;
		assert_true(update(f, w));
	}
	assert_int_equal(asked.to_all, MANY);
	/* All are asked once within 15 to 45 seconds, and 5 more. */
	for (unsigned int s = 0; s < 50; s++) {
		asked_ones = asked.to_one;
		f->now_ns += S;
		while (roost_neigh_tick(f->cache, f->now_ns,
					&(bool){ false }) <= f->now_ns)
			;
		assert_true(asked.to_one - asked_ones < MANY / 4);
	}
	assert_true(asked.to_one >= MANY);
	for (unsigned int i = 0; i < MANY; i++) {
		assert_true(all[i]->mac_gen != 0);
		roost_neigh_put(f->cache, all[i], f->now_ns);
	}
}

/* One call does not send thousands of questions. */
static void neigh__a_tick_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct roost_neigh *n;
	bool failed;

	for (unsigned int i = 0; i < 5000; i++) {
		struct roost_gid a = claim_of(i, i).addr;

		roost_neigh_get(f->cache, &a, f->now_ns, &n);
	}
	asked.to_all = 0;
	f->now_ns += 100 * MS;
	assert_true(roost_neigh_tick(f->cache, f->now_ns, &failed) <=
		    f->now_ns);
	assert_in_range(asked.to_all, 1, 256);
	while (roost_neigh_tick(f->cache, f->now_ns, &failed) <= f->now_ns)
		;
	assert_int_equal(asked.to_all, 5000);
}

static void neigh__full_of_held_entries_refuses(void **state)
{
	struct fixture *f = *state;
	struct roost_gid a;
	struct roost_neigh *n;

	for (unsigned int i = 0; i < ROOST_NEIGHS_MAX; i++) {
		a = claim_of(i, 0).addr;
		assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n),
				 0);
	}
	a = addr("12.0.0.1");
	assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n),
			 -ENOBUFS);
	/* An address that it has is found. One less, and there is room. */
	a = addr("11.0.0.5");
	assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n), 0);
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
		TEST(neigh__one_station_drives_out_its_own_claims),
		TEST(neigh__many_stations_drive_out_claims_only),
		TEST(neigh__claims_of_the_same_addresses),
		TEST(neigh__claims_in_use_stay),
		TEST(neigh__what_was_in_use_is_bounded),
		TEST(neigh__a_hundred_thousand),
		TEST(neigh__a_tick_is_bounded),
		TEST(neigh__full_of_held_entries_refuses),
		TEST(neigh__link_up_asks_the_silent_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
