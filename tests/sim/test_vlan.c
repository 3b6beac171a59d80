/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Devices on VLANs: who hears whom, and what the tag says. */

#include "tests/sim/raw.h"

#define QKEY 0x11111111u
#define GRH 40u
#define LEN 100u

static void send_by(struct sim_qp *a, struct sim_qp *b, struct roost_ah *ah)
{
	struct sim *sim = a->end->sim;

	raw_recv(b, 2, raw_blank(sim, GRH + LEN));
	raw_send(a,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED,
			 .ah = ah,
			 .dest_qpn = b->qpn,
			 .qkey = QKEY,
		 },
		 raw_random(sim, LEN));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	assert_int_equal(roost_ah_destroy(ah), 0);
}

/* A datagram of traffic class 0x20 from a to an address where b may be. */
static void send_datagram(struct sim_qp *a, struct sim_qp *b,
			  const struct roost_gid *to)
{
	send_by(a, b, raw_ah(a->end, to));
}

/* The tag's priority is that of the traffic class. The service level is what
 * ConnectX shows, with and without a tag: the type of the L3 header.
 */
static void vlan__datagram_has_its_tag(void **state)
{
	static const struct {
		uint16_t id, tci;
	} rows[] = { { 0, 0 }, { 1, 0x2001 }, { 4094, 0x2ffe } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim *sim = sim_new_on_vlans(rows[i].id, rows[i].id);
		struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
			      *b = raw_ud(sim, SIM_B, NULL);
		struct roost_cqe cqe;

		send_datagram(a, b, &b->end->gid6);
		cqe = raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, GRH + LEN);
		assert_int_equal(cqe.sl, 8 | 1);
		assert_int_equal(cqe.vlan_tci, rows[i].tci);
		send_datagram(a, b, &b->end->gid);
		cqe = raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.sl, 8 | 2);
		assert_int_equal(cqe.vlan_tci, rows[i].tci);
		sim_free(sim);
	}
}

/* From the table, or as the program says by the service level. */
static void vlan__priority_by_tables(void **state)
{
	static const struct {
		enum roost_trust trust;
		uint8_t sl;
		uint16_t tci;
	} rows[] = {
		{ ROOST_TRUST_DSCP, 6, 4 << 13 | 7 },
		{ ROOST_TRUST_PCP, 6, 2 << 13 | 7 },
		{ ROOST_TRUST_PCP, 1, 1 << 13 | 7 },
		{ ROOST_TRUST_PCP, 9, 1 << 13 | 7 },
	};
	struct sim *sim = sim_new_on_vlans(7, 7);
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	struct roost_qos qos;

	roost_qos_init(&qos);
	qos.dscp2prio[8] = 5;
	qos.prio2pcp[5] = 4;
	qos.prio2pcp[6] = 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		qos.trust = rows[i].trust;
		assert_int_equal(roost_port_set_qos(a->end->dev, 1, &qos), 0);
		send_by(a, b, raw_ah_sl(a->end, &b->end->gid, rows[i].sl));
		assert_int_equal(
			raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS).vlan_tci,
			rows[i].tci);
	}
	sim_free(sim);
}

static void check_apart(uint16_t id_a, uint16_t id_b)
{
	struct sim *sim = sim_new_on_vlans(id_a, id_b);
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	const struct roost_dev_counters *c;

	send_datagram(a, b, &b->end->gid);
	raw_expect_nothing(b->end->cq);
	c = sim_counters(sim, SIM_B);
	assert_int_equal(c->drops[ROOST_DROP_VLAN], 1);
	assert_int_equal(c->rx_pkts, 0);
	sim_free(sim);
}

static void vlan__others_do_not_hear(void **state)
{
	check_apart(100, 200);
	check_apart(100, 0);
	check_apart(0, 100);
}

/* Frames to ourselves carry the tag, too, and are taken. */
static void vlan__loopback(void **state)
{
	struct sim *sim = sim_new_on_vlans(7, 8);
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_A, NULL);

	send_datagram(a, b, &a->end->gid);
	raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
	assert_int_equal(sim_counters(sim, SIM_A)->loopback_pkts, 1);
	sim_free(sim);
}

