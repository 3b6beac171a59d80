/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The neighbours of clients. */

#include <errno.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/fake_uplink.h"
#include "tests/unit/apps/roostd/nic_world.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define MAC 0x020000000002ull

static struct client a, b;

static void put(struct client *c, uint64_t index)
{
	post(c, (struct roost_share_msg){ .type = ROOST_SHARE_PUT,
					  .index = index });
}

static void knows(unsigned int i)
{
	answers(i);
	fake_news();
	pump();
}

/* The place of its answer. */
static uint64_t place_of(const struct client *c)
{
	return c->packet.msg.reply.value;
}

static void neighs__who_waits_is_answered_by_the_network(void **state)
{
	c_attach(&a);
	c_attach(&b);
	post(&a, question(2, false));
	assert_int_equal(c_receive(&a), -EAGAIN);
	/* The daemon serves others meanwhile. */
	assert_int_equal(c_ask(&b, question(3, true)), 0);
	answers(2);
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.tag, 99);
	assert_int_equal(a.packet.msg.status, 0);
	assert_true(place_of(&a) > 0);
	/* Who has the answer finds the MAC. */
	assert_int_equal(atomic_load(&a.page->neighs[place_of(&a)]),
			 roost_neigh_mac_gen(peer_mac, 7));
	assert_int_equal(c_ask(&a, question(2, false)), 0);
	c_close(&a);
	c_close(&b);
	assert_int_equal(fake_refs(), 0);
}

static void neighs__who_asks_is_answered_at_once(void **state)
{
	uint64_t place;

	c_attach(&a);
	assert_int_equal(c_ask(&a, question(2, true)), 0);
	place = place_of(&a);
	assert_int_equal(atomic_load(&a.page->neighs[place]), 0);
	knows(2);
	assert_int_equal(atomic_load(&a.page->neighs[place]),
			 roost_neigh_mac_gen(peer_mac, 7));
	/* It moves. */
	atomic_store(&fake.neighs[0].pub.mac_gen,
		     roost_neigh_mac_gen(peer_mac, 8));
	fake_news();
	pump();
	assert_int_equal(atomic_load(&a.page->neighs[place]),
			 roost_neigh_mac_gen(peer_mac, 8));
	c_close(&a);
}

static void neighs__nobody_answers(void **state)
{
	const struct roost_gid far = {
		.b = { [10] = 0xff, 0xff, 203, 0, 113, 1 }
	};
	struct roost_share_msg msg = question(2, false);

	c_attach(&a);
	post(&a, msg);
	fake.neighs[0].is_dead = true;
	pump();
	assert_int_equal(c_receive(&a), -EAGAIN);
	now_ns += 150 * MS;
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.status, -ETIMEDOUT);
	assert_int_equal(fake_refs(), 0);
	/* It was silent a moment ago: nobody waits for it again. */
	assert_int_equal(c_ask(&a, msg), -ETIMEDOUT);
	assert_int_equal(fake_refs(), 0);
	/* The host may never say. */
	post(&a, question(3, false));
	now_ns += 3900 * MS;
	pump();
	assert_int_equal(c_receive(&a), -EAGAIN);
	now_ns += 200 * MS;
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.status, -ETIMEDOUT);
	msg.addr.dgid = far;
	assert_int_equal(c_ask(&a, msg), -EHOSTUNREACH);
	msg.addr.asks = true;
	assert_int_equal(c_ask(&a, msg), -EHOSTUNREACH);
	assert_int_equal(fake_refs(), 0);
	c_close(&a);
}

static void neighs__own_addresses_are_the_port(void **state)
{
	struct roost_share_msg msg = question(1, false);

	c_attach(&a);
	assert_int_equal(c_ask(&a, msg), 0);
	assert_int_equal(place_of(&a), 0);
	assert_int_equal(atomic_load(&a.page->neighs[0]) >> 16, MAC - 1);
	put(&a, 0);
	msg.type = ROOST_SHARE_SOURCE;
	assert_int_equal(c_ask(&a, msg), 0);
	assert_memory_equal(&a.packet.msg.reply.gid, &fake.facts.gids[1], 16);
	msg.addr.dgid = peer(2);
	assert_int_equal(c_ask(&a, msg), 0);
	assert_memory_equal(&a.packet.msg.reply.gid, &fake.facts.gids[1], 16);
	assert_int_equal(fake.nb_asked, 0);
	c_close(&a);
}

