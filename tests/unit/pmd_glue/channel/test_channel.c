/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* EAL is never initialised here. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define A 1
#define B 2
#define C 3
#define SEAT(party) ((party)-2u) /* of a peer of a */
#define QPN 0x1234u
#define SLOTS 64u
#define HALF (SLOTS / 2)

static struct roost_shm_channel *a, *b, *c;

static int open_pair(void **state)
{
	a = pair_open(3);
	b = pair_open(3);
	c = NULL;
	pair_join(a, A, b, B);
	return 0;
}

static int close_pair(void **state)
{
	roost_shm_channel_close(a);
	roost_shm_channel_close(b);
	roost_shm_channel_close(c);
	return 0;
}

static void join_third(void)
{
	c = pair_open(3);
	pair_join(a, A, c, C);
	pair_join(b, B, c, C);
}

/* From a. Returns whether it was taken; what was not is freed. */
static bool send_len(uint8_t to, uint32_t len, uint32_t number)
{
	struct rte_mbuf *mbuf = pair_frame(a, A, to, QPN, len, number);

	if (!mbuf)
		return false;
	if (pair_send(a, SEAT(to), &mbuf, 1) == 1)
		return true;
	rte_pktmbuf_free(mbuf);
	return false;
}

static struct rte_mbuf *receive(struct roost_shm_channel *ch)
{
	struct rte_mbuf *mbuf;

	return roost_shm_rx_burst(ch, &mbuf, 1) == 1 ? mbuf : NULL;
}

static uint32_t nb_free(struct roost_shm_channel *ch)
{
	/* Takes slots back. */
	struct rte_mbuf *mbuf = receive(ch);

	assert_null(mbuf);
	return rte_mempool_avail_count(roost_shm_channel_pool(ch));
}

/* ---- frames
 * ------------------------------------------------------------------- */

static void channel__frames_of_all_lengths(void **state)
{
	static const uint32_t lens[] = { 60,  128,  191,  192, 193,
					 256, 1500, 4160, 4224 };

	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct rte_mbuf *mbuf;

		assert_true(send_len(B, lens[i], i));
		mbuf = receive(b);
		assert_non_null(mbuf);
		assert_true(pair_is_frame(mbuf, A, B, QPN, lens[i], i));
		assert_int_equal(roost_is_in_place(mbuf), lens[i] > 192);
		assert_int_equal(mbuf->port, 3);
		rte_pktmbuf_free(mbuf);
		assert_null(receive(b));
		assert_int_equal(nb_free(a), SLOTS);
	}
	assert_int_equal(roost_shm_counters(b, 0)->rx_pkts, 9);
	assert_int_equal(roost_shm_counters(b, 0)->rx_in_place_pkts, 5);
	assert_int_equal(roost_shm_counters(a, 0)->tx_pkts, 9);
	assert_int_equal(roost_shm_counters(a, 0)->tx_copied_pkts, 0);
}

/* What the engine does not take is private, as a whole. */
static void channel__other_frames_are_copied(void **state)
{
	struct rte_mbuf *mbuf;

	for (int kind = 0; kind < 4; kind++) {
		uint32_t qpn = kind == 0 ? 1 : QPN;
		uint8_t *p;

		mbuf = pair_frame(a, A, B, qpn, 1000, 5);
		p = rte_pktmbuf_mtod(mbuf, uint8_t *);
		if (kind == 1)
			p[12] = 0x12; /* ethertype */
		if (kind == 2)
			p[23] = 6; /* TCP */
		if (kind == 3)
			p[36] ^= 1; /* UDP port */
		assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
		memset(p + 500, 0, 10);
		mbuf = receive(b);
		assert_int_equal(mbuf->data_len, 1000);
		assert_int_equal(mbuf->pkt_len, 1000);
		p[600] = 0xee;
		assert_true(rte_pktmbuf_mtod(mbuf, uint8_t *)[600] ==
			    pair_payload(5, 600));
		assert_null(receive(b));
		assert_int_equal(nb_free(a), SLOTS);
		rte_pktmbuf_free(mbuf);
	}
	assert_int_equal(roost_shm_counters(b, 0)->rx_in_place_pkts, 0);
}

