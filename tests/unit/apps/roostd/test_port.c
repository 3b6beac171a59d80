/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Clients of a hub, and their frames. */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"
#include "tests/unit/open_fds.h"

static struct client a, b;

static void port__clients_get_numbers_of_their_own(void **state)
{
	struct roost_share_facts facts;
	uint32_t generation;

	c_attach(&a);
	c_attach(&b);
	assert_true(a.granted.qpn_block != b.granted.qpn_block);
	assert_true(a.granted.comm_prefix != b.granted.comm_prefix);
	assert_memory_equal(a.granted.mac, b.granted.mac, 6);
	assert_int_equal(a.granted.node_guid, b.granted.node_guid);
	assert_int_equal(roost_share_page_read(b.page, &facts, &generation), 0);
	assert_int_equal(facts.is_active, 1);
	assert_memory_equal(facts.mac, b.granted.mac, 6);
	assert_int_equal(facts.gids[0].b[0], 0xfe);
	assert_int_equal(facts.gids[1].b[12], 198);
	assert_int_equal(facts.gid_len_bits[1], 24);
	assert_int_equal(atomic_load(&b.page->neighs[0]),
			 roost_neigh_mac_gen(facts.mac, 1));
	assert_int_equal(port.nb_attached, 2);
	c_close(&a);
	assert_int_equal(port.nb_attached, 1);
	c_close(&b);
	assert_int_equal(port.nb_clients, 0);
}

static void port__frames_arrive_as_they_were(void **state)
{
	const uint32_t lens[] = { 0, 1, 60, 63, 64, 65, 1000, 4096 };
	struct roost_sw_frame frame;
	const uint8_t *got;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	for (unsigned int round = 0; round < 200; round++) {
		frame = rc(&b, lens[round % 8]);
		c_publish(&a, &frame);
		pump();
		got = c_take(&b, &len);
		assert_non_null(got);
		assert_int_equal(len, frame.len_bytes);
		assert_memory_equal(got, frame.head, len);
		assert_null(c_take(&b, &len));
		assert_null(c_take(&a, &len));
		assert_int_equal(roost_shm_out_collect(&a.out), 1);
		roost_shm_out_free(&a.out, 1);
	}
	c_close(&a);
	c_close(&b);
}

static void port__forged_frames_reach_nobody(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	/* Another source address. */
	frame = rc(&b, 100);
	bytes_of(&frame)[29] ^= 1;
	mend(&frame);
	c_publish(&a, &frame);
	pump();
	assert_null(c_take(&b, &len));
	/* Another source MAC. */
	frame = rc(&b, 100);
	bytes_of(&frame)[11] ^= 1;
	c_publish(&a, &frame);
	pump();
	assert_null(c_take(&b, &len));
	assert_int_equal(roost_switch_counters(port.sw, a.granted.client)
				 .drops[ROOST_SW_SRC_ADDR],
			 1);
	assert_int_equal(roost_switch_counters(port.sw, a.granted.client)
				 .drops[ROOST_SW_SRC_MAC],
			 1);
	c_close(&a);
	c_close(&b);
}

/* A full receiver that reads makes the sender wait, and none is lost. */
static void port__full_receiver_that_reads(void **state)
{
	struct roost_sw_frame frame;
	unsigned int sent = 0, got = 0;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	while (got < 2000) {
		while (sent < 2000 &&
		       roost_shm_out_pending(&a.out) < client_shape.ring_len) {
			frame = rc(&b, 64);
			bytes_of(&frame)[60] = (uint8_t)sent++;
			c_publish(&a, &frame);
		}
		now_ns += 10000;
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		/* Slower than the sender. */
		for (unsigned int i = 0; i < 10; i++) {
			const uint8_t *bytes = c_take(&b, &len);

			if (!bytes)
				break;
			assert_int_equal(bytes[60], (uint8_t)got);
			got++;
		}
	}
	assert_int_equal(roost_switch_counters(port.sw, b.granted.client)
				 .drops[ROOST_SW_CLIENT_FULL],
			 0);
	c_close(&a);
	c_close(&b);
}

/* The lanes' rounds do not begin at one time: one that began before the ring
 * was found full waits, as the others do.
 */
