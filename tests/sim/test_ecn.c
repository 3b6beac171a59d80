/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Marks of switches (ECN), and the CNPs that answer them. */

#include "lib/engine/cc/cc.h"
#include "tests/sim/common.h"
#include "tests/sim/ecn.h"
#include "tests/sim/raw.h"

#define QKEY 0x11111111u
#define GRH 40u
#define LEN 3000u

/* CNPs that a side has sent. */
static unsigned int cnps(const struct sim *sim, int side)
{
	unsigned int n = 0;

	for (size_t i = 0; i < sim->link.nb_log[side]; i++)
		n += sim->link.log[side][i].opcode == ROOST_OPCODE_CNP;
	return n;
}

/* Side `side` received n marked packets and sent this many CNPs, and the other
 * side took them all.
 */
static void expect(struct sim *sim, int side, uint64_t n, unsigned int nb_cnps)
{
	const struct roost_dev_counters *c = sim_counters(sim, side);

	assert_int_equal(c->ecn_marked_pkts, n);
	assert_int_equal(c->cnps_sent, nb_cnps);
	assert_int_equal(cnps(sim, side), nb_cnps);
	c = sim_counters(sim, !side);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, nb_cnps);
	for (int i = 0; i < ROOST_DROP_COUNT; i++)
		assert_int_equal(c->drops[i], 0);
}

/* ---- notification point ---------------------------------------------- */

static void connected(enum roost_qp_type type, uint8_t tclass, bool ipv6)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.type = type;
	conf.tclass = tclass;
	conf.ipv6 = ipv6;
	sim_pair(sim, &conf, &a, &b);
	sim_mark(sim, SIM_A);
	sim_recv(b, LEN);
	sim_send(a, LEN);
	sim_run(sim);
	sim_expect_all_good(a, b);
	/* Three packets in one burst: one CNP. */
	if ((tclass & ROOST_ECN_MASK) == ROOST_ECN_ECT0)
		expect(sim, SIM_B, 3, 1);
	else
		expect(sim, SIM_B, 0, 0);
	expect(sim, SIM_A, 0, 0);
	sim_free(sim);
}

static void ecn__connected_peers_are_notified(void **state)
{
	static const uint8_t tclasses[] = { 0, 1, 2, 106, 0x64 };

	for (size_t i = 0; i < sizeof(tclasses); i++)
		for (int ipv6 = 0; ipv6 < 2; ipv6++) {
			connected(ROOST_QPT_RC, tclasses[i], ipv6);
			connected(ROOST_QPT_UC, tclasses[i], ipv6);
		}
}

/* Both directions: the request at the target, the responses at the initiator.
 */
static void ecn__xrc_peers_are_notified(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_end *end = &sim->ends[SIM_B];
	struct roost_xrcd *xrcd;
	struct roost_srq *srq;
	struct sim_qp *a, *b;
	struct sim_slice there;

	sim->nobody_polls = true;
	assert_int_equal(roost_xrcd_open(end->ctx, &xrcd), 0);
	srq = sim_srq_new(end, xrcd, 4);
	conf.tclass = ROOST_ECN_ECT0;
	conf.type = ROOST_QPT_XRC_INI;
	a = sim_qp_new(sim, SIM_A, &conf);
	conf.type = ROOST_QPT_XRC_TGT;
	conf.xrcd = xrcd;
	b = sim_qp_new(sim, SIM_B, &conf);
	sim_connect(a, b);
	sim_mark(sim, SIM_A);
	sim_mark(sim, SIM_B);
	there = raw_random(sim, LEN);
	raw_send(a,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_READ,
			 .flags = ROOST_SEND_SIGNALED,
			 .remote_addr = (uintptr_t)there.data,
			 .rkey = roost_mr_rkey(end->mr),
			 .xrc_srqn = roost_srq_num(srq),
		 },
		 raw_blank(sim, LEN));
	sim_run_for(sim, 100 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	expect(sim, SIM_B, 1, 1);
	expect(sim, SIM_A, 3, 1);
	sim_qp_destroy(b);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
	assert_int_equal(roost_xrcd_close(xrcd), 0);
	sim_free(sim);
}

static struct roost_ah *marked_ah(struct sim_end *from,
				  const struct roost_gid *to)
{
	struct roost_av av = {
		.is_global = true,
		.port_num = 1,
		.dgid = *to,
		.sgid_index = roost_gid_is_v4(to) ? 0 : 1,
		.hop_limit = 33,
		.traffic_class = ROOST_ECN_ECT0,
	};
	struct roost_ah *ah;

	assert_int_equal(roost_ah_create(from->pd, &av, &ah), 0);
	return ah;
}

/* The CNP goes to the QP that the datagram names as its source, which is not
 * slowed down. A datagram with a wrong Q_Key is of nobody that this QP knows.
 */
