/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct roost_sw_mad room;
static struct roost_sw_pkt pkt;

/* Extension headers of IPv6 lead behind the head, to bytes that may change. */
static void parse__head_only(void **state)
{
	struct roost_sw_frame frame;
	struct world w;
	struct maker m;
	uint8_t *p;

	world_init(&w);
	m = ud_of(&w, 0);
	m.flow.sgid = gid_v6;
	m.flow.dgid = gid_peer_v6;
	m.payload_bytes = 1024;
	frame = make(&m);
	p = bytes_of(&frame);
	p[14 + 6] = 60; /* destination options, 128 bytes, then UDP */
	p[14 + 40] = 17;
	p[14 + 40 + 1] = 15;
	p[14 + 40 + 128 + 2] = 4791 >> 8;
	p[14 + 40 + 128 + 3] = 4791 & 0xff;
	assert_int_equal(roost_sw_parse(&frame, &room, &pkt),
			 ROOST_SW_MALFORMED);
	frame.head_len_bytes = ROOST_SW_HEAD_MAX;
	assert_int_equal(roost_sw_parse(&frame, &room, &pkt),
			 ROOST_SW_NOT_ROCE);
	world_fini(&w);
}

static void parse__runt(void **state)
{
	static const uint8_t bytes[13];
	struct roost_sw_frame frame = { .head = bytes };

	for (uint32_t len = 0; len <= sizeof(bytes); len++) {
		frame.len_bytes = frame.head_len_bytes = len;
		assert_int_equal(roost_sw_parse(&frame, &room, &pkt),
				 ROOST_SW_MALFORMED);
	}
}

static void compose__reads_back(void **state)
{
	static const struct roost_cm_msg msg = {
		.type = ROOST_CM_DREQ,
		.tid = 0x0102030405060708,
		.local_id = 0x11223344,
		.remote_id = 0x55667788,
		.qpn = 0x99aabb,
	};
	uint8_t bytes[ROOST_SW_GSI_FRAME_MAX];
	struct roost_sw_frame frame = { .head = bytes };
	struct world w;

	world_init(&w);
	for (unsigned int i = 0; i < 4; i++) {
		struct roost_sw_route route = {
			.local = i & 1 ? gid_v6 : gid_v4,
			.peer = i & 1 ? gid_peer_v6 : gid_peer_v4,
			.peer_mac = { 2, 0, 0, 0, 0, 2 },
			.tclass = 0x60,
			.hop_limit = 33,
			.udp_src = 0xc0de,
			.pkey = 0x7fff,
		};

		w.port.vlan_id = i & 2 ? 5 : 0;
		frame.len_bytes = frame.head_len_bytes =
			roost_sw_compose(&w.port, &route, &msg, bytes);
		assert_true(frame.len_bytes <= sizeof(bytes));
		assert_int_equal(roost_sw_parse(&frame, &room, &pkt),
				 ROOST_SW_OK);
		assert_true(roost_sw_vlan_ok(&w.port, &pkt.frame));
		assert_memory_equal(&room.msg, &msg, sizeof(msg));
		assert_int_equal(pkt.pkt.pkey, 0xffff);
		assert_int_equal(pkt.frame.hop_limit, 33);
		/* The way back of the way back is the way. */
		route = roost_sw_route_back(&pkt);
		assert_true(roost_gid_eq(&route.peer, &pkt.frame.sgid));
		assert_true(roost_gid_eq(&route.local, &pkt.frame.dgid));
		assert_memory_equal(route.peer_mac, w.port.mac, 6);
		route = roost_sw_route_on(&pkt, bytes);
		assert_memory_equal(route.peer_mac, bytes, 6);
		assert_int_equal(route.udp_src, 0xc0de);
	}
	world_fini(&w);
}

static void drop__names(void **state)
{
	for (unsigned int i = 0; i < ROOST_SW_DROPS; i++) {
		const char *name = roost_sw_drop_name((enum roost_sw_drop)i);

		assert_non_null(name);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(name,
						roost_sw_drop_name(
							(enum roost_sw_drop)j));
	}
	assert_string_equal(roost_sw_drop_name(ROOST_SW_DROPS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__head_only),
		cmocka_unit_test(parse__runt),
		cmocka_unit_test(compose__reads_back),
		cmocka_unit_test(drop__names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