static void put(struct sim *sim, uint16_t ethertype, uint16_t tci,
		uint16_t inner)
{
	uint8_t frame[64] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1 };
	const uint16_t words[] = { ethertype, tci, inner };

	for (unsigned int i = 0; i < 3; i++) {
		frame[12 + 2 * i] = (uint8_t)(words[i] >> 8);
		frame[13 + 2 * i] = (uint8_t)words[i];
	}
	sim_link_put(sim, SIM_A, frame, sizeof(frame));
	sim_run_for(sim, 10 * SIM_US);
}

/* What is no RoCEv2 reaches the host by its VLAN, whatever its priority. */
static void vlan__host_hears_its_own(void **state)
{
	struct sim *sim = sim_new_on_vlans(100, 100);
	const struct roost_dev_counters *c;

	put(sim, 0x8100, 0xf000 | 100, 0x0806);
	put(sim, 0x8100, 101, 0x0806);
	put(sim, 0x0806, 100, 0);
	put(sim, 0x8100, 0, 0x0806);
	put(sim, 0x8100, 100, 0x8100);
	put(sim, 0x88a8, 100, 0x0806);
	c = sim_counters(sim, SIM_B);
	assert_int_equal(c->punted_pkts, 1);
	assert_int_equal(c->drops[ROOST_DROP_VLAN], 3);
	assert_int_equal(c->drops[ROOST_DROP_QINQ], 2);
	sim_free(sim);
}

static void vlan__untagged_takes_priority_tags(void **state)
{
	struct sim *sim = sim_new();
	const struct roost_dev_counters *c;

	put(sim, 0x8100, 0xe000, 0x0806);
	put(sim, 0x0806, 100, 0);
	put(sim, 0x8100, 0xe001, 0x0806);
	c = sim_counters(sim, SIM_B);
	assert_int_equal(c->punted_pkts, 2);
	assert_int_equal(c->drops[ROOST_DROP_VLAN], 1);
	sim_free(sim);
}

/* The kernel behind a port may be on any VLAN; the port itself is on none. */
static void vlan__others_are_a_twins(void **state)
{
	struct sim *sim = sim_new_with_twins();
	const struct roost_dev_counters *c;

	put(sim, 0x8100, 100, 0x0806);
	put(sim, 0x8100, 100, 0x8915);
	put(sim, 0x0806, 100, 0);
	put(sim, 0x8100, 0, 0x8100);
	put(sim, 0x88a8, 100, 0x8100);
	c = sim_counters(sim, SIM_B);
	assert_int_equal(c->punted_pkts, 5);
	assert_int_equal(c->drops[ROOST_DROP_QINQ], 0);
	assert_int_equal(c->drops[ROOST_DROP_VLAN], 0);
	assert_int_equal(c->drops[ROOST_DROP_ROCE_V1], 0);
	sim_free(sim);
}

/* A connection, its acknowledgements and its loss among it. */
static void vlan__connected(void **state)
{
	const struct sim_faults faults = {
		.drop_ppm = 50000,
		.drop_nth = -1,
		.delay_ns = 1000,
	};
	struct sim *sim = sim_new_on_vlans(100, 100);
	struct sim_qp *a, *b;

	sim_set_faults(sim, &faults);
	sim_pair(sim, &sim_qp_conf_default, &a, &b);
	for (unsigned int i = 0; i < 20; i++) {
		sim_recv(b, 10000);
		sim_send(a, 10000);
	}
	sim_run(sim);
	sim_expect_send(a, 19, ROOST_WC_SUCCESS);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_VLAN], 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(vlan__datagram_has_its_tag),
	cmocka_unit_test(vlan__priority_by_tables),
	cmocka_unit_test(vlan__others_do_not_hear),
	cmocka_unit_test(vlan__loopback),
	cmocka_unit_test(vlan__host_hears_its_own),
	cmocka_unit_test(vlan__untagged_takes_priority_tags),
	cmocka_unit_test(vlan__others_are_a_twins),
	cmocka_unit_test(vlan__connected),
};

SIM_MAIN("sim-vlan", tests)