static void datagram(const struct roost_gid *to, struct sim *sim, uint32_t qkey,
		     bool answered)
{
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah = marked_ah(a->end, to);

	sim_mark(sim, SIM_A);
	raw_recv(b, 2, raw_blank(sim, GRH + LEN));
	raw_send(a,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED,
			 .ah = ah,
			 .dest_qpn = b->qpn,
			 .qkey = qkey,
		 },
		 raw_random(sim, LEN));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	expect(sim, SIM_B, 1, answered);
	assert_int_equal(sim_counters(sim, SIM_A)->cnps_ignored, answered);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

static void ecn__sources_of_datagrams_are_notified(void **state)
{
	struct sim *sim = sim_new();

	datagram(&sim->ends[SIM_B].gid, sim, QKEY, true);
	sim = sim_new();
	datagram(&sim->ends[SIM_B].gid6, sim, QKEY, true);
	sim = sim_new();
	datagram(&sim->ends[SIM_B].gid, sim, QKEY + 1, false);
	sim = sim_new_on_vlans(7, 7);
	datagram(&sim->ends[SIM_B].gid, sim, QKEY, true);
}

/* READs and what they bring, on a VLAN: the tag has the CNPs' priority. */
static void ecn__responses_are_notified(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new_on_vlans(5, 5);
	struct sim_qp *a, *b;

	conf.tclass = ROOST_ECN_ECT0;
	sim_pair(sim, &conf, &a, &b);
	sim_mark(sim, SIM_B);
	sim_do_op(a, ROOST_WR_READ, LEN);
	sim_run(sim);
	sim_expect_all_good(a, b);
	expect(sim, SIM_A, 3, 1);
	sim_free(sim);
}

/* One CNP in the interval, whatever is marked meanwhile; 0: one for each. */
static void ecn__interval(void **state)
{
	static const uint32_t intervals_us[] = { 0, 4, 50 };

	for (size_t i = 0; i < 3; i++) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		uint64_t last_ns = 0, first_ns = UINT64_MAX;
		struct sim_qp *a, *b;
		unsigned int n = 0;

		conf.tclass = ROOST_ECN_ECT0;
		sim_pair(sim, &conf, &a, &b);
		sim_disable_rp(sim, SIM_A);
		sim_set_cnp_interval(sim, SIM_B, intervals_us[i]);
		sim_mark(sim, SIM_A);
		sim_recv(b, 1000 * 1024);
		sim_send(a, 1000 * 1024);
		sim_run(sim);
		sim_expect_all_good(a, b);
		for (size_t k = 0; k < sim->link.nb_log[SIM_B]; k++) {
			const struct sim_sent *s = &sim->link.log[SIM_B][k];

			if (s->opcode != ROOST_OPCODE_CNP)
				continue;
			if (n++ > 0)
				assert_true(s->at_ns - last_ns >=
					    intervals_us[i] * SIM_US);
			else
				first_ns = s->at_ns;
			last_ns = s->at_ns;
		}
		expect(sim, SIM_B, sim->link.nb_marked[SIM_A], n);
		assert_true(n > 1);
		if (intervals_us[i] == 0)
			assert_int_equal(n, 1000);
		else
			assert_true(n <=
				    1 + (last_ns - first_ns) /
						    (intervals_us[i] * SIM_US));
		sim_free(sim);
	}
}

/* Two QPs do not share an interval. */
static void ecn__each_qp_has_its_interval(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a[2], *b[2];

	conf.tclass = ROOST_ECN_ECT0;
	sim_set_cnp_interval(sim, SIM_B, 10000);
	sim_mark(sim, SIM_A);
	for (int i = 0; i < 2; i++) {
		sim_pair(sim, &conf, &a[i], &b[i]);
		sim_recv(b[i], 10);
		sim_send(a[i], 10);
		sim_run(sim);
		sim_expect_all_good(a[i], b[i]);
	}
	expect(sim, SIM_B, 2, 2);
	sim_free(sim);
}

/* A CNP that a full port has no room for is not counted, and the next mark is
 * answered.
 */
static void ecn__full_port(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.tclass = ROOST_ECN_ECT0;
	conf.timeout = 14;
	sim_pair(sim, &conf, &a, &b);
	sim_disable_rp(sim, SIM_A);
	sim_set_cnp_interval(sim, SIM_B, 0);
	sim_mark(sim, SIM_A);
	sim->link.faults[SIM_B].takes_none = true;
	for (int i = 0; i < 100; i++) {
		sim_recv(b, 10);
		sim_send(a, 10);
	}
	sim_run_for(sim, 50 * SIM_US);
	assert_int_equal(sim_counters(sim, SIM_B)->ecn_marked_pkts, 100);
	assert_true(sim_counters(sim, SIM_B)->cnps_sent <= 64);
	assert_int_equal(cnps(sim, SIM_B), 0);
	sim->link.faults[SIM_B].takes_none = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_B)->cnps_sent, cnps(sim, SIM_B));
	sim_free(sim);
}

