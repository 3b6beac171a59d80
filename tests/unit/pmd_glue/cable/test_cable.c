/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "pmd_glue/process/control.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/cable/cable_world.h"
#include "tests/unit/pmd_glue/channel/pair.h"

static void cable__frames_pass_both_ways(void **state)
{
	struct end *a = cable_open_end(0), *b = cable_open_end(1);
	uint8_t macs[2][6];

	assert_int_equal(roost_cable_end(a->cable), 0);
	assert_int_equal(roost_cable_end(b->cable), 1);
	roost_cable_mac(a->cable, macs[0]);
	roost_cable_mac(b->cable, macs[1]);
	assert_memory_not_equal(macs[0], macs[1], 6);
	cable_wait_for_peer(a, true);
	cable_wait_for_peer(b, true);
	cable_check_both_ways(a, b);
}

static void cable__nobody_is_there(void **state)
{
	struct end *a = cable_open_end(0);
	struct rte_mbuf *mbuf;

	cable_sleep_ns(50000000);
	assert_false(roost_control_call(cable_has_peer, a));
	/* Dropped: there is no peer to wait for. */
	cable_send_one(a, CABLE_LEN, 1);
	cable_hold(a);
	assert_int_equal(roost_cable_rx(a->cable, &mbuf, 1), 0);
	cable_release(a);
}

static void cable__sleeps_until_a_frame_comes(void **state)
{
	struct end *a = cable_open_end(0), *b;
	int fd;

	/* Armed before there was a peer. */
	cable_hold(a);
	fd = roost_cable_arm(a->cable);
	cable_release(a);
	assert_true(fd >= 0);
	b = cable_open_end(1);
	cable_wait_for_peer(a, true);
	cable_wait_for_peer(b, true);
	cable_send_one(b, CABLE_LEN, 3);
	cable_wait_readable(fd);
	cable_hold(a);
	roost_cable_disarm(a->cable);
	cable_release(a);
	cable_expect_one(a, CABLE_LEN, 3);
}

/* End 1 has looked in vain so often that it looks rarely by now. */
static void cable__end_0_is_found_at_once(void **state)
{
	struct end *a = cable_open_end(0), *b = cable_open_end(1), *again;

	cable_wait_for_peer(b, true);
	cable_close_end(a);
	cable_wait_for_peer(b, false);
	cable_sleep_ns(1200000000);
	again = cable_open_end(0);
	assert_int_equal(roost_cable_end(again->cable), 0);
	assert_true(cable_wait_for_peer(again, true) < 200000000u);
	cable_wait_for_peer(b, true);
	cable_check_both_ways(again, b);
}

static void cable__a_third_learns_the_pids(void **state)
{
	struct end *a = cable_open_end(0), *b = cable_open_end(1);

	cable_wait_for_peer(b, true);
	/* Who asks must not fill the queue for good. */
	for (unsigned int i = 0; i < 20; i++) {
		cable_pids[0] = cable_pids[1] = 0;
		assert_int_equal(roost_control_call(cable_try_end,
						    &cable_ends[2]),
				 -EBUSY);
		assert_int_equal(cable_pids[0], getpid());
		assert_int_equal(cable_pids[1], getpid());
	}
	assert_true(roost_control_call(cable_has_peer, b));
	cable_check_both_ways(a, b);
	cable_ends[2].cable = NULL;
}

/* What it sent at last arrives, although nobody received for a while. */
static void cable__peers_die_and_others_come(void **state)
{
	struct end *a = cable_open_end(0);
	struct peer p;

	for (unsigned int i = 0; i < 6; i++) {
		cable_meet(&p);
		cable_wait_for_peer(a, true);
		for (uint32_t k = 0; k < 20; k++)
			cable_send_from(&p, k);
		cable_hold(a);
		a->nb_got = 0;
		cable_release(a);
		cable_die(&p);
		cable_wait_for_peer(a, false);
		assert_int_equal(a->nb_got, 20);
	}
}

