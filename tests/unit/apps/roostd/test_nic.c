/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Clients of a port with a network behind it. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/fake_uplink.h"
#include "tests/unit/apps/roostd/nic_world.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct client a, b;

static bool is_changed(struct client *c)
{
	bool changed = false;

	while (c_receive(c) == 0)
		changed |= c->packet.msg.type == ROOST_SHARE_CHANGED;
	return changed;
}

/* ---- what the port is ---------------------------------------------------- */

static void nic__clients_follow_the_port(void **state)
{
	const struct roost_gid added = peer(100), first = fake.facts.gids[1];
	struct roost_share_facts facts;
	uint32_t generation;

	c_attach(&a);
	is_changed(&a);
	fake_news();
	pump();
	assert_false(is_changed(&a)); /* nothing was new */
	fake.facts.gids[2] = added;
	fake.facts.gid_len_bits[2] = 24;
	fake.facts.is_active = 0;
	fake.facts.ip_mtu_bytes = 1500;
	fake.facts.mac[5] = 9;
	fake.facts.pkeys[1] = 0x8001;
	fake_news();
	pump();
	assert_true(is_changed(&a));
	assert_int_equal(roost_share_page_read(a.page, &facts, &generation), 0);
	assert_memory_equal(&facts, &fake.facts, sizeof(facts));
	assert_non_null(roost_lease_addr_find(port.lease, &added));
	assert_int_equal(port.sw->port.max_frame_bytes, 14 + 1500);
	assert_int_equal(port.sw->port.mac[5], 9);
	assert_int_equal(port.sw->port.nb_pkeys, 2);
	assert_int_equal(atomic_load(&a.page->neighs[0]),
			 roost_neigh_mac_gen(fake.facts.mac, 2));
	/* An address goes. */
	fake.facts.gids[1] = added;
	fake.facts.gids[2] = (struct roost_gid){ 0 };
	fake_news();
	pump();
	assert_true(is_changed(&a));
	assert_null(roost_lease_addr_find(port.lease, &first));
	assert_non_null(roost_lease_addr_find(port.lease, &added));
	fake.facts.is_gone = 1;
	fake_news();
	pump();
	assert_true(is_changed(&a));
	c_close(&a);
}

static void nic__the_port_is_in_the_groups_of_its_clients(void **state)
{
	struct roost_share_msg join = { .type = ROOST_SHARE_JOIN };
	struct roost_share_msg leave = { .type = ROOST_SHARE_LEAVE };

	join.addr.dgid = leave.addr.dgid = gid_group;
	c_attach(&a);
	c_attach(&b);
	fake.join_error = -ENOMEM;
	assert_int_equal(c_ask(&a, join), -ENOMEM);
	fake.join_error = 0;
	assert_int_equal(c_ask(&a, join), 0);
	assert_int_equal(c_ask(&b, join), 0);
	assert_int_equal(fake.nb_joined, 1);
	assert_memory_equal(&fake.group, &gid_group, 16);
	assert_int_equal(c_ask(&a, leave), 0);
	assert_int_equal(fake.nb_left, 0);
	assert_int_equal(c_ask(&b, leave), 0);
	assert_int_equal(fake.nb_left, 1);
	assert_int_equal(c_ask(&a, join), 0);
	c_close(&a);
	assert_int_equal(fake.nb_left, 2);
	c_close(&b);
}

/* ---- frames -------------------------------------------------------------- */

/* From the client's address to the peer's, or the other way. */
static struct roost_sw_frame between(const struct client *c, bool out)
{
	struct maker m = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.pkey = 0xffff,
		.payload_bytes = 1000,
		.dest_qpn =
			out ? 77 : qpn_of(port.lease, c->granted.qpn_block, 3),
		.flow = { .hop_limit = 64, .udp_src = 0xc123 },
	};

	m.flow.sgid = out ? fake.facts.gids[1] : peer(2);
	m.flow.dgid = out ? peer(2) : fake.facts.gids[1];
	memcpy(m.flow.src_mac, out ? fake.facts.mac : peer_mac, 6);
	memcpy(m.flow.dst_mac, out ? peer_mac : fake.facts.mac, 6);
	return make(&m);
}

static void nic__frames_go_out_and_come_in(void **state)
{
	struct roost_sw_frame frame;
	const uint8_t *got;
	uint32_t len;

	c_attach(&a);
	frame = between(&a, true);
	c_publish(&a, &frame);
	pump();
	assert_int_equal(fake.nb_sent, 1);
	assert_int_equal(fake.sent_bytes, frame.len_bytes);
	assert_memory_equal(fake.sent, frame.head, frame.len_bytes);
	frame = between(&a, false);
	assert_false(fake_receive(frame.head, frame.len_bytes));
	got = c_take(&a, &len);
	assert_non_null(got);
	assert_int_equal(len, frame.len_bytes);
	assert_memory_equal(got, frame.head, len);
	c_close(&a);
}

