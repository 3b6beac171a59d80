/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Clients that talk much are introduced, and parted. */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define FREE_SEAT 1u

static struct client a, b;

static uint32_t mark_of(const struct client *c)
{
	return roost_lease_mark(port.lease, (uint16_t)c->granted.client);
}

/* So many frames, as fast as they go. */
static void talk(struct client *from, struct client *to, unsigned int nb)
{
	struct roost_sw_frame frame;
	uint32_t len;

	for (unsigned int i = 0; i < nb; i++) {
		frame = rc(to, 64);
		c_publish(from, &frame);
		pump();
		assert_non_null(c_take(to, &len));
		assert_null(c_take(to, &len));
		roost_shm_out_free(&from->out,
				   roost_shm_out_collect(&from->out));
	}
}

static void say(struct client *c, enum roost_share_type type,
		const struct client *other, uint32_t seat, uint32_t how)
{
	struct roost_share_msg msg = {
		.type = (uint16_t)type,
		.peer = { .mark = mark_of(other), .seat = seat, .how = how },
	};

	assert_int_equal(roost_share_send(c->socket, &msg, NULL, 0, NULL), 0);
	pump();
}

/* The next message about a peer is this one. */
static void hears(struct client *c, enum roost_share_type type,
		  const struct client *other)
{
	roost_share_packet_close(&c->packet);
	assert_int_equal(c_receive(c), 0);
	assert_int_equal(c->packet.msg.type, type);
	assert_int_equal(c->packet.msg.peer.mark, mark_of(other));
}

static void hears_part(struct client *c, const struct client *other,
		       enum roost_share_part how)
{
	hears(c, ROOST_SHARE_PART, other);
	assert_int_equal(c->packet.msg.peer.how, how);
}

static void hears_nothing(struct client *c)
{
	roost_share_packet_close(&c->packet);
	assert_int_not_equal(c_receive(c), 0);
}

static void meet(void)
{
	talk(&a, &b, ROOSTD_BUSY_FRAMES);
	hears(&a, ROOST_SHARE_MEET, &b);
	hears(&b, ROOST_SHARE_MEET, &a);
}

static void join(void)
{
	meet();
	say(&a, ROOST_SHARE_SEAT, &b, FREE_SEAT, 0);
	hears_nothing(&a);
	say(&b, ROOST_SHARE_SEAT, &a, FREE_SEAT - 1, 0);
	hears(&a, ROOST_SHARE_PEER, &b);
	assert_int_equal(a.packet.msg.peer.seat, FREE_SEAT);
	assert_int_equal(a.packet.msg.peer.peer_seat, FREE_SEAT - 1);
	hears(&b, ROOST_SHARE_PEER, &a);
	assert_int_equal(b.packet.msg.peer.seat, FREE_SEAT - 1);
	assert_int_equal(b.packet.msg.peer.peer_seat, FREE_SEAT);
}

/* Who does not read its session is sent descriptors once: those on the way
 * count for the daemon's user.
 */
static void join__who_does_not_read(void **state)
{
	unsigned int nb = 0;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		talk(&a, &b, ROOSTD_BUSY_FRAMES);
		say(&a, ROOST_SHARE_SEAT, &b, FREE_SEAT, 0);
		say(&b, ROOST_SHARE_SEAT, &a, FREE_SEAT - 1, 0);
		while (c_receive(&b) == 0)
			roost_share_packet_close(&b.packet);
		say(&a, ROOST_SHARE_PARTED, &b, 0, ROOST_SHARE_PART_LEAVE);
		say(&b, ROOST_SHARE_PARTED, &a, 0, ROOST_SHARE_PART_LEAVE);
		while (c_receive(&b) == 0)
			roost_share_packet_close(&b.packet);
	}
	while (c_receive(&a) == 0) {
		nb += a.packet.msg.type == ROOST_SHARE_PEER;
		roost_share_packet_close(&a.packet);
	}
	assert_int_equal(nb, 1);
	/* It reads again. */
	join();
}

static int setup_two(void **state)
{
	int ret = setup(state);

	c_attach(&a);
	c_attach(&b);
	return ret;
}

static int teardown_two(void **state)
{
	roost_share_packet_close(&a.packet);
	roost_share_packet_close(&b.packet);
	c_close(&a);
	c_close(&b);
	now_ns += 100 * MS; /* for who had no time to take its last frames */
	pump();
	pump();
	return port.nb_clients != 0 || !LIST_EMPTY(&port.pairs.all) ||
	       teardown(state);
}

