/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Clients of the daemon before, at the socket of the next one. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define GRACE_OF_PORT_NS (2000 * MS)

static struct client a, b, again;
static char path[ROOSTD_STATE_PATH_MAX];

static int setup_kept(void **state)
{
	snprintf(path, sizeof(path), "/tmp/roost-restart-%d.state",
		 (int)getpid());
	unlink(path);
	state_path = path;
	return setup(state);
}

static int teardown_kept(void **state)
{
	int ret = teardown(state);

	unlink(path);
	return ret;
}

static const struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
static struct roost_share_msg listen_at = {
	.type = ROOST_SHARE_CLAIM,
	.claim = { .service_id = 0x01060000 + 7471,
		   .family = ROOST_CM_FAMILY_IPV4,
		   .listens = 1 },
};

static void restart__a_client_has_its_own_again(void **state)
{
	uint8_t mac[6];
	uint64_t more;
	uint32_t block;

	c_attach(&a);
	c_attach(&b);
	memcpy(mac, a.granted.mac, 6);
	block = a.granted.qpn_block;
	assert_int_equal(c_ask(&a, qpns), 0);
	more = a.packet.msg.reply.value;
	assert_int_equal(c_ask(&a, listen_at), 0);
	restart();
	c_close(&a);
	assert_int_equal(c_present(&again, &a), 0);
	assert_memory_equal(again.granted.mac, mac, 6);
	assert_int_equal(again.granted.client, a.granted.client);
	assert_memory_equal(again.granted.qpn_seed, a.granted.qpn_seed, 16);
	assert_int_equal(port.lease->blocks.owner[block], again.granted.client);
	assert_int_equal(port.lease->blocks.owner[more], again.granted.client);
	/* Nothing new as long as b may come back. */
	assert_int_equal(c_ask(&again, qpns), -EAGAIN);
	c_close(&b);
	assert_int_equal(c_present(&a, NULL), -EAGAIN);
	c_close(&a);
	assert_int_equal(c_present(&a, &b), 0);
	assert_int_equal(c_ask(&again, qpns), 0);
	/* The port number is still the first client's. */
	assert_true(c_ask(&a, listen_at) < 0);
	c_close(&a);
	c_close(&again);
}

static bool is_recovering(const struct client *c)
{
	struct roost_share_facts facts;
	uint32_t generation;

	assert_int_equal(roost_share_page_read(c->page, &facts, &generation),
			 0);
	return facts.is_recovering;
}

/* Who is back hears when the others are, or will not come. */
static void restart__tells_when_all_are_back(void **state)
{
	for (int i = 0; i < 2; i++) {
		c_attach(&a);
		c_attach(&b);
		assert_false(is_recovering(&a));
		restart();
		c_close(&a);
		c_close(&b);
		assert_int_equal(c_present(&again, &a), 0);
		assert_true(is_recovering(&again));
		if (i == 0)
			assert_int_equal(c_present(&a, &b), 0);
		else
			now_ns += GRACE_OF_PORT_NS;
		pump();
		assert_false(is_recovering(&again));
		assert_int_equal(c_receive(&again), 0);
		assert_int_equal(again.packet.msg.type, ROOST_SHARE_CHANGED);
		c_close(&again);
		if (i == 0)
			c_close(&a);
	}
}

/* Frames go to who came back. */
static void restart__frames_find_it(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len_bytes;

	c_attach(&a);
	c_attach(&b);
	frame = rc(&b, 100);
	restart();
	c_close(&a);
	c_close(&b);
	assert_int_equal(c_present(&again, &a), 0);
	assert_int_equal(c_present(&a, &b), 0);
	c_publish(&again, &frame);
	pump();
	assert_non_null(c_take(&a, &len_bytes));
	assert_int_equal(len_bytes, frame.len_bytes);
	c_close(&a);
	c_close(&again);
}

/* To who is late, for a while. */
static void restart__frames_wait_for_it(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len_bytes;

	for (int i = 0; i < 2; i++) {
		c_attach(&a);
		c_attach(&b);
		frame = rc(&b, 100);
		restart();
		c_close(&a);
		c_close(&b);
		assert_int_equal(c_present(&again, &a), 0);
		c_publish(&again, &frame);
		assert_int_equal(pump(), 0);
		now_ns += i == 0 ? 99 * MS : 100 * MS;
		assert_int_equal(pump(), i);
		assert_int_equal(c_present(&a, &b), 0);
		pump();
		assert_int_equal(c_take(&a, &len_bytes) != NULL, i == 0);
		c_close(&a);
		c_close(&again);
		pump();
	}
}

static void restart__what_is_no_ticket(void **state)
{
	struct client old;

	c_attach(&a);
	old = a;
	assert_int_equal(c_ask(&a, qpns), 0);
	restart();
	c_close(&a);
	/* Each byte is protected. */
	for (size_t i = 0; i < a.ticket_bytes; i++) {
		a.ticket[i] ^= 1;
		assert_int_equal(c_present(&again, &a), -EBADMSG);
		assert_true(c_is_cut_off(&again));
		c_close(&again);
		a.ticket[i] ^= 1;
	}
	a.ticket_bytes--;
	assert_int_equal(c_present(&again, &a), -EBADMSG);
	c_close(&again);
	a.ticket_bytes++;
	/* Not the last one. */
	assert_int_equal(c_present(&again, &old), -ESTALE);
	c_close(&again);
	assert_int_equal(c_present(&again, &a), 0);
	/* Twice. */
	assert_int_equal(c_present(&b, &a), -EALREADY);
	c_close(&b);
	assert_int_equal(c_present(&b, &again), -EALREADY);
	c_close(&b);
	c_close(&again);
	/* Of a client that is gone. */
	assert_int_equal(c_present(&b, &again), -ESTALE);
	c_close(&b);
}