static void neighs__what_a_client_says_of_others_is_not_believed(void **state)
{
	struct roost_share_msg msg = question(2, true);

	c_attach(&a);
	memcpy(msg.addr.from_mac, peer_mac, 6);
	assert_int_equal(c_ask(&a, msg), 0);
	assert_int_equal(fake.nb_from_macs, 0);
	/* Nor does it ask for others, or for a group. */
	msg.addr.sgid = peer(9);
	assert_int_equal(c_ask(&a, msg), -EHOSTUNREACH);
	msg = question(2, true);
	msg.addr.dgid = gid_group;
	assert_int_equal(c_ask(&a, msg), -EHOSTUNREACH);
	c_close(&a);
}

static void neighs__references_are_counted_for_each_client(void **state)
{
	uint64_t place;

	answers(2);
	c_attach(&a);
	c_attach(&b);
	assert_int_equal(c_ask(&a, question(2, false)), 0);
	place = place_of(&a);
	assert_int_equal(c_ask(&a, question(2, false)), 0);
	assert_int_equal(c_ask(&b, question(2, true)), 0);
	assert_int_equal(place_of(&b), place);
	assert_int_equal(fake_refs(), 1);
	/* What it does not have, it cannot put. */
	put(&b, place);
	put(&b, place);
	put(&b, place);
	put(&b, 77);
	put(&b, UINT64_MAX);
	assert_int_equal(fake_refs(), 1);
	put(&a, place);
	assert_int_equal(atomic_load(&a.page->neighs[place]),
			 roost_neigh_mac_gen(peer_mac, 7));
	put(&a, place);
	assert_int_equal(fake_refs(), 0);
	assert_int_equal(atomic_load(&a.page->neighs[place]), 0);
	/* What a client has when it dies. */
	assert_int_equal(c_ask(&a, question(2, false)), 0);
	assert_int_equal(c_ask(&a, question(2, false)), 0);
	post(&a, question(3, false));
	assert_int_equal(fake_refs(), 2);
	c_close(&a);
	assert_int_equal(fake_refs(), 0);
	c_close(&b);
}

/* A question that waits keeps its own. */
static void neighs__a_question_keeps_its_reference(void **state)
{
	uint64_t place;

	c_attach(&a);
	assert_int_equal(c_ask(&a, question(2, true)), 0);
	place = place_of(&a);
	post(&a, question(2, false));
	put(&a, place);
	put(&a, place);
	put(&a, place);
	assert_int_equal(fake_refs(), 1);
	assert_int_equal(port.neighs.refs[place], 1);
	answers(2);
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.status, 0);
	assert_int_equal(place_of(&a), place);
	/* It is the client's with the answer. */
	put(&a, place);
	assert_int_equal(fake_refs(), 0);
	c_close(&a);
}

static void neighs__a_client_has_a_share_of_the_entries(void **state)
{
	unsigned int i = 2;
	int ret = 0;

	c_attach(&a);
	while (!ret && i < 2 * ROOSTD_NEIGHS_OF_ONE_MAX) {
		now_ns += MS;
		ret = c_ask(&a, question(i++, true));
	}
	assert_int_equal(ret, -ENOBUFS);
	assert_int_equal(i - 3, ROOSTD_NEIGHS_OF_ONE_MAX);
	assert_int_equal(fake_refs(), ROOSTD_NEIGHS_OF_ONE_MAX);
	/* Others go on. */
	c_attach(&b);
	assert_int_equal(c_ask(&b, question(3000, true)), 0);
	c_close(&b);
	c_close(&a);
	assert_int_equal(fake_refs(), 0);
}

/* Attach as a client of another user would. */
static void attach_as(struct client *c, uid_t uid)
{
	c_attach(c);
	LIST_FIRST(&port.clients)->uid = uid;
}

/* Ask for neighbours from this one on, until there is none. Returns how many.
 */
static unsigned int take_all(struct client *c, unsigned int i, int error)
{
	unsigned int nb = 0;
	int ret;

	do {
		now_ns += MS;
		ret = c_ask(c, question(i++, true));
	} while (!ret && ++nb < ROOSTD_NEIGHS_OF_ONE_MAX);
	assert_int_equal(ret, nb < ROOSTD_NEIGHS_OF_ONE_MAX ? error : 0);
	return nb;
}