/* What they get: the other one's memory, and two ends of a doorbell. */
static void introduce__busy_pair(void **state)
{
	struct roost_shm_memory memory;
	char token;

	join();
	assert_int_equal(a.packet.nb_fds, 2);
	assert_int_equal(roost_shm_memory_map(a.packet.fds[0], &memory), 0);
	atomic_store(roost_shm_sleeps(&b.ours), 77);
	assert_int_equal(atomic_load(roost_shm_sleeps(&memory)), 77);
	atomic_store(roost_shm_sleeps(&b.ours), 0);
	roost_shm_memory_close(&memory);
	assert_int_equal(send(a.packet.fds[1], "x", 1, MSG_DONTWAIT), 1);
	assert_int_equal(recv(b.packet.fds[1], &token, 1, MSG_DONTWAIT), 1);
	/* Once is enough. */
	talk(&a, &b, 3 * ROOSTD_BUSY_FRAMES);
	hears_nothing(&a);
	hears_nothing(&b);
}

static void introduce__not_who_talks_seldom(void **state)
{
	for (unsigned int i = 0; i < 2 * ROOSTD_BUSY_FRAMES; i++) {
		talk(&a, &b, 1);
		now_ns += ROOSTD_BUSY_NS / 50;
	}
	hears_nothing(&a);
	hears_nothing(&b);
}

/* A memory is read by all peers of its owner. */
static void introduce__not_of_two_users(void **state)
{
	port.by_slot[b.granted.client]->uid++;
	talk(&a, &b, 2 * ROOSTD_BUSY_FRAMES);
	port.by_slot[b.granted.client]->uid--;
	port.by_slot[b.granted.client]->direct = false;
	talk(&b, &a, 2 * ROOSTD_BUSY_FRAMES);
	hears_nothing(&a);
	hears_nothing(&b);
}

static void introduce__a_refusal_is_remembered(void **state)
{
	meet();
	say(&a, ROOST_SHARE_SEAT, &b, FREE_SEAT, 0);
	say(&b, ROOST_SHARE_SEAT, &a, ROOST_SHARE_NO_SEAT, 0);
	hears_part(&a, &b, ROOST_SHARE_PART_LEAVE);
	say(&a, ROOST_SHARE_PARTED, &b, 0, ROOST_SHARE_PART_LEAVE);
	talk(&a, &b, 4 * ROOSTD_BUSY_FRAMES);
	hears_nothing(&a);
	hears_nothing(&b);
	now_ns += ROOSTD_REFUSED_NS;
	pump();
	meet();
}

static void introduce__who_does_not_answer_is_left_alone(void **state)
{
	meet();
	say(&a, ROOST_SHARE_SEAT, &b, FREE_SEAT, 0);
	now_ns += ROOSTD_ANSWER_NS;
	pump();
	hears_part(&a, &b, ROOST_SHARE_PART_LEAVE);
	hears_part(&b, &a, ROOST_SHARE_PART_LEAVE);
	talk(&a, &b, ROOSTD_BUSY_FRAMES);
	hears_nothing(&a);
}

static void part__idle_pair(void **state)
{
	join();
	for (unsigned int i = 0; i < 20; i++) {
		/* They talk, as their words show. */
		atomic_fetch_add(roost_shm_count(&a.ours, FREE_SEAT), 1);
		now_ns += ROOSTD_IDLE_NS / 2;
		pump();
		hears_nothing(&a);
	}
	now_ns += ROOSTD_IDLE_NS / 2;
	pump();
	now_ns += ROOSTD_IDLE_NS / 2;
	pump();
	hears_part(&a, &b, ROOST_SHARE_PART_STOP);
	hears_part(&b, &a, ROOST_SHARE_PART_STOP);
	say(&a, ROOST_SHARE_PARTED, &b, 0, ROOST_SHARE_PART_STOP);
	/* Nobody leaves before both have stopped. */
	hears_nothing(&a);
	hears_nothing(&b);
	say(&b, ROOST_SHARE_PARTED, &a, 0, ROOST_SHARE_PART_STOP);
	hears_part(&a, &b, ROOST_SHARE_PART_LEAVE);
	hears_part(&b, &a, ROOST_SHARE_PART_LEAVE);
	say(&a, ROOST_SHARE_PARTED, &b, 0, ROOST_SHARE_PART_LEAVE);
	say(&b, ROOST_SHARE_PARTED, &a, 0, ROOST_SHARE_PART_LEAVE);
	assert_true(LIST_EMPTY(&port.pairs.all));
	/* They may meet again at once. */
	join();
}

/* The policies were read again. */
static void part__who_may_not_any_more(void **state)
{
	join();
	port.by_slot[b.granted.client]->direct = false;
	now_ns += MS * 600;
	pump();
	hears_part(&a, &b, ROOST_SHARE_PART_STOP);
	hears_part(&b, &a, ROOST_SHARE_PART_STOP);
	/* Neither answers: it ends all the same. */
	now_ns += ROOSTD_ANSWER_NS;
	pump();
	hears_part(&a, &b, ROOST_SHARE_PART_LEAVE);
	now_ns += ROOSTD_ANSWER_NS;
	pump();
	assert_true(LIST_EMPTY(&port.pairs.all));
}