/* A slot comes back when the mbuf is freed, and in order. */
static void channel__slots_are_held_by_mbufs(void **state)
{
	struct rte_mbuf *held[3];

	for (uint32_t i = 0; i < 3; i++)
		assert_true(send_len(B, 1000, i));
	assert_int_equal(roost_shm_rx_burst(b, held, 3), 3);
	assert_int_equal(nb_free(a), SLOTS - 3);
	rte_pktmbuf_free(held[1]);
	assert_null(receive(b));
	assert_int_equal(nb_free(a), SLOTS - 3);
	rte_pktmbuf_free(held[0]);
	assert_null(receive(b));
	assert_int_equal(nb_free(a), SLOTS - 1);
	held[2] = roost_shm_keep(b, held[2]);
	assert_int_equal(held[2]->data_len, 1000);
	assert_true(pair_is_frame(held[2], A, B, QPN, 1000, 2));
	assert_ptr_equal(roost_shm_keep(b, held[2]), held[2]);
	assert_null(receive(b));
	assert_int_equal(nb_free(a), SLOTS);
	rte_pktmbuf_free(held[2]);
}

/* The headers that were checked stay, whatever the sender writes later. */
static void channel__headers_are_private(void **state)
{
	struct rte_mbuf *mbuf = pair_frame(a, A, B, QPN, 1000, 5), *got;

	assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
	got = receive(b);
	memset(rte_pktmbuf_mtod(mbuf, void *), 0xff, 128);
	got = roost_shm_keep(b, got);
	assert_true(pair_is_frame(got, A, B, QPN, 1000, 5));
	rte_pktmbuf_free(got);
}

/* Frames that were built elsewhere: other pools, offsets, segments. */
static void channel__foreign_frames_are_copied(void **state)
{
	struct rte_mbuf *mbuf, *tail;
	uint8_t frame[1000];

	mbuf = pair_frame(b, A, B, QPN, 1000, 1);
	assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
	mbuf = pair_frame(a, A, B, QPN, 1000, 2);
	rte_pktmbuf_prepend(mbuf, 4);
	memmove(rte_pktmbuf_mtod(mbuf, uint8_t *),
		rte_pktmbuf_mtod(mbuf, uint8_t *) + 4, 1000);
	rte_pktmbuf_trim(mbuf, 4);
	assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
	mbuf = pair_frame(b, A, B, QPN, 1000, 3);
	tail = rte_pktmbuf_alloc(roost_shm_channel_pool(a));
	pair_write_frame(frame, A, B, QPN, 1000, 3);
	rte_pktmbuf_trim(mbuf, 300);
	memcpy(rte_pktmbuf_append(tail, 300), frame + 700, 300);
	rte_pktmbuf_chain(mbuf, tail);
	assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
	for (uint32_t i = 1; i <= 3; i++) {
		mbuf = receive(b);
		assert_true(pair_is_frame(mbuf, A, B, QPN, 1000, i));
		rte_pktmbuf_free(mbuf);
	}
	assert_null(receive(b));
	assert_int_equal(nb_free(a), SLOTS);
	assert_int_equal(nb_free(b), SLOTS);
	assert_int_equal(roost_shm_counters(a, 0)->tx_copied_pkts, 3);
}

static void channel__frames_for_nobody(void **state)
{
	struct rte_mbuf *mbuf;

	assert_true(send_len(9, 100, 0));
	assert_int_equal(
		roost_shm_counters(a, ROOST_SHM_NO_SEAT)->tx_no_peer_pkts, 1);
	mbuf = rte_pktmbuf_alloc(roost_shm_channel_pool(a));
	rte_pktmbuf_append(mbuf, 5);
	assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
	assert_int_equal(
		roost_shm_counters(a, ROOST_SHM_NO_SEAT)->tx_no_peer_pkts, 2);
	assert_null(receive(b));
	assert_int_equal(nb_free(a), SLOTS);
}