static void nic__the_host_has_what_is_no_roce(void **state)
{
	uint8_t arp[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	arp[12] = 0x08;
	arp[13] = 0x06;
	assert_true(fake_receive(arp, sizeof(arp)));
}

static void nic__a_full_port_loses_nothing(void **state)
{
	struct roost_sw_frame frame;
	uint64_t until_ns;

	c_attach(&a);
	fake.is_full = true;
	for (unsigned int i = 0; i < 10; i++) {
		frame = between(&a, true);
		c_publish(&a, &frame);
		pump();
	}
	assert_int_equal(fake.nb_sent, 0);
	until_ns = now_ns + 1000 * MS;
	roostd_port_sleep(&port, now_ns, &until_ns);
	assert_true(until_ns <= now_ns + MS);
	fake.is_full = false;
	pump();
	assert_int_equal(fake.nb_sent, 10);
	c_close(&a);
}

/* The daemon sees the end of the client and its frame in the same round. */
static void nic__last_frame_of_who_goes(void **state)
{
	struct roost_sw_frame frame;

	c_attach(&a);
	frame = between(&a, true);
	c_publish(&a, &frame);
	c_close(&a);
	assert_int_equal(fake.nb_sent, 1);
	assert_int_equal(fake.nb_discarded, 0);
	pump();
	assert_int_equal(port.nb_clients, 0);
}

static void nic__who_goes_waits_for_a_full_port(void **state)
{
	struct roost_sw_frame frame;

	for (unsigned int i = 0; i < 2; i++) {
		c_attach(&a);
		fake.is_full = true;
		frame = between(&a, true);
		c_publish(&a, &frame);
		pump();
		c_close(&a);
		assert_int_equal(fake.nb_discarded, 0);
		now_ns += 900 * MS;
		fake.is_full = i == 1;
		pump();
		assert_int_equal(fake.nb_sent, 1);
		/* But not for ever. */
		now_ns += 101 * MS;
		pump();
		assert_int_equal(fake.nb_discarded, i);
		assert_int_equal(port.nb_clients, 0);
	}
	fake.is_full = false;
}

static void nic__it_sleeps_until_something_is_due(void **state)
{
	uint64_t until_ns = now_ns + 1000 * MS;

	c_attach(&a);
	now_ns += MS;
	pump();
	assert_true(roostd_lane_is_still(&port.lanes[0], now_ns));
	assert_true(roostd_port_sleep(&port, now_ns, &until_ns));
	assert_int_equal(until_ns, now_ns + 999 * MS);
	post(&a, question(2, false));
	assert_true(roostd_port_sleep(&port, now_ns, &until_ns));
	assert_int_equal(until_ns, now_ns + 100 * MS);
	c_close(&a);
}

static void nic__it_sleeps_until_a_rate_allows_the_next_frame(void **state)
{
	struct roost_sw_frame frame;
	uint64_t until_ns;
	unsigned int sent;

	c_attach(&a);
	roost_fair_change(&port.sw->fair, a.granted.client, 1, 100000, now_ns);
	do {
		sent = fake.nb_sent;
		frame = between(&a, true);
		c_publish(&a, &frame);
		pump();
	} while (fake.nb_sent > sent);
	until_ns = now_ns + 1000 * MS;
	assert_true(roostd_port_sleep(&port, now_ns, &until_ns));
	assert_true(until_ns <= now_ns + 20 * MS);
	now_ns = until_ns;
	pump();
	assert_int_equal(fake.nb_sent, sent + 1);
	c_close(&a);
}

static void nic__it_ends_with_clients(void **state)
{
	answers(2);
	c_attach(&a);
	assert_int_equal(c_ask(&a, question(2, false)), 0);
	post(&a, question(3, false));
	roostd_port_close(&port);
	assert_int_equal(fake_refs(), 0);
	assert_int_equal(fake.nb_open, 0);
	assert_int_equal(reopen_nic(), 0);
	c_close(&a);
}

/* Frames come until the port is closed; its clients keep what they lease. */
static void nic__it_ends_while_frames_come(void **state)
{
	char path[64];
	struct roost_sw_frame frame;

	snprintf(path, sizeof(path), "/tmp/roost-test-nic.%d", (int)getpid());
	unlink(path);
	roostd_port_close(&port);
	state_path = path;
	assert_int_equal(reopen_nic(), 0);
	c_attach(&a);
	frame = between(&a, false);
	fake.arrives = frame.head;
	fake.arrives_bytes = frame.len_bytes;
	pump();
	assert_int_equal(roost_shm_out_pending(&port.by_slot[0]->out), 1);
	roostd_port_close(&port);
	fake.arrives = NULL;
	assert_int_equal(reopen_nic(), 0);
	assert_int_equal(port.lease->nb_away, 1);
	c_close(&a);
	roostd_port_close(&port);
	unlink(path);
	state_path = NULL;
	assert_int_equal(reopen_nic(), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_nic, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nic__clients_follow_the_port),
		TEST(nic__the_port_is_in_the_groups_of_its_clients),
		TEST(nic__frames_go_out_and_come_in),
		TEST(nic__the_host_has_what_is_no_roce),
		TEST(nic__a_full_port_loses_nothing),
		TEST(nic__last_frame_of_who_goes),
		TEST(nic__who_goes_waits_for_a_full_port),
		TEST(nic__it_sleeps_until_something_is_due),
		TEST(nic__it_sleeps_until_a_rate_allows_the_next_frame),
		TEST(nic__it_ends_with_clients),
		TEST(nic__it_ends_while_frames_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