static void part__who_broke_the_rules(void **state)
{
	join();
	say(&a, ROOST_SHARE_PARTED, &b, 0, ROOST_SHARE_PART_BROKEN);
	hears_part(&b, &a, ROOST_SHARE_PART_LEAVE);
	hears_nothing(&a);
	say(&b, ROOST_SHARE_PARTED, &a, 0, ROOST_SHARE_PART_LEAVE);
	now_ns += ROOSTD_REFUSED_NS;
	pump();
	talk(&a, &b, 2 * ROOSTD_BUSY_FRAMES);
	hears_nothing(&a);
	now_ns += ROOSTD_BROKEN_NS;
	pump();
	meet();
}

/* Its numbers stay its own until its peer has taken its last frames. */
static void part__who_goes(void **state)
{
	const uint32_t mark = mark_of(&a), block = a.granted.qpn_block;

	join();
	shutdown(a.socket, SHUT_RDWR);
	pump();
	hears_part(&b, &a, ROOST_SHARE_PART_LEAVE);
	assert_int_equal(atomic_load(&b.page->lessees[block]), mark);
	say(&b, ROOST_SHARE_PARTED, &a, 0, ROOST_SHARE_PART_LEAVE);
	pump();
	assert_int_equal(atomic_load(&b.page->lessees[block]), 0);
	assert_int_equal(port.nb_attached, 1);
	hears_nothing(&b);
}

static void part__nobody_waits_for_long_for_who_goes(void **state)
{
	join();
	shutdown(a.socket, SHUT_RDWR);
	pump();
	hears_part(&b, &a, ROOST_SHARE_PART_LEAVE);
	assert_int_equal(port.nb_attached, 2);
	now_ns += ROOSTD_LAST_NS;
	pump();
	pump();
	assert_int_equal(port.nb_attached, 1);
}

/* Who is cut off is gone at once. */
static void part__who_is_cut_off(void **state)
{
	join();
	roost_shm_out_publish(&a.out, 4000, 100); /* no such slot */
	pump();
	hears_part(&b, &a, ROOST_SHARE_PART_LEAVE);
	assert_int_equal(port.nb_attached, 1);
}

/* When all places are taken, the one that was idle for longest goes. */
static void part__for_a_busier_one(void **state)
{
	static struct client others[ROOSTD_PEERS_MAX];

	for (unsigned int i = 0; i < ROOSTD_PEERS_MAX; i++) {
		c_attach(&others[i]);
		talk(&a, &others[i], ROOSTD_BUSY_FRAMES);
		say(&a, ROOST_SHARE_SEAT, &others[i], FREE_SEAT, 0);
		say(&others[i], ROOST_SHARE_SEAT, &a, FREE_SEAT, 0);
		hears(&a, ROOST_SHARE_MEET, &others[i]);
		hears(&a, ROOST_SHARE_PEER, &others[i]);
		roost_share_packet_close(&a.packet);
		now_ns += MS;
	}
	talk(&a, &b, ROOSTD_BUSY_FRAMES);
	hears_nothing(&a);
	now_ns += ROOSTD_IDLE_SHORT_NS;
	talk(&a, &b, ROOSTD_BUSY_FRAMES);
	hears_part(&a, &others[0], ROOST_SHARE_PART_STOP);
	hears_nothing(&b);
	for (unsigned int i = 0; i < ROOSTD_PEERS_MAX; i++) {
		while (c_receive(&others[i]) == 0)
			roost_share_packet_close(&others[i].packet);
		c_close(&others[i]);
		hears_part(&a, &others[i], ROOST_SHARE_PART_LEAVE);
		say(&a, ROOST_SHARE_PARTED, &others[i], 0,
		    ROOST_SHARE_PART_LEAVE);
	}
	meet();
}

/* Words about pairs that are none, and out of order. */
static void hostile__hurts_nobody(void **state)
{
	struct client c;

	c_attach(&c);
	join();
	for (uint32_t i = 0; i < 200; i++) {
		const struct client *other = i % 3 == 0   ? &a
					     : i % 3 == 1 ? &b
							  : &c;

		say(&c, i % 2 ? ROOST_SHARE_SEAT : ROOST_SHARE_PARTED, other,
		    i % 7, i % 5);
	}
	say(&a, ROOST_SHARE_SEAT, &b, 0, 0);
	say(&a, ROOST_SHARE_SEAT, &b, 5000, 0);
	hears_nothing(&a);
	hears_nothing(&b);
	hears_nothing(&c);
	c_close(&c);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_two, teardown_two)
	const struct CMUnitTest tests[] = {
		TEST(introduce__busy_pair),
		TEST(introduce__not_who_talks_seldom),
		TEST(introduce__not_of_two_users),
		TEST(introduce__a_refusal_is_remembered),
		TEST(introduce__who_does_not_answer_is_left_alone),
		TEST(join__who_does_not_read),
		TEST(part__idle_pair),
		TEST(part__who_may_not_any_more),
		TEST(part__who_broke_the_rules),
		TEST(part__who_goes),
		TEST(part__nobody_waits_for_long_for_who_goes),
		TEST(part__who_is_cut_off),
		TEST(part__for_a_busier_one),
		TEST(hostile__hurts_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