static void channel__each_peer_its_frames(void **state)
{
	struct rte_mbuf *mbuf;

	join_third();
	for (uint32_t i = 0; i < 10; i++)
		assert_true(send_len(i % 2 ? B : C, 100, i));
	for (uint32_t i = 0; i < 10; i++) {
		mbuf = receive(i % 2 ? b : c);
		assert_true(pair_is_frame(mbuf, A, i % 2 ? B : C, QPN, 100, i));
		rte_pktmbuf_free(mbuf);
	}
	mbuf = pair_frame(c, C, A, QPN, 100, 77);
	assert_int_equal(pair_send(c, 0, &mbuf, 1), 1);
	mbuf = receive(a);
	assert_true(pair_is_frame(mbuf, C, A, QPN, 100, 77));
	rte_pktmbuf_free(mbuf);
}

/* ---- peers that do not read
 * ------------------------------------------------------ */

/* Until it waits or is dropped. Returns how many went. */
static uint32_t fill(uint8_t to, uint32_t seat)
{
	uint32_t n = 0;

	while (roost_shm_counters(a, seat)->tx_unread_pkts == 0 &&
	       send_len(to, 100, n))
		n++;
	return n;
}

static void patience__a_burst_ends_at_a_full_peer(void **state)
{
	struct rte_mbuf *mbufs[3];
	uint32_t n = fill(B, 0);

	assert_int_equal(n, HALF);
	for (uint32_t i = 0; i < 3; i++)
		mbufs[i] = pair_frame(a, A, B, QPN, 100, n + i);
	rte_pktmbuf_free(receive(b));
	rte_pktmbuf_free(receive(b));
	rte_pktmbuf_free(receive(b));
	/* The third is given back by the next burst. */
	assert_int_equal(pair_send(a, 0, mbufs, 3), 2);
	rte_pktmbuf_free(mbufs[2]);
}

static void patience__then_frames_are_dropped(void **state)
{
	fill(B, 0);
	assert_false(send_len(B, 100, 0));
	usleep(2 * PAIR_PATIENCE_NS / 1000);
	for (int i = 0; i < 10; i++)
		assert_true(send_len(B, 100, 0));
	assert_int_equal(roost_shm_counters(a, 0)->tx_unread_pkts, 10);
	assert_int_equal(nb_free(a), SLOTS - HALF);
}

/* One frame per patience is not reading. */
static void patience__a_slow_reader_is_none(void **state)
{
	fill(B, 0);
	for (int i = 0; i < 5; i++) {
		rte_pktmbuf_free(receive(b));
		usleep(PAIR_PATIENCE_NS / 1000);
		send_len(B, 100, 0);
		send_len(B, 100, 0);
	}
	assert_in_range(roost_shm_counters(a, 0)->tx_unread_pkts, 3, 10);
}

static void patience__begins_anew_for_who_reads(void **state)
{
	struct rte_mbuf *mbufs[HALF];
	uint16_t n;

	fill(B, 0);
	usleep(2 * PAIR_PATIENCE_NS / 1000);
	send_len(B, 100, 0);
	assert_int_equal(roost_shm_counters(a, 0)->tx_unread_pkts, 1);
	n = roost_shm_rx_burst(b, mbufs, HALF);
	assert_int_equal(n, HALF);
	rte_pktmbuf_free_bulk(mbufs, n);
	assert_null(receive(b));
	for (uint32_t i = 0; i < HALF; i++)
		assert_true(send_len(B, 100, i));
	assert_int_equal(roost_shm_counters(a, 0)->tx_unread_pkts, 1);
	assert_false(send_len(B, 100, 0));
}

/* Whoever does not read, the others have their share. */
static void patience__others_are_not_held_up(void **state)
{
	uint32_t n;

	assert_int_equal(fill(B, 0), HALF);
	join_third();
	usleep(2 * PAIR_PATIENCE_NS / 1000);
	assert_true(send_len(B, 100, 0));
	n = fill(C, 1);
	assert_true(n >= HALF / 2);
	for (uint32_t i = 0; i < 1000; i++) {
		rte_pktmbuf_free(receive(c));
		assert_null(receive(a));
		assert_true(send_len(B, 100, i));
		send_len(C, 100, i);
	}
	assert_true(roost_shm_counters(a, 1)->tx_pkts > 900);
	assert_int_equal(roost_shm_counters(a, 0)->tx_unread_pkts, 1001);
}

