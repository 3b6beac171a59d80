/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/share/neighs.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/share/fake_daemon.h"

static struct fake_daemon d;
static struct roost_shm_memory memory;
static struct roost_share_grant grant;
static struct roost_share_session *s;
static struct roost_share_neighs *n;
static struct roost_gid own;

static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 9 };
/* The last byte of a destination is the index of its entry, but for these. */
#define NO_ROUTE 201
#define WRONG_INDEX 202

static bool serve(struct fake_daemon *f, struct roost_share_packet *packet)
{
	const struct roost_share_addr *addr = &packet->msg.addr;
	const uint8_t last = addr->dgid.b[15];

	if (packet->msg.type != ROOST_SHARE_RESOLVE)
		return false;
	if (last == NO_ROUTE)
		fake_reply(f, packet->msg.tag, -EHOSTUNREACH, 0);
	else if (last == WRONG_INDEX)
		fake_reply(f, packet->msg.tag, 0, ROOST_SHARE_NEIGHS);
	else
		fake_reply(f, packet->msg.tag, 0, last);
	return true;
}

static int setup(void **state)
{
	const struct roost_shm_shape shape = { 64, ROOST_SHM_SLOT_BYTES, 2,
					       32 };
	struct roost_share_session_conf conf = { .label = "a port" };

	assert_int_equal(roost_shm_memory_make(&shape, &memory), 0);
	fake_prepare(&d);
	d.serve = serve;
	own = d.facts.gids[1];
	fake_start(&d);
	conf.service = d.path;
	conf.memory_fd = memory.fd;
	assert_int_equal(roost_share_session_open(&conf, &grant, &s), 0);
	assert_int_equal(roost_share_neighs_create(s, grant.page, &n), 0);
	return 0;
}

static int teardown(void **state)
{
	roost_share_neighs_destroy(n);
	roost_share_session_close(s);
	roost_share_grant_drop(&grant);
	fake_stop(&d);
	roost_shm_memory_close(&memory);
	return 0;
}

static struct roost_gid peer(uint8_t index)
{
	const uint8_t v4[4] = { 198, 18, 0, index };

	return roost_gid_from_v4(v4);
}

static void answer(uint8_t index)
{
	atomic_store(&d.page->neighs[index], roost_neigh_mac_gen(peer_mac, 1));
}

static int resolve(uint8_t index, bool asks, struct roost_neigh **neigh)
{
	const struct roost_gid dgid = peer(index);

	return roost_share_neighs_resolve(n, &own, &dgid, NULL, asks, neigh);
}

static void check_mac(const struct roost_neigh *neigh)
{
	uint8_t mac[6];

	roost_neigh_mac(atomic_load(&neigh->mac_gen), mac);
	assert_memory_equal(mac, peer_mac, 6);
}

static unsigned int nb(enum roost_share_type type)
{
	return atomic_load(&d.nb[type]);
}

static bool run(uint64_t now_ns, uint64_t *next_ns)
{
	bool answered;
	uint64_t due_ns = roost_share_neighs_run(n, now_ns, &answered);

	if (next_ns)
		*next_ns = due_ns;
	return answered;
}

static void neighs__a_thousand_paths_are_one_resolve(void **state)
{
	struct roost_neigh *neighs[1000];
	uint64_t now_ns, next_ns;

	answer(9);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(resolve(9, false, &neighs[i]), 0);
		assert_ptr_equal(neighs[i], neighs[0]);
	}
	check_mac(neighs[0]);
	fake_await(&d, ROOST_SHARE_RESOLVE, 1);
	/* A new generation of it is seen when the daemon says so. */
	atomic_store(&d.page->neighs[9], roost_neigh_mac_gen(peer_mac, 7));
	assert_false(run(roost_now_ns(), NULL));
	assert_int_equal(atomic_load(&neighs[0]->mac_gen),
			 roost_neigh_mac_gen(peer_mac, 2));
	for (int i = 0; i < 1000; i++)
		roost_share_neighs_put(n, neighs[i]);
	/* Kept for a while, and back within it. */
	now_ns = roost_now_ns();
	assert_false(run(now_ns, &next_ns));
	assert_in_range(next_ns, now_ns, now_ns + ROOST_SHARE_IDLE_NS);
	assert_int_equal(resolve(9, false, &neighs[0]), 0);
	run(now_ns + 2 * ROOST_SHARE_IDLE_NS, &next_ns);
	assert_true(next_ns == UINT64_MAX);
	assert_int_equal(nb(ROOST_SHARE_PUT), 0);
	roost_share_neighs_put(n, neighs[0]);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, &next_ns);
	assert_true(next_ns == UINT64_MAX);
	fake_await(&d, ROOST_SHARE_PUT, 1);
	assert_int_equal(nb(ROOST_SHARE_RESOLVE), 1);
	assert_int_equal(resolve(9, false, &neighs[0]), 0);
	fake_await(&d, ROOST_SHARE_RESOLVE, 2);
}

