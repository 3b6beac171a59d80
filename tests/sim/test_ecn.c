/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Marks of switches (ECN), and the CNPs that answer them. */

#include "tests/sim/common.h"
#include "tests/sim/raw.h"

#define QKEY 0x11111111u
#define GRH 40u
#define ALL_PPM 1000000u
#define LEN 3000u

static void mark(struct sim *sim, int side)
{
	sim->link.faults[side].mark_ppm = ALL_PPM;
}

static struct roost_ecn get_ecn(struct sim *sim, int side)
{
	struct roost_ecn ecn;

	assert_int_equal(roost_port_query_ecn(sim->ends[side].dev, 1, &ecn), 0);
	return ecn;
}

static void set_ecn(struct sim *sim, int side, struct roost_ecn ecn)
{
	assert_int_equal(roost_port_set_ecn(sim->ends[side].dev, 1, &ecn), 0);
}

static void set_interval(struct sim *sim, int side, uint32_t us)
{
	struct roost_ecn ecn = get_ecn(sim, side);

	ecn.min_time_between_cnps = us;
	set_ecn(sim, side, ecn);
}

static void disable_rp(struct sim *sim, int side)
{
	struct roost_ecn ecn = get_ecn(sim, side);

	ecn.roce_rp_enable = 0;
	set_ecn(sim, side, ecn);
}

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
	mark(sim, SIM_A);
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
	mark(sim, SIM_A);
	mark(sim, SIM_B);
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

	mark(sim, SIM_A);
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
	mark(sim, SIM_B);
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
		disable_rp(sim, SIM_A);
		set_interval(sim, SIM_B, intervals_us[i]);
		mark(sim, SIM_A);
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
	set_interval(sim, SIM_B, 10000);
	mark(sim, SIM_A);
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
	disable_rp(sim, SIM_A);
	set_interval(sim, SIM_B, 0);
	mark(sim, SIM_A);
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

static void forge_cnp(struct sim_qp *to, const struct roost_flow *flow,
		      uint16_t pkey)
{
	uint8_t frame[ROOST_CNP_FRAME_MAX];
	struct roost_hdr_template template;
	size_t len;

	roost_hdr_template_init(&template, flow);
	len = roost_cnp_build(&template, frame, pkey, to->qpn);
	sim_link_put(to->sim, to->peer->end->side, frame, len);
	sim_turn(to->sim);
}

static void ecn__only_the_peer_is_believed(void **state)
{
	struct sim *sim = sim_new();
	const struct roost_dev_counters *c;
	struct roost_flow flow;
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	flow = sim_flow_to(a);
	flow.sgid.b[15] ^= 0x40;
	forge_cnp(a, &flow, 0xffff);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->drops[ROOST_DROP_SRC_ADDR], 1);
	flow = sim_flow_to(a);
	forge_cnp(a, &flow, 0x8001);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->drops[ROOST_DROP_PKEY], 1);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, 0);
	forge_cnp(a, &flow, 0xffff);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
	forge_cnp(a, &flow, 0xffff);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->drops[ROOST_DROP_QP_STATE], 1);
	assert_int_equal(c->cnps_handled + c->cnps_ignored, 1);
	sim_free(sim);
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
	forge_cnp(a, &flow, 0xffff);
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_int_equal(sim_counters(sim, SIM_A)->ecn_marked_pkts, 0);
	sim_free(sim);
}

/* ---- reaction point ---------------------------------------------------- */

#define RATE_MBPS 1000u
#define BIG (1000u * 1024u)

/* The first CNP sets a rate that stays. */
static void set_rate(struct sim *sim, int side, uint32_t enable)
{
	struct roost_ecn ecn = get_ecn(sim, side);

	ecn.roce_rp_enable = enable;
	ecn.rate_to_set_on_first_cnp = RATE_MBPS;
	ecn.rpg_time_reset = 131071;
	ecn.rpg_byte_reset = 0;
	set_ecn(sim, side, ecn);
}

/* The time between the first and the last data packet of a side. */
static uint64_t took_ns(const struct sim *sim, int side)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	for (size_t i = 0; i < sim->link.nb_log[side]; i++) {
		const struct sim_sent *s = &sim->link.log[side][i];

		if (!(roost_opcodes[s->opcode].flags & ROOST_OPF_PAYLOAD))
			continue;
		if (first_ns == UINT64_MAX)
			first_ns = s->at_ns;
		last_ns = s->at_ns;
	}
	return last_ns - first_ns;
}

/* A megabyte in frames of 1024 and 58 bytes at 1 Gb/s; READ: the responses. */
static void at_rate(enum roost_qp_type type, enum roost_wr_opcode opcode,
		    uint32_t enable)
{
	const int data = opcode == ROOST_WR_READ ? SIM_B : SIM_A;
	const uint64_t need_ns = 1000 * (1024 + 58) * 8;
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	const struct roost_dev_counters *c;
	struct sim_qp *a, *b, *from;
	struct roost_flow flow;

	conf.type = type;
	conf.timeout = 18;
	set_rate(sim, SIM_A, enable);
	set_rate(sim, SIM_B, enable);
	sim_pair(sim, &conf, &a, &b);
	from = data == SIM_A ? a : b;
	flow = sim_flow_to(from);
	forge_cnp(from, &flow, 0xffff);
	assert_int_equal(raw_view(from).cc_rate_kbps,
			 enable ? RATE_MBPS * 1000 : 0);
	c = sim_counters(sim, data);
	assert_int_equal(c->cnps_handled, enable);
	assert_int_equal(c->cnps_ignored, !enable);
	if (opcode == ROOST_WR_SEND)
		sim_recv(b, BIG);
	sim_do_op(a, opcode, BIG);
	/* A QP of UC that waits has nothing in flight. */
	sim_run_for(sim, 20 * SIM_MS);
	sim_expect_all_good(a, b);
	if (enable)
		assert_in_range(took_ns(sim, data), need_ns - 200 * SIM_US,
				need_ns + 200 * SIM_US);
	else
		assert_true(took_ns(sim, data) < SIM_MS);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	sim_free(sim);
}