/* ---- peers that break the rules, and that leave
 * ------------------------------------ */

static void broken__peer_is_told_once(void **state)
{
	enum roost_shm_fault fault = ROOST_SHM_OK;
	struct rte_mbuf *mbuf;

	assert_int_equal(roost_shm_next_broken(b, &fault), ROOST_SHM_NO_SEAT);
	assert_true(send_len(B, 1000, 1));
	mbuf = receive(b);
	atomic_store(roost_shm_ring(roost_shm_channel_memory(a), 0) + 1,
		     UINT64_C(2) << 32 | 999 << 16 | 100);
	assert_null(receive(b));
	assert_null(receive(b));
	assert_int_equal(roost_shm_next_broken(b, &fault), 0);
	assert_int_equal(fault, ROOST_SHM_BAD_SLOT);
	assert_int_equal(roost_shm_next_broken(b, &fault), ROOST_SHM_NO_SEAT);
	roost_shm_peer_leave(b, 0);
	/* A frame in place outlives its peer. */
	assert_int_equal(roost_shm_channel_reap(b), 1);
	assert_true(pair_is_frame(mbuf, A, B, QPN, 1000, 1));
	rte_pktmbuf_free(mbuf);
	assert_int_equal(roost_shm_channel_reap(b), 0);
}

static void broken__count(void **state)
{
	enum roost_shm_fault fault = ROOST_SHM_OK;

	for (uint32_t i = 0; i < HALF; i++)
		assert_true(send_len(B, 100, i));
	atomic_store(roost_shm_count(roost_shm_channel_memory(b), 0), 77);
	send_len(B, 100, 0);
	assert_int_equal(nb_free(a), HALF);
	assert_int_equal(roost_shm_next_broken(a, &fault), 0);
	assert_int_equal(fault, ROOST_SHM_BAD_COUNT);
	assert_int_equal(nb_free(a), SLOTS);
	assert_int_equal(roost_shm_next_broken(a, &fault), ROOST_SHM_NO_SEAT);
	/* Its frames are for nobody from now on. */
	assert_true(send_len(B, 100, 0));
	assert_int_equal(nb_free(a), SLOTS);
}

static void leave__and_another_one_comes(void **state)
{
	struct rte_mbuf *mbuf;

	for (uint32_t i = 0; i < 5; i++)
		assert_true(send_len(B, 100, i));
	roost_shm_peer_leave(a, 0);
	roost_shm_peer_leave(b, 0);
	assert_int_equal(rte_mempool_avail_count(roost_shm_channel_pool(a)),
			 SLOTS);
	assert_int_equal(roost_shm_channel_reap(a), 0);
	assert_int_equal(roost_shm_channel_reap(b), 0);
	pair_join(a, A, b, B);
	assert_null(receive(b));
	assert_true(send_len(B, 100, 9));
	mbuf = receive(b);
	assert_true(pair_is_frame(mbuf, A, B, QPN, 100, 9));
	rte_pktmbuf_free(mbuf);
	assert_null(receive(b));
	assert_int_equal(nb_free(a), SLOTS);
}

/* A peer may look as soon as it knows its seat, before we have joined. */
static void leave__seat_is_clean_before_it_is_told(void **state)
{
	const struct roost_shm_memory *mem = roost_shm_channel_memory(b);

	assert_true(send_len(B, 100, 0));
	rte_pktmbuf_free(receive(b));
	assert_null(receive(b));
	assert_int_equal(atomic_load(roost_shm_count(mem, 0)), 1);
	roost_shm_peer_leave(a, 0);
	roost_shm_peer_leave(b, 0);
	assert_int_equal(roost_shm_channel_reap(a), 0);
	assert_int_equal(roost_shm_channel_reap(b), 0);
	assert_int_equal(roost_shm_seat_take(a), 0);
	assert_int_equal(roost_shm_seat_take(b), 0);
	assert_int_equal(atomic_load(roost_shm_count(mem, 0)), 0);
	mem = roost_shm_channel_memory(a);
	assert_int_equal(atomic_load(roost_shm_ring(mem, 0)), 0);
}