static void neighs__asking_does_not_wait(void **state)
{
	struct roost_neigh *neigh, *again;
	const struct roost_gid dgid = peer(3);
	const uint64_t now_ns = roost_now_ns();
	uint64_t next_ns;

	assert_int_equal(roost_share_neighs_meet(n, &own, &dgid), -EAGAIN);
	assert_int_equal(resolve(3, true, &neigh), 0);
	assert_int_equal(atomic_load(&neigh->mac_gen), 0);
	assert_int_equal(roost_share_neighs_meet(n, &own, &dgid), -EAGAIN);
	assert_int_equal(resolve(3, true, &again), 0);
	assert_ptr_equal(again, neigh);
	fake_await(&d, ROOST_SHARE_RESOLVE, 1);
	assert_false(run(now_ns, &next_ns));
	assert_int_equal(next_ns, now_ns + ROOST_SHARE_LOOK_NS);
	answer(3);
	assert_true(run(now_ns, &next_ns));
	assert_false(run(now_ns, &next_ns));
	assert_true(next_ns == UINT64_MAX);
	assert_int_equal(roost_share_neighs_meet(n, &own, &dgid), 0);
	check_mac(neigh);
	roost_share_neighs_put(n, neigh);
	roost_share_neighs_put(n, again);
}

/* A path that needs the MAC now asks the daemon again, which waits. */
static void neighs__resolve_behind_ask_gives_back_both(void **state)
{
	struct roost_neigh *asked, *neigh;

	assert_int_equal(resolve(3, true, &asked), 0);
	answer(3);
	roost_share_neighs_forget(n);
	assert_int_equal(resolve(3, false, &neigh), 0);
	assert_ptr_equal(asked, neigh);
	fake_await(&d, ROOST_SHARE_RESOLVE, 2);
	roost_share_neighs_put(n, neigh);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, NULL);
	assert_int_equal(nb(ROOST_SHARE_PUT), 0);
	roost_share_neighs_put(n, asked);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, NULL);
	fake_await(&d, ROOST_SHARE_PUT, 2);
}

static void neighs__what_is_not_reached(void **state)
{
	struct roost_neigh *neigh;

	assert_int_equal(resolve(NO_ROUTE, false, &neigh), -EHOSTUNREACH);
	assert_int_equal(resolve(WRONG_INDEX, false, &neigh), -EHOSTUNREACH);
	assert_int_equal(resolve(WRONG_INDEX, true, &neigh), -EHOSTUNREACH);
	/* An entry without a MAC. */
	assert_int_equal(resolve(4, false, &neigh), -ETIMEDOUT);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, NULL);
	fake_await(&d, ROOST_SHARE_PUT, 1);
	roost_share_session_give_up(s);
	assert_int_equal(resolve(5, false, &neigh), -EHOSTUNREACH);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, NULL);
}

static void neighs__sources_are_told_apart(void **state)
{
	struct roost_neigh *a, *b;
	const struct roost_gid dgid = peer(9);

	answer(9);
	assert_int_equal(resolve(9, false, &a), 0);
	assert_int_equal(roost_share_neighs_resolve(n, &d.facts.gids[0], &dgid,
						    NULL, false, &b),
			 0);
	assert_ptr_equal(a, b);
	fake_await(&d, ROOST_SHARE_RESOLVE, 2);
	roost_share_neighs_put(n, a);
	roost_share_neighs_put(n, b);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, NULL);
	fake_await(&d, ROOST_SHARE_PUT, 2);
}

static void *resolve_all(void *arg)
{
	struct roost_neigh *neigh;
	uint64_t *failed = arg;

	for (int round = 0; round < 20; round++)
		for (uint8_t i = 1; i < 100; i++) {
			if (resolve(i, i % 2, &neigh))
				(*failed)++;
			else
				roost_share_neighs_put(n, neigh);
		}
	return NULL;
}

