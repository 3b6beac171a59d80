/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What clients of a hub ask, and what they are told. */

#include <errno.h>
#include <sys/socket.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct client a, b;

static void request__messages_out_of_order_end_the_session(void **state)
{
	struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
	struct roost_share_msg attach = { .type = ROOST_SHARE_ATTACH };

	c_connect(&a);
	pump();
	assert_int_equal(roost_share_send(a.socket, &qpns, NULL, 0, NULL), 0);
	assert_true(c_is_cut_off(&a));
	c_close(&a);
	c_attach(&b);
	assert_int_equal(roost_share_send(b.socket, &attach, NULL, 0,
					  &b.ours.fd),
			 0);
	assert_true(c_is_cut_off(&b));
	c_close(&b);
	/* A memory that is none. */
	c_connect(&a);
	assert_int_equal(roost_share_send(a.socket, &attach, NULL, 0,
					  &a.socket),
			 0);
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.status, -EPERM);
	assert_true(c_is_cut_off(&a));
	c_close(&a);
}

static void request__requests(void **state)
{
	struct roost_share_msg claim = {
		.type = ROOST_SHARE_CLAIM,
		.claim = { .service_id = 0x01060000 + 7471,
			   .family = ROOST_CM_FAMILY_IPV4,
			   .listens = 1 },
	};
	struct roost_share_msg msg = { .type = ROOST_SHARE_QPNS };
	uint64_t block;

	c_attach(&a);
	c_attach(&b);
	assert_int_equal(c_ask(&a, msg), 0);
	block = a.packet.msg.reply.value;
	assert_true(block != a.granted.qpn_block &&
		    block != b.granted.qpn_block);
	msg.type = ROOST_SHARE_PREFIX;
	assert_int_equal(c_ask(&a, msg), 0);
	assert_true(a.packet.msg.reply.value != a.granted.comm_prefix);
	/* One name space for all. */
	assert_int_equal(c_ask(&a, claim), 0);
	assert_true(c_ask(&b, claim) < 0);
	claim.type = ROOST_SHARE_UNCLAIM;
	assert_int_equal(c_ask(&a, claim), 0);
	claim.type = ROOST_SHARE_CLAIM;
	assert_int_equal(c_ask(&b, claim), 0);
	/* The hub is all that there is. */
	msg = (struct roost_share_msg){ .type = ROOST_SHARE_RESOLVE };
	msg.addr.dgid = gid_peer_v4;
	assert_int_equal(c_ask(&a, msg), -EHOSTUNREACH);
	msg.addr.dgid = port.facts.gids[1];
	assert_int_equal(c_ask(&a, msg), 0);
	assert_int_equal(a.packet.msg.reply.value, 0);
	msg.type = ROOST_SHARE_SOURCE;
	assert_int_equal(c_ask(&a, msg), 0);
	assert_memory_equal(&a.packet.msg.reply.gid, &port.facts.gids[1], 16);
	c_close(&a);
	c_close(&b);
}

/* Also before it attaches: who counts them makes a device of each. */
static void request__ports_are_counted_and_named(void **state)
{
	struct roost_share_msg ports = { .type = ROOST_SHARE_PORTS };
	struct roost_share_msg attach = {
		.type = ROOST_SHARE_ATTACH,
		.attach.port = 1,
	};

	c_connect(&a);
	assert_int_equal(c_ask(&a, ports), 0);
	assert_int_equal(a.packet.msg.reply.value, 1);
	assert_int_equal(roost_shm_memory_make(&client_shape, &a.ours), 0);
	assert_int_equal(roost_share_send(a.socket, &attach, NULL, 0,
					  &a.ours.fd),
			 0);
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.type, ROOST_SHARE_ATTACHED);
	assert_int_equal(a.packet.msg.status, -ENODEV);
	assert_true(c_is_cut_off(&a));
	c_close(&a);
	c_attach(&b);
	assert_int_equal(c_ask(&b, ports), 0);
	assert_int_equal(b.packet.msg.reply.value, 1);
	c_close(&b);
}

/* Who speaks another version is told, and nothing that it said is done. */
static void request__another_version_is_refused(void **state)
{
	c_connect(&a);
	assert_int_equal(send(a.socket,
			      (uint32_t[8]){ 2 | ROOST_SHARE_PORTS << 16 }, 32,
			      0),
			 32);
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.type, ROOST_SHARE_ATTACHED);
	assert_int_equal(a.packet.msg.status, -EPROTONOSUPPORT);
	assert_true(c_is_cut_off(&a));
	c_close(&a);
}

/* Numbers of the dead are not given to the next one. */
static void request__numbers_rest(void **state)
{
	uint32_t block;

	c_attach(&a);
	block = a.granted.qpn_block;
	c_close(&a);
	for (unsigned int i = 0; i < 10; i++) {
		c_attach(&a);
		assert_true(a.granted.qpn_block != block);
		c_close(&a);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(request__messages_out_of_order_end_the_session),
		TEST(request__requests),
		TEST(request__ports_are_counted_and_named),
		TEST(request__another_version_is_refused),
		TEST(request__numbers_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