static void ecn__cnps_slow_down(void **state)
{
	for (uint32_t enable = 0; enable < 2; enable++) {
		at_rate(ROOST_QPT_RC, ROOST_WR_SEND, enable);
		at_rate(ROOST_QPT_RC, ROOST_WR_WRITE, enable);
		at_rate(ROOST_QPT_RC, ROOST_WR_READ, enable);
		at_rate(ROOST_QPT_UC, ROOST_WR_SEND, enable);
	}
}

/* Whoever disables the reaction point ends the limits that there are, with the
 * next packet of each QP.
 */
static void ecn__disabling_ends_limits(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow flow;
	struct sim_qp *a, *b;

	set_rate(sim, SIM_A, 1);
	sim_pair(sim, NULL, &a, &b);
	flow = sim_flow_to(a);
	forge_cnp(a, &flow, 0xffff);
	sim_recv(b, BIG);
	sim_send(a, BIG);
	sim_run_for(sim, SIM_MS);
	sim_expect_send_open(a, 0);
	disable_rp(sim, SIM_A);
	sim_run_for(sim, SIM_MS);
	sim_expect_all_good(a, b);
	assert_int_equal(raw_view(a).cc_rate_kbps, 0);
	sim_free(sim);
}

/* Responses that the rate holds back are dropped with their QP, and nothing
 * else is: other QPs are answered, and reset and destroy do not wait.
 */
static void ecn__held_responses(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a[2], *b[2];
	struct roost_flow flow;

	conf.timeout = 18;
	set_rate(sim, SIM_B, 1);
	for (int i = 0; i < 2; i++)
		sim_pair(sim, &conf, &a[i], &b[i]);
	flow = sim_flow_to(b[0]);
	forge_cnp(b[0], &flow, 0xffff);
	sim_do_op(a[0], ROOST_WR_READ, BIG);
	sim_do_op(a[0], ROOST_WR_WRITE, 10);
	sim_do_op(a[1], ROOST_WR_READ, BIG);
	sim_run_for(sim, SIM_MS);
	sim_expect_send_open(a[0], 0);
	sim_expect_send(a[1], 0, ROOST_WC_SUCCESS);
	sim_qp_destroy(b[0]);
	assert_int_equal(sim_qp_to(a[0], ROOST_QPS_RESET), 0);
	sim_free(sim);
}

/* All packets are marked until the rate is low; then it comes back. */
static void ecn__rate_falls_and_comes_back(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint32_t low_kbps;

	conf.tclass = 106;
	conf.timeout = 18;
	sim_pair(sim, &conf, &a, &b);
	mark(sim, SIM_A);
	sim_recv(b, BIG);
	sim_send(a, BIG);
	sim_run_for(sim, 100 * SIM_US);
	low_kbps = raw_view(a).cc_rate_kbps;
	assert_in_range(low_kbps, 1000, 4000000);
	assert_true(raw_view(a).counters.cnps_handled > 4);
	assert_int_equal(raw_view(b).counters.cnps_sent,
			 sim_counters(sim, SIM_B)->cnps_sent);
	sim->link.faults[SIM_A].mark_ppm = 0;
	sim_run_for(sim, 2 * SIM_S);
	sim_expect_all_good(a, b);
	for (int i = 0; i < 300; i++) {
		sim_recv(b, LEN);
		sim_send(a, LEN);
		sim_run_for(sim, 10 * SIM_MS);
	}
	sim_expect_all_good(a, b);
	assert_true(raw_view(a).cc_rate_kbps == 0 ||
		    raw_view(a).cc_rate_kbps > 10 * low_kbps);
	assert_int_equal(raw_view(a).counters.retransmits, 0);
	sim_free(sim);
}

/* With `ect`, QPs that are connected say that they may be marked; datagrams,
 * which no CNP slows down, do not.
 */
static void ecn__ect(void **state)
{
	static const struct {
		uint32_t ect;
		uint8_t tclass;
		unsigned int marked;
	} rows[] = { { 0, 0, 0 }, { 1, 0, 3 }, { 1, 1, 0 }, { 1, 104, 3 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct roost_ecn ecn = get_ecn(sim, SIM_A);
		struct sim_qp *a, *b;

		ecn.ect = rows[i].ect;
		set_ecn(sim, SIM_A, ecn);
		conf.tclass = rows[i].tclass;
		sim_pair(sim, &conf, &a, &b);
		mark(sim, SIM_A);
		sim_recv(b, LEN);
		sim_send(a, LEN);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(sim->link.nb_marked[SIM_A], rows[i].marked);
		sim_free(sim);
	}
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
	cmocka_unit_test(ecn__cnps_answer_no_cnps),
	cmocka_unit_test(ecn__cnps_slow_down),
	cmocka_unit_test(ecn__disabling_ends_limits),
	cmocka_unit_test(ecn__held_responses),
	cmocka_unit_test(ecn__rate_falls_and_comes_back),
	cmocka_unit_test(ecn__ect),
};

SIM_MAIN("sim/ecn", tests)