static void port__full_receiver_of_two_lanes(void **state)
{
	struct roostd_client *c;
	struct roost_sw_frame frame;

	(void)state;
	c_attach(&b);
	c = port.by_slot[b.granted.client];
	frame = rc(&b, 64);
	while (roostd_client_deliver(c, &frame))
		;
	assert_false(roostd_client_is_ready(c, now_ns));
	assert_false(roostd_client_is_ready(c, now_ns - 1));
	assert_false(roostd_client_is_ready(c, now_ns + 50 * MS - 1));
	assert_true(roostd_client_is_ready(c, now_ns + 50 * MS));
	c_close(&b);
}

/* A lane that looks for frames before it sleeps may find one for a client that
 * is gone in the next moment.
 */
static void port__end_of_one_with_a_frame_of_another_lane(void **state)
{
	struct roostd_lane *lane = &port.lanes[1];
	struct roost_sw_frame frame;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	*lane = (struct roostd_lane){ .port = &port, .number = 1 };
	TAILQ_INIT(&lane->awake);
	assert_int_equal(roost_switch_add_lane(port.sw, lane, &lane->sw), 0);
	port.nb_lanes = 2;
	frame = rc(&b, 64);
	assert_true(roost_switch_from_client(lane->sw,
					     (uint16_t)a.granted.client, &frame,
					     now_ns));
	assert_int_equal(lane->nb_to_ring, 1);
	c_close(&b);
	pump();
	assert_null(port.by_slot[b.granted.client]);
	/* Its next round rings nobody who is not there. */
	assert_int_equal(lane->nb_to_ring, 0);
	c_close(&a);
}

/* One that does not read loses its frames, and holds up nobody for long. */
static void port__receiver_that_does_not_read(void **state)
{
	struct roost_sw_frame frame;
	struct client other;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	c_attach(&other);
	for (unsigned int i = 0; i < 300; i++) {
		frame = rc(&b, 64);
		c_publish(&a, &frame);
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		if (roost_shm_out_pending(&a.out) == 10)
			break;
	}
	assert_int_equal(roost_shm_out_pending(&a.out), 10);
	frame = rc(&other, 64);
	c_publish(&a, &frame);
	pump();
	assert_null(c_take(&other, &len));
	now_ns += 60 * MS;
	pump();
	assert_non_null(c_take(&other, &len));
	assert_true(roost_switch_counters(port.sw, b.granted.client)
			    .drops[ROOST_SW_CLIENT_FULL] > 0);
	c_close(&a);
	c_close(&b);
	c_close(&other);
}

/* Frames that it is sent wait in the sender's ring in front of those for
 * others. Returns how many the other one gets in so many ms, when the receiver
 * consumes some each time.
 */
static unsigned int count_beside(unsigned int each_us, unsigned int frames,
				 unsigned int ms)
{
	struct roost_sw_frame frame;
	unsigned int got = 0, sent = 0;
	struct client other;
	uint64_t until_ns, next_ns;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	c_attach(&other);
	next_ns = now_ns;
	for (until_ns = now_ns + ms * MS; now_ns < until_ns; now_ns += 10000) {
		if (roost_shm_out_pending(&a.out) < client_shape.ring_len) {
			frame = rc(sent++ % 2 ? &b : &other, 64);
			c_publish(&a, &frame);
		}
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		while (c_take(&other, &len))
			got++;
		for (unsigned int i = 0; now_ns >= next_ns && i < frames; i++)
			c_take(&b, &len);
		next_ns += now_ns >= next_ns ? each_us * 1000ull : 0;
	}
	c_close(&a);
	c_close(&b);
	c_close(&other);
	return got;
}

/* Whoever is sent frames would else say how fast the sender is for others. */
static void port__receiver_that_reads_slowly(void **state)
{
	(void)state;
	/* 50 frames a millisecond; for both, and without the slow one. */
	assert_true(count_beside(10, 1, 1000) > 49000);
	assert_true(count_beside(49000, 33, 1000) > 45000);
	assert_true(count_beside(900, 1, 1000) > 42000);
}

/* a sends until it has published this many, or no more moves. */
static unsigned int flood(unsigned int most)
{
	struct roost_sw_frame frame;
	unsigned int n = 0;

	for (; n < most; n++) {
		if (roost_shm_out_pending(&a.out) == client_shape.ring_len)
			pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		if (roost_shm_out_pending(&a.out) == client_shape.ring_len)
			break;
		frame = rc(&b, 64);
		c_publish(&a, &frame);
	}
	pump();
	return n;
}