/* ---- who is believed --------------------------------------------------- */

static void ecn__only_the_peer_is_believed(void **state)
{
	struct sim *sim = sim_new();
	const struct roost_dev_counters *c;
	struct roost_flow flow;
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	flow = sim_flow_to(a);
	flow.sgid.b[15] ^= 0x40;
	sim_forge_cnp(a, &flow, 0xffff);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->drops[ROOST_DROP_SRC_ADDR], 1);
	flow = sim_flow_to(a);
	sim_forge_cnp(a, &flow, 0x8001);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->drops[ROOST_DROP_PKEY], 1);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, 0);
	sim_forge_cnp(a, &flow, 0xffff);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	sim_forge_cnp(a, &flow, 0xffff);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->drops[ROOST_DROP_QP_STATE], 1);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, 1);
	sim_free(sim);
}

/* ---- the window -------------------------------------------------------- */

/* A CNP takes a quarter of it, once for each window that was acknowledged, and
 * never the last packet.
 */
static void ecn__marks_reduce_the_window(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow flow;
	struct sim_qp *a, *b;
	uint32_t before = 12;

	sim_pair(sim, NULL, &a, &b);
	flow = sim_flow_to(a);
	a->qp->req.cwnd.pkts = 16;
	sim_forge_cnp(a, &flow, 0xffff);
	assert_int_equal(a->qp->req.cwnd.pkts, before);
	sim_forge_cnp(a, &flow, 0xffff);
	assert_int_equal(a->qp->req.cwnd.pkts, before);
	for (int i = 0; i < 16; i++) {
		for (uint32_t k = 0; k < before; k++) {
			sim_recv(b, 1);
			sim_send(a, 1);
		}
		sim_run(sim);
		/* What it has grown meanwhile is less than what it loses. */
		sim_forge_cnp(a, &flow, 0xffff);
		if (before > 1)
			assert_true(a->qp->req.cwnd.pkts < before);
		before = a->qp->req.cwnd.pkts;
	}
	assert_int_equal(before, 1);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* The window of READs is the requester's: marks on responses reduce it. */
static void ecn__marked_responses_reduce_the_window(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	const uint32_t less = ROOST_CWND_MAX_PKTS * 3 / 4;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.tclass = ROOST_ECN_ECT0;
	sim_pair(sim, &conf, &a, &b);
	sim_mark(sim, SIM_B);
	sim_do_op(a, ROOST_WR_READ, LEN);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_in_range(a->qp->req.cwnd.pkts, less, less + 1);
	sim_free(sim);
}

/* Two that a switch marks each tenth round trip: the smaller one gains as much,
 * and loses less.
 */
static void ecn__marked_windows_become_equal(void **state)
{
	const struct roost_requester req = { 0 };
	struct roost_cwnd a, b;

	roost_cc_loss.reset(&a, 4, 256);
	roost_cc_loss.reset(&b, 64, 256);
	for (unsigned int i = 0; i < 1000; i++) {
		if (i % 10 == 0) {
			roost_cc_loss.on_marked(&a);
			roost_cc_loss.on_marked(&b);
		}
		roost_cc_loss.on_acked(&a, &req, a.pkts, true);
		roost_cc_loss.on_acked(&b, &req, b.pkts, true);
	}
	assert_in_range(a.pkts, 2, 8);
	assert_in_range(b.pkts, a.pkts - 1, a.pkts + 2);
}

/* A CNP with the mark of a switch is not answered. */
static void ecn__cnps_answer_no_cnps(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow flow;
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	flow = sim_flow_to(a);
	flow.tclass = ROOST_ECN_CE;
	sim_forge_cnp(a, &flow, 0xffff);
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_int_equal(sim_counters(sim, SIM_A)->ecn_marked_pkts, 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ecn__connected_peers_are_notified),
	cmocka_unit_test(ecn__xrc_peers_are_notified),
	cmocka_unit_test(ecn__sources_of_datagrams_are_notified),
	cmocka_unit_test(ecn__responses_are_notified),
	cmocka_unit_test(ecn__interval),
	cmocka_unit_test(ecn__each_qp_has_its_interval),
	SIM_TEST_ONE_WORKER(ecn__full_port),
	cmocka_unit_test(ecn__only_the_peer_is_believed),
	cmocka_unit_test(ecn__marks_reduce_the_window),
	cmocka_unit_test(ecn__marked_responses_reduce_the_window),
	cmocka_unit_test(ecn__marked_windows_become_equal),
	cmocka_unit_test(ecn__cnps_answer_no_cnps),
};

SIM_MAIN("sim/ecn", tests)
