/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A peer that joins beside the default one: what it sent by that one comes
 * first. EAL is never initialised here.
 */

#include <sys/socket.h>

#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define A 1
#define B 2
#define FIRST 9 /* the default peer */
#define QPN 0x1234u
#define RING 32u

static struct roost_shm_channel *first, *a, *b;

/* `first` is the default peer of b; a joins b later. */
static int setup(void **state)
{
	int fds[2];

	first = pair_open(2);
	a = pair_open(2);
	b = pair_open(2);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds),
			 0);
	pair_join_end(first, B, roost_shm_channel_memory(b)->fd, 0, fds[0],
		      false);
	pair_join_end(b, 0, roost_shm_channel_memory(first)->fd, 0, fds[1],
		      true);
	return 0;
}

static int teardown(void **state)
{
	roost_shm_channel_close(first);
	roost_shm_channel_close(a);
	roost_shm_channel_close(b);
	return 0;
}

static void send_one(struct roost_shm_channel *ch, uint32_t number)
{
	struct rte_mbuf *mbuf = pair_frame(ch, A, B, QPN, 300, number);

	assert_int_equal(pair_send(ch, 0, &mbuf, 1), 1);
}

/* The next frame of b is that one, from there. */
static void expect(uint32_t number, uint32_t from)
{
	struct rte_mbuf *mbuf = NULL;

	/* A burst looks at each peer once. */
	for (int i = 0; i < 3 && !mbuf; i++)
		if (roost_shm_rx_burst(b, &mbuf, 1) == 0)
			mbuf = NULL;
	assert_non_null(mbuf);
	assert_true(pair_is_frame(mbuf, A, B, QPN, 300, number));
	assert_int_equal(roost_in_place_from(mbuf), from);
	rte_pktmbuf_free(mbuf);
}

static void expect_none(void)
{
	struct rte_mbuf *mbuf;

	assert_int_equal(roost_shm_rx_burst(b, &mbuf, 1), 0);
	assert_int_equal(roost_shm_rx_burst(b, &mbuf, 1), 0);
}

static void order__what_went_by_the_default_peer_is_first(void **state)
{
	struct rte_mbuf *mbufs[2];

	for (uint32_t i = 0; i < 20; i++)
		send_one(first, i);
	pair_join(a, A, b, B);
	for (uint32_t i = 20; i < 40; i++)
		send_one(a, i);
	for (uint32_t i = 0; i < 20; i++)
		expect(i, 0);
	for (uint32_t i = 20; i < 40; i++)
		expect(i, A);
	expect_none();
	/* From now on nobody comes first. */
	for (uint32_t i = 0; i < 10; i++)
		send_one(first, i);
	send_one(a, 40);
	assert_int_equal(roost_shm_rx_burst(b, &mbufs[0], 1), 1);
	assert_int_equal(roost_shm_rx_burst(b, &mbufs[1], 1), 1);
	assert_int_not_equal(roost_in_place_from(mbufs[0]),
			     roost_in_place_from(mbufs[1]));
	rte_pktmbuf_free_bulk(mbufs, 2);
}

/* A default peer that always has more holds up nobody: its ring counts as it
 * was.
 */
static void order__no_more_than_a_ring_is_first(void **state)
{
	uint32_t n = 0, got = 0;
	struct rte_mbuf *mbuf;
	bool found = false;

	pair_join(a, A, b, B);
	send_one(a, 1000);
	for (; n < 10; n++)
		send_one(first, n);
	while (!found && got < 1000) {
		if (roost_shm_rx_burst(b, &mbuf, 1) == 0)
			continue;
		found = roost_in_place_from(mbuf) == A;
		if (!found) {
			assert_true(pair_is_frame(mbuf, A, B, QPN, 300, got));
			got++;
			send_one(first, n++);
			assert_int_equal(roost_shm_rx_burst(first, &mbuf, 1),
					 0);
		}
		rte_pktmbuf_free(mbuf);
	}
	assert_true(found);
	assert_in_range(got, 10, RING + 1);
}

/* Frames that are held leave no room in the ring: that is not its end. */
static void order__a_ring_without_room_is_not_empty(void **state)
{
	struct rte_mbuf *held[RING];
	uint32_t n = 0;

	for (uint32_t i = 0; i < RING; i++)
		send_one(first, i);
	while (n < RING)
		n += roost_shm_rx_burst(b, held + n, (uint16_t)(RING - n));
	rte_pktmbuf_free(held[0]);
	expect_none(); /* gives its slot back */
	send_one(first, RING);
	pair_join(a, A, b, B);
	send_one(a, RING + 1);
	expect(RING, 0);
	expect(RING + 1, A);
	rte_pktmbuf_free_bulk(held + 1, RING - 1);
}

/* A sender must know that the peer receives before it changes over. */
static void order__a_peer_listens_when_it_has_joined(void **state)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds),
			 0);
	assert_int_equal(roost_shm_seat_take(b), 1);
	pair_join_end(a, B, roost_shm_channel_memory(b)->fd, 1, fds[0], false);
	assert_false(roost_shm_peer_listens(a, 0));
	roost_shm_seat_leave(b, 1);
	pair_join_end(b, A, roost_shm_channel_memory(a)->fd, 0, fds[1], false);
	assert_true(roost_shm_peer_listens(a, 0));
	assert_int_equal(roost_shm_tx_pending(a, 0), 0);
	send_one(a, 1);
	assert_int_equal(roost_shm_tx_pending(a, 0), 1);
	assert_true(roost_shm_rx_is_due(b, 1));
	expect(1, A);
	expect_none();
	assert_false(roost_shm_rx_is_due(b, 1));
	assert_int_equal(roost_shm_tx_pending(a, 0), 0);
}

/* A peer that stood still finds nothing of what was sent to it, and no fault:
 * the slots have other frames now.
 */
static void order__who_leaves_takes_its_frames_back(void **state)
{
	enum roost_shm_fault fault;

	pair_join(a, A, b, B);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < RING; i++)
			send_one(a, i);
		for (uint32_t i = 0; i < (round == 2 ? RING - 5 : RING); i++)
			expect(i, A);
		if (round < 2)
			expect_none();
		roost_shm_tx_pending(a, 0);
	}
	roost_shm_peer_leave(a, 0);
	assert_int_equal(rte_mempool_avail_count(roost_shm_channel_pool(a)),
			 64);
	expect_none();
	assert_int_equal(roost_shm_next_broken(b, &fault), ROOST_SHM_NO_SEAT);
}

/* A program that ends has answered: its peer reads that later. */
static void order__who_ends_leaves_its_frames(void **state)
{
	pair_join(a, A, b, B);
	for (uint32_t i = 0; i < 5; i++)
		send_one(a, i);
	roost_shm_channel_end(a);
	roost_shm_peer_leave(a, 0);
	for (uint32_t i = 0; i < 5; i++)
		expect(i, A);
	expect_none();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(order__what_went_by_the_default_peer_is_first),
		TEST(order__no_more_than_a_ring_is_first),
		TEST(order__a_ring_without_room_is_not_empty),
		TEST(order__a_peer_listens_when_it_has_joined),
		TEST(order__who_leaves_takes_its_frames_back),
		TEST(order__who_ends_leaves_its_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