/* It has read all at once, and the daemon was away, or who waited has gone. */
static void port__receiver_that_nobody_looked_at(void **state)
{
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	flood(1000);
	while (c_take(&b, &len))
		;
	now_ns += 1000 * MS;
	for (unsigned int i = 0; i < 100; i++) {
		pump();
		while (c_take(&b, &len))
			;
	}
	/* A pause of its own is waited for. */
	flood(1000);
	for (unsigned int i = 0; i < 20; i++) {
		now_ns += MS;
		pump();
	}
	assert_int_equal(roost_switch_counters(port.sw, b.granted.client)
				 .drops[ROOST_SW_CLIENT_FULL],
			 0);
	c_close(&a);
	c_close(&b);
}

static void port__still_clients_sleep_and_ring(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	pump();
	now_ns += MS;
	pump();
	assert_true(TAILQ_EMPTY(&port.lanes[0].awake));
	frame = rc(&b, 64);
	c_publish(&a, &frame);
	assert_int_equal(roostd_port_poll(&port, now_ns), 0);
	pump();
	assert_non_null(c_take(&b, &len));
	c_close(&a);
	c_close(&b);
}

static void port__broken_words_cut_off_their_writer_alone(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	roost_shm_out_publish(&a.out, 4000, 100); /* no such slot */
	assert_true(c_is_cut_off(&a));
	frame = rc(&b, 64);
	c_publish(&b, &frame);
	pump();
	assert_non_null(c_take(&b, &len));
	/* A count of frames that were never sent. */
	atomic_store(roost_shm_count(&b.ours, SEAT), 1000);
	for (unsigned int i = 0; i < 300 && !port.gone.lh_first; i++) {
		frame = rc(&b, 64);
		c_publish(&b, &frame);
		roostd_port_poll(&port, now_ns += MS);
		roost_shm_out_free(&b.out, roost_shm_out_collect(&b.out));
	}
	assert_true(c_is_cut_off(&b));
	c_close(&a);
	c_close(&b);
}

/* A program may end right after it has answered, and its peer may take its
 * time.
 */
static void port__last_frames_of_who_goes(void **state)
{
	struct roost_sw_frame frame;
	unsigned int got = 0;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	/* More than the ring of the receiver takes. */
	for (unsigned int i = 0; i < 300; i++) {
		frame = rc(&b, 100);
		c_publish(&a, &frame);
		if (roost_shm_out_pending(&a.out) == client_shape.ring_len) {
			pump();
			roost_shm_out_free(&a.out,
					   roost_shm_out_collect(&a.out));
		}
	}
	now_ns += MS / 10;
	pump();
	now_ns += MS / 10;
	/* The end of the session is seen before the doorbell. */
	close(a.doorbell);
	a.doorbell = -1;
	c_close(&a);
	for (unsigned int i = 0; i < 1000; i++) {
		got += c_take(&b, &len) != NULL;
		now_ns += MS / 10;
		pump();
	}
	assert_int_equal(got, 300);
	assert_int_equal(port.nb_attached, 1);
	c_close(&b);
}

/* Frames that nobody takes keep no dead client. */
static void port__who_goes_is_gone_in_time(void **state)
{
	struct roost_sw_frame frame;

	c_attach(&a);
	c_attach(&b);
	for (unsigned int i = 0; i < 260; i++) {
		frame = rc(&b, 100);
		c_publish(&a, &frame);
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
	}
	assert_true(roost_shm_out_pending(&a.out) > 0);
	c_close(&a);
	assert_int_equal(port.nb_attached, 2);
	for (unsigned int i = 0; i < 60; i++) {
		now_ns += MS;
		pump();
	}
	assert_int_equal(port.nb_attached, 1);
	c_close(&b);
}

static void port__nothing_stays_of_a_client(void **state)
{
	unsigned int before = open_fds();

	for (unsigned int i = 0; i < 50; i++) {
		c_attach(&a);
		c_close(&a);
	}
	assert_int_equal(open_fds(), before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(port__clients_get_numbers_of_their_own),
		TEST(port__frames_arrive_as_they_were),
		TEST(port__forged_frames_reach_nobody),
		TEST(port__full_receiver_that_reads),
		TEST(port__full_receiver_of_two_lanes),
		TEST(port__end_of_one_with_a_frame_of_another_lane),
		TEST(port__receiver_that_does_not_read),
		TEST(port__receiver_that_reads_slowly),
		TEST(port__receiver_that_nobody_looked_at),
		TEST(port__still_clients_sleep_and_ring),
		TEST(port__broken_words_cut_off_their_writer_alone),
		TEST(port__last_frames_of_who_goes),
		TEST(port__who_goes_is_gone_in_time),
		TEST(port__nothing_stays_of_a_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