static void restart__who_is_late_is_refused(void **state)
{
	c_attach(&a);
	restart();
	c_close(&a);
	assert_int_equal(c_present(&b, NULL), -EAGAIN);
	c_close(&b);
	now_ns += GRACE_OF_PORT_NS;
	assert_int_equal(c_present(&again, &a), -ETIMEDOUT);
	c_close(&again);
	c_attach(&b);
	assert_true(b.granted.qpn_block != a.granted.qpn_block);
	assert_int_equal(c_present(&again, &a), -ESTALE);
	c_close(&again);
	c_close(&b);
}

/* A policy gives the two addresses of the hub to clients. */
static void give_addresses(struct roostd_service *service)
{
	roostd_service_init(service);
	service->nb_policies = 1;
	service->policies[0].addrs.nb = 2;
	for (unsigned int i = 0; i < 2; i++) {
		service->policies[0].addrs.v[i].gid = port.facts.gids[i];
		roost_lease_addr_del(port.lease, &port.facts.gids[i]);
	}
	port.service = service;
}

/* Whoever comes first: the ticket knows, and the client does not say. */
static void restart__an_own_address_is_in_the_ticket(void **state)
{
	static struct roostd_service service;
	struct roost_gid own[2];

	give_addresses(&service);
	c_attach(&a);
	c_attach(&b);
	own[0] = a.granted.own_gid;
	own[1] = b.granted.own_gid;
	assert_false(roost_gid_eq(&own[0], &own[1]));
	restart();
	give_addresses(&service);
	c_close(&a);
	c_close(&b);
	assert_int_equal(c_present(&again, &b), 0);
	assert_true(roost_gid_eq(&again.granted.own_gid, &own[1]));
	assert_int_equal(c_present(&b, &a), 0);
	assert_true(roost_gid_eq(&b.granted.own_gid, &own[0]));
	c_close(&b);
	c_close(&again);
}

/* It has no descriptors left for what it is granted, and tries again. */
static void restart__who_cannot_take_what_it_gets(void **state)
{
	struct client before;
	uint32_t client;

	c_attach(&a);
	c_attach(&b);
	client = a.granted.client;
	assert_int_equal(c_ask(&a, listen_at), 0);
	restart();
	c_close(&a);
	for (int i = 0; i < 3; i++) {
		before = a;
		assert_int_equal(c_try_ticket(&a, &a), 0);
		assert_int_equal(a.granted.client, client);
		c_close(&a);
		/* The daemon waits for it, and for no other one. */
		assert_int_equal(c_try_ticket(&again, &before), -ESTALE);
		c_close(&again);
	}
	assert_int_equal(c_present(&again, &a), 0);
	assert_int_equal(again.granted.client, client);
	assert_int_equal(port.lease->clients[client].nb_claims, 1);
	c_close(&b);
	assert_int_equal(c_present(&b, &b), 0);
	assert_int_equal(c_ask(&again, qpns), 0);
	/* From now on its end is the end. */
	c_close(&again);
	assert_int_equal(c_present(&a, &again), -ESTALE);
	c_close(&a);
	c_close(&b);
}

/* It has as long as all have. */
static void restart__who_cannot_take_it_in_time(void **state)
{
	c_attach(&a);
	restart();
	c_close(&a);
	assert_int_equal(c_try_ticket(&again, &a), 0);
	now_ns += GRACE_OF_PORT_NS;
	c_close(&again);
	assert_int_equal(c_try_ticket(&a, &again), -ESTALE);
	c_close(&a);
	c_attach(&b);
	c_close(&b);
}

/* Killed again and again, also between a ticket and its commit: then the client
 * may have the new one or not.
 */
static void restart__again_and_again(void **state)
{
	c_attach(&a);
	for (int i = 0; i < 100; i++) {
		struct client before = a;

		restart();
		c_close(&before);
		if (i % 3 > 0) {
			assert_int_equal(c_present(&b, &a), 0);
			port.state.state->lease.slots[b.granted.client]
				.serial--;
			restart();
			if (i % 3 == 1)
				a = b;
			c_close(&b);
		}
		assert_int_equal(c_present(&again, &a), 0);
		assert_int_equal(again.granted.client, a.granted.client);
		a = again;
	}
	c_close(&a);
	c_attach(&b);
	c_close(&b);
}

/* A hub without a file: nobody comes back. */
static void restart__nothing_kept(void **state)
{
	state_path = NULL;
	restart();
	c_attach(&a);
	assert_int_equal(a.ticket_bytes, 0);
	restart();
	c_close(&a);
	/* It waits for nobody. */
	c_attach(&b);
	c_close(&b);
}

/* An end without clients leaves no file. */
static void restart__a_lonely_end_forgets(void **state)
{
	uint64_t key = port.state.state->lease.mac_key[0];

	c_attach(&a);
	restart();
	c_close(&a);
	assert_true(port.state.state->lease.mac_key[0] == key);
	assert_int_equal(c_present(&again, &a), 0);
	c_close(&again);
	pump();
	restart();
	assert_true(port.state.state->lease.mac_key[0] != key);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_kept, teardown_kept)
	const struct CMUnitTest tests[] = {
		TEST(restart__a_client_has_its_own_again),
		TEST(restart__tells_when_all_are_back),
		TEST(restart__frames_find_it),
		TEST(restart__frames_wait_for_it),
		TEST(restart__what_is_no_ticket),
		TEST(restart__who_is_late_is_refused),
		TEST(restart__an_own_address_is_in_the_ticket),
		TEST(restart__who_cannot_take_what_it_gets),
		TEST(restart__who_cannot_take_it_in_time),
		TEST(restart__again_and_again),
		TEST(restart__nothing_kept),
		TEST(restart__a_lonely_end_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