static void join__seats(void **state)
{
	struct roost_shm_peer peer = { .seat = 3 };
	int fds[2];

	assert_int_equal(roost_shm_seat_take(a), 1);
	assert_int_equal(roost_shm_seat_take(a), 2);
	assert_int_equal(roost_shm_seat_take(a), -ENOSPC);
	roost_shm_seat_leave(a, 1);
	assert_int_equal(roost_shm_seat_take(a), 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	peer.doorbell = fds[0];
	assert_int_equal(roost_shm_memory_map(roost_shm_channel_memory(b)->fd,
					      &peer.memory),
			 0);
	assert_int_equal(roost_shm_peer_join(a, 1, &peer), -EPROTO);
	close(fds[1]);
	assert_int_equal(roost_shm_seat_take(a), 1);
}

/* ---- sleep
 * ----------------------------------------------------------------------------
 */

static bool is_readable(struct roost_shm_channel *ch)
{
	struct pollfd p = { .fd = roost_shm_channel_fd(ch), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void sleep__one_ring_wakes(void **state)
{
	for (uint32_t i = 0; i < 100; i++) {
		assert_true(send_len(B, 100, i));
		assert_false(roost_shm_sleep(b));
		rte_pktmbuf_free(receive(b));
		assert_true(roost_shm_sleep(b));
		assert_false(is_readable(b));
		assert_true(send_len(B, 100, i));
		assert_true(send_len(B, 100, i));
		assert_int_equal(roost_shm_counters(a, 0)->rings, i + 1);
		assert_true(is_readable(b));
		roost_shm_awake(b);
		assert_false(is_readable(b));
		rte_pktmbuf_free(receive(b));
		rte_pktmbuf_free(receive(b));
	}
	assert_int_equal(roost_shm_counters(a, 0)->rings, 100);
}

/* Who sleeps has given back what it does not read. */
static void sleep__gives_slots_back(void **state)
{
	struct rte_mbuf *mbuf;

	assert_true(send_len(B, 1000, 0));
	mbuf = receive(b);
	rte_pktmbuf_free(mbuf);
	assert_true(roost_shm_sleep(b));
	assert_int_equal(nb_free(a), SLOTS);
	roost_shm_awake(b);
}

/* A peer that fills the doorbell and never reads its own hangs nobody. */
static void sleep__doorbell_that_is_full(void **state)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	c = pair_open(3);
	pair_join_end(a, C, roost_shm_channel_memory(c)->fd, 0, fds[0], false);
	while (send(fds[0], "full", 4, MSG_DONTWAIT) > 0)
		;
	while (send(fds[1], "full", 4, MSG_DONTWAIT) > 0)
		;
	for (uint32_t i = 0; i < 10; i++) {
		atomic_store(roost_shm_sleeps(roost_shm_channel_memory(c)),
			     2 * i + 1);
		assert_true(send_len(C, 100, i));
	}
	assert_int_equal(roost_shm_counters(a, 1)->rings, 10);
	assert_true(roost_shm_sleep(a));
	roost_shm_awake(a);
	assert_false(is_readable(a));
	close(fds[1]);
	atomic_store(roost_shm_sleeps(roost_shm_channel_memory(c)), 99);
	assert_true(send_len(C, 100, 0));
}

#define channel_test(f)                                                        \
	cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		channel_test(channel__frames_of_all_lengths),
		channel_test(channel__other_frames_are_copied),
		channel_test(channel__slots_are_held_by_mbufs),
		channel_test(channel__headers_are_private),
		channel_test(channel__foreign_frames_are_copied),
		channel_test(channel__frames_for_nobody),
		channel_test(channel__each_peer_its_frames),
		channel_test(patience__a_burst_ends_at_a_full_peer),
		channel_test(patience__then_frames_are_dropped),
		channel_test(patience__a_slow_reader_is_none),
		channel_test(patience__begins_anew_for_who_reads),
		channel_test(patience__others_are_not_held_up),
		channel_test(broken__peer_is_told_once),
		channel_test(broken__count),
		channel_test(leave__and_another_one_comes),
		channel_test(leave__seat_is_clean_before_it_is_told),
		channel_test(join__seats),
		channel_test(sleep__one_ring_wakes),
		channel_test(sleep__gives_slots_back),
		channel_test(sleep__doorbell_that_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