/* Many clients of one user leave some for others. */
static void neighs__a_user_has_a_share_of_the_entries(void **state)
{
	struct client many[4];
	unsigned int nb = 0;

	for (unsigned int i = 0; i < 4; i++) {
		attach_as(&many[i], 4000);
		nb += take_all(&many[i], 2 + 2000 * i, -ENOBUFS);
	}
	assert_int_equal(nb, 3072 - 1);
	attach_as(&b, 4001);
	assert_int_equal(take_all(&b, 9000, -ENOBUFS), 768);
	/* Who has its share may use what there is. */
	assert_int_equal(c_ask(&b, question(9999, true)), -ENOBUFS);
	assert_int_equal(c_ask(&b, question(2, true)), 0);
	c_close(&many[0]);
	assert_int_equal(take_all(&b, 9000, -ENOBUFS),
			 ROOSTD_NEIGHS_OF_ONE_MAX - 1);
	for (unsigned int i = 1; i < 4; i++)
		c_close(&many[i]);
	c_close(&b);
	assert_int_equal(fake_refs(), 0);
	assert_true(LIST_EMPTY(&port.neighs.users));
}

static void neighs__a_user_waits_for_some_at_a_time(void **state)
{
	struct client many[9];

	for (unsigned int i = 0; i < 9; i++) {
		attach_as(&many[i], 4000);
		for (unsigned int k = 0; i < 8 && k < 64; k++)
			post(&many[i], question(2 + 64 * i + k, false));
	}
	assert_int_equal(c_ask(&many[8], question(1000, false)), -ENOBUFS);
	attach_as(&b, 4001);
	post(&b, question(1000, false));
	assert_int_equal(c_receive(&b), -EAGAIN);
	c_close(&many[0]);
	post(&many[8], question(1000, false));
	assert_int_equal(c_receive(&many[8]), -EAGAIN);
	answers(1000);
	pump();
	assert_int_equal(c_receive(&b), 0);
	assert_int_equal(b.packet.msg.status, 0);
	for (unsigned int i = 1; i < 9; i++)
		c_close(&many[i]);
	c_close(&b);
}

static void neighs__a_client_waits_for_some_at_a_time(void **state)
{
	int ret;

	c_attach(&a);
	for (unsigned int i = 0; i < ROOSTD_ASKED_OF_ONE_MAX; i++)
		post(&a, question(2 + i, false));
	assert_int_equal(c_receive(&a), -EAGAIN);
	assert_int_equal(c_ask(&a, question(200, false)), -ENOBUFS);
	assert_int_equal(c_ask(&a, question(200, true)), 0);
	for (unsigned int i = 0; i < ROOSTD_ASKED_OF_ONE_MAX; i++)
		answers(2 + i);
	pump();
	for (unsigned int i = 0; i < ROOSTD_ASKED_OF_ONE_MAX; i++) {
		ret = c_receive(&a);
		assert_int_equal(ret, 0);
		assert_int_equal(a.packet.msg.status, 0);
	}
	post(&a, question(201, false));
	assert_int_equal(c_receive(&a), -EAGAIN);
	c_close(&a);
	assert_int_equal(fake_refs(), 0);
}

/* A question of who leaves is nobody's: the answer cuts off no last frames. */
static void neighs__who_leaves_asks_no_more(void **state)
{
	struct roost_sw_frame frame;
	unsigned int got = 0, nb = 0;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	frame = rc(&b, 100);
	/* More than the receiver's ring takes. */
	do {
		c_publish(&a, &frame);
		nb++;
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
	} while (roost_shm_out_pending(&a.out) < 4);
	post(&a, question(2, false));
	post(&a, question(3, false));
	c_close(&a);
	assert_int_equal(port.nb_attached, 2);
	answers(2);
	answers(3);
	for (unsigned int i = 0; i < 2 * nb; i++) {
		now_ns += MS / 10;
		got += c_take(&b, &len) != NULL;
		pump();
	}
	assert_int_equal(got, nb);
	assert_int_equal(port.nb_attached, 1);
	assert_int_equal(fake_refs(), 0);
	c_close(&b);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_nic, teardown)
	const struct CMUnitTest tests[] = {
		TEST(neighs__who_waits_is_answered_by_the_network),
		TEST(neighs__who_asks_is_answered_at_once),
		TEST(neighs__nobody_answers),
		TEST(neighs__own_addresses_are_the_port),
		TEST(neighs__what_a_client_says_of_others_is_not_believed),
		TEST(neighs__references_are_counted_for_each_client),
		TEST(neighs__a_question_keeps_its_reference),
		TEST(neighs__a_client_has_a_share_of_the_entries),
		TEST(neighs__a_user_has_a_share_of_the_entries),
		TEST(neighs__a_user_waits_for_some_at_a_time),
		TEST(neighs__a_client_waits_for_some_at_a_time),
		TEST(neighs__who_leaves_asks_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