/* A frame in place outlives its sender, and is not in the next one's way. */
static void cable__frames_outlive_their_peer(void **state)
{
	struct end *a = cable_open_end(0);
	struct rte_mbuf *mbufs[6];
	struct peer p;

	for (uint32_t i = 0; i < 6; i++) {
		cable_meet(&p);
		cable_wait_for_peer(a, true);
		cable_send_from(&p, i);
		mbufs[i] = cable_take_one(a);
		assert_true(roost_is_in_place(mbufs[i]));
		if (i == 2)
			mbufs[i] = roost_cable_keep(a->cable, mbufs[i]);
		cable_die(&p);
		cable_wait_for_peer(a, false);
		assert_true(
			pair_is_frame(mbufs[i], 1, 2, 0x1234, CABLE_LEN, i));
		if (i >= 3)
			rte_pktmbuf_free(mbufs[i]);
	}
	rte_pktmbuf_free_bulk(mbufs, 3);
}

/* Lines about it are not the test's. */
static int quiet_begin(void)
{
	int saved = dup(STDERR_FILENO);

	assert_non_null(freopen("/dev/null", "w", stderr));
	return saved;
}

static void quiet_end(int saved)
{
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

static void cable__a_liar_is_cut_off(void **state)
{
	struct end *a = cable_open_end(0);
	const struct roost_shm_memory *mem;
	struct rte_mbuf *mbuf;
	struct peer p;
	int saved = quiet_begin();

	for (unsigned int i = 0; i < 3; i++) {
		cable_meet(&p);
		cable_wait_for_peer(a, true);
		mem = roost_shm_channel_memory(p.ch);
		if (i == 0) /* a slot that it does not have */
			atomic_store(roost_shm_ring(mem, 0),
				     UINT64_C(1) << 32 | 9999u << 16 | 64u);
		else if (i == 1) /* a frame of no round */
			atomic_store(roost_shm_ring(mem, 0),
				     UINT64_C(77) << 32 | 64u);
		else /* more than was sent */
			atomic_store(roost_shm_count(mem, 0), 1000);
		if (i == 2)
			cable_send_one(a, CABLE_LEN, 1);
		cable_hold(a);
		assert_int_equal(roost_cable_rx(a->cable, &mbuf, 1), 0);
		cable_release(a);
		roost_control_wake();
		cable_wait_for_peer(a, false);
		cable_wait_readable(p.m.fd);
		assert_int_equal(roost_shm_meet_look(&p.m, 0), -ECONNRESET);
		cable_die(&p);
	}
	quiet_end(saved);
	cable_meet(&p);
	cable_wait_for_peer(a, true);
	cable_send_from(&p, 5);
	cable_expect_one(a, CABLE_LEN, 5);
	cable_die(&p);
	cable_wait_for_peer(a, false);
}

static void cable__who_says_nonsense_is_cut_off(void **state)
{
	struct end *a = cable_open_end(0);
	int saved = quiet_begin();
	struct peer p;
	char byte;

	for (unsigned int i = 0; i < 3; i++) {
		int fd = cable_connect_to(0);
		ssize_t n;

		assert_int_equal(write(fd, "nonsense", 8), 8);
		/* Our HELLO may come, and then the end. */
		do {
			cable_wait_readable(fd);
			n = read(fd, &byte, 1);
		} while (n > 0);
		close(fd);
	}
	quiet_end(saved);
	cable_meet(&p);
	cable_wait_for_peer(a, true);
	cable_die(&p);
	cable_wait_for_peer(a, false);
}

/* It keeps others out for a second, and no longer. */
static void cable__who_says_nothing_is_cut_off(void **state)
{
	struct end *a = cable_open_end(0), *b;
	int fd = cable_connect_to(0);

	cable_sleep_ns(20000000);
	b = cable_open_end(1);
	cable_wait_for_peer(a, true);
	cable_wait_for_peer(b, true);
	cable_check_both_ways(a, b);
	close(fd);
}

static void cable__who_comes_second_to_end_0_is_sent_away(void **state)
{
	struct end *a = cable_open_end(0), *b = cable_open_end(1);
	char hello[64];
	int fd;

	cable_wait_for_peer(a, true);
	fd = cable_connect_to(0);
	cable_wait_readable(fd);
	assert_int_equal(read(fd, hello, sizeof(hello)), 0);
	close(fd);
	cable_check_both_ways(a, b);
}

static void cable__the_longest_frames(void **state)
{
	static const uint32_t mtus[] = { 576, 9978 };
	struct end *a, *b;

	cable_next.ip_mtu_bytes = mtus[0];
	a = cable_open_end(0);
	cable_next.ip_mtu_bytes = mtus[1];
	b = cable_open_end(1);
	cable_wait_for_peer(a, true);
	cable_wait_for_peer(b, true);
	/* With a VLAN tag. Each sends what its own MTU allows. */
	cable_send_one(a, mtus[0] + 18, 1);
	cable_expect_one(b, mtus[0] + 18, 1);
	cable_send_one(b, mtus[1] + 18, 2);
	cable_expect_one(a, mtus[1] + 18, 2);
}

/* A child of who has an end has neither the end nor the connection. */
static void cable__a_forked_child_holds_nothing(void **state)
{
	struct end *a = cable_open_end(0), *b = cable_open_end(1);
	int status;
	pid_t pid;

	cable_wait_for_peer(a, true);
	cable_wait_for_peer(b, true);
	pid = fork();
	if (pid == 0)
		_exit(pause());
	cable_close_end(a);
	cable_wait_for_peer(b, false);
	a = cable_open_end(0);
	assert_int_equal(roost_cable_end(a->cable), 0);
	cable_wait_for_peer(b, true);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* Several devices: one thread sends while another one receives. */
struct user {
	struct end *e;
	unsigned int nb;
};

#define CROWD 20000u

static void *send_many(void *arg)
{
	const struct user *u = arg;

	for (uint32_t i = 0; i < CROWD; i++) {
		struct rte_mbuf *mbuf;

		while (!(mbuf = rte_pktmbuf_alloc(
				 roost_cable_pool(u->e->cable))))
			sched_yield();
		rte_pktmbuf_append(mbuf, CABLE_LEN);
		pair_write_frame(rte_pktmbuf_mtod(mbuf, uint8_t *), 1, 2,
				 0x1234, CABLE_LEN, i);
		while (roost_cable_tx(u->e->cable, &mbuf, 1) == 0)
			sched_yield();
	}
	return NULL;
}

static void *receive_many(void *arg)
{
	struct user *u = arg;
	struct rte_mbuf *mbufs[8];

	while (u->nb < CROWD) {
		uint16_t n = roost_cable_rx(u->e->cable, mbufs, 8);

		if (n == 0)
			sched_yield();
		for (uint16_t i = 0; i < n; i++, u->nb++)
			if (!pair_is_frame(mbufs[i], 1, 2, 0x1234, CABLE_LEN,
					   u->nb))
				abort();
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	return NULL;
}

static void cable__of_several_devices(void **state)
{
	struct user users[2] = { 0 };
	pthread_t threads[4];

	cable_next.nb_users = 2;
	for (unsigned int i = 0; i < 2; i++)
		users[i].e = cable_open_end(i);
	cable_wait_for_peer(users[0].e, true);
	cable_wait_for_peer(users[1].e, true);
	for (unsigned int i = 0; i < 2; i++) {
		pthread_create(&threads[2 * i], NULL, send_many, &users[i]);
		pthread_create(&threads[2 * i + 1], NULL, receive_many,
			       &users[i]);
	}
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

#define TEST(test)                                                             \
	cmocka_unit_test_setup_teardown(test, cable_setup, cable_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cable__frames_pass_both_ways),
		TEST(cable__nobody_is_there),
		TEST(cable__sleeps_until_a_frame_comes),
		TEST(cable__end_0_is_found_at_once),
		TEST(cable__a_third_learns_the_pids),
		TEST(cable__peers_die_and_others_come),
		TEST(cable__frames_outlive_their_peer),
		TEST(cable__a_liar_is_cut_off),
		TEST(cable__who_says_nonsense_is_cut_off),
		TEST(cable__who_says_nothing_is_cut_off),
		TEST(cable__who_comes_second_to_end_0_is_sent_away),
		TEST(cable__the_longest_frames),
		TEST(cable__a_forked_child_holds_nothing),
		TEST(cable__of_several_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