/* No lease is lost when threads resolve at the same time. */
static void neighs__each_resolve_has_its_put(void **state)
{
	pthread_t threads[4];
	uint64_t failed[4] = { 0 }, now_ns = roost_now_ns(), next_ns;

	for (uint8_t i = 1; i < 100; i++)
		answer(i);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, resolve_all, &failed[i]);
	for (int i = 0; i < 200; i++)
		run(now_ns + (uint64_t)i * ROOST_SHARE_IDLE_NS, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(failed[i], 0);
	}
	do /* again, as long as the socket is full */
		run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, &next_ns);
	while (next_ns != UINT64_MAX);
	fake_await(&d, ROOST_SHARE_PUT, nb(ROOST_SHARE_RESOLVE));
}

/* ---- another daemon ------------------------------------------------------ */

static void lose(void)
{
	fake_hang_up(&d);
	while (!roost_share_session_news(s).lost)
		usleep(1000);
}

static void come_back(void)
{
	struct roost_share_grant next;
	char why[ROOST_SHARE_REASON_MAX];
	int ret;

	do
		ret = roost_share_session_again(s, 0, &next, why);
	while (ret == -EAGAIN && usleep(1000) == 0);
	assert_int_equal(ret, 0);
	roost_share_neighs_restart(n, next.page);
	roost_share_grant_drop(&grant);
	grant = next;
	roost_share_session_resume(s);
}

/* Paths keep their neighbours, whatever number the other daemon gives them. */
static void neighs__outlive_their_daemon(void **state)
{
	struct roost_neigh *idle, *used, *asked, *again;
	uint64_t before, next_ns;

	answer(8);
	answer(9);
	assert_int_equal(resolve(8, false, &idle), 0);
	assert_int_equal(resolve(9, false, &used), 0);
	roost_share_neighs_put(n, idle);
	lose();
	before = atomic_load(&used->mac_gen);
	/* Who may not wait does not; the next daemon is asked. */
	assert_int_equal(resolve(7, true, &asked), 0);
	assert_int_equal(atomic_load(&asked->mac_gen), 0);
	assert_false(run(roost_now_ns(), &next_ns));
	assert_true(next_ns > roost_now_ns());
	assert_int_equal(atomic_load(&used->mac_gen), before);
	fake_replace(&d);
	d.serve = serve;
	answer(7);
	answer(9);
	fake_start(&d);
	come_back();
	assert_int_equal(atomic_load(&used->mac_gen), before);
	assert_true(run(roost_now_ns(), &next_ns));
	fake_await(&d, ROOST_SHARE_RESOLVE, 2);
	check_mac(used);
	check_mac(asked);
	/* Another generation: what leads there is made anew. */
	assert_true(atomic_load(&used->mac_gen) != before);
	assert_int_equal(resolve(9, false, &again), 0);
	assert_ptr_equal(again, used);
	fake_await(&d, ROOST_SHARE_RESOLVE, 2);
	roost_share_neighs_put(n, used);
	roost_share_neighs_put(n, again);
	roost_share_neighs_put(n, asked);
	run(roost_now_ns() + 2 * ROOST_SHARE_IDLE_NS, &next_ns);
	assert_true(next_ns == UINT64_MAX);
	/* One for each that this daemon was asked for. */
	fake_await(&d, ROOST_SHARE_PUT, 2);
}

static void *resolve_one(void *arg)
{
	assert_int_equal(resolve(9, false, arg), 0);
	return NULL;
}

/* A thread that waits for the network has the answer of the next daemon. */
static void neighs__who_waits_is_answered(void **state)
{
	struct roost_neigh *neigh;
	pthread_t thread;

	lose();
	pthread_create(&thread, NULL, resolve_one, &neigh);
	usleep(50000);
	fake_replace(&d);
	d.serve = serve;
	answer(9);
	fake_start(&d);
	come_back();
	pthread_join(thread, NULL);
	check_mac(neigh);
	roost_share_neighs_put(n, neigh);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(neighs__a_thousand_paths_are_one_resolve),
		TEST(neighs__asking_does_not_wait),
		TEST(neighs__resolve_behind_ask_gives_back_both),
		TEST(neighs__what_is_not_reached),
		TEST(neighs__sources_are_told_apart),
		TEST(neighs__each_resolve_has_its_put),
		TEST(neighs__outlive_their_daemon),
		TEST(neighs__who_waits_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
