/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* CNPs and the rate of QPs (DCQCN). */

#include "lib/engine/core/qp_priv.h"
#include "tests/sim/common.h"
#include "tests/sim/ecn.h"
#include "tests/sim/raw.h"

#define LEN 3000u
#define RATE_MBPS 1000u
#define BIG (1000u * 1024u)

/* The first CNP sets a rate that stays. */
static void set_rate(struct sim *sim, int side, uint32_t enable)
{
	struct roost_ecn ecn = sim_get_ecn(sim, side);

	ecn.roce_rp_enable = enable;
	ecn.dcqcn = 1;
	ecn.rate_to_set_on_first_cnp = RATE_MBPS;
	ecn.rpg_time_reset = 131071;
	ecn.rpg_byte_reset = 0;
	sim_set_ecn(sim, side, ecn);
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
	sim_forge_cnp(from, &flow, 0xffff);
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

/* By default what has a window has no rate: what has none is as it was. */
static void dcqcn__windows_need_no_rate(void **state)
{
	static const struct {
		enum roost_qp_type type;
		enum roost_wr_opcode opcode;
		bool limited;
	} cases[] = {
		{ ROOST_QPT_RC, ROOST_WR_WRITE, false },
		{ ROOST_QPT_RC, ROOST_WR_READ, true },
		{ ROOST_QPT_UC, ROOST_WR_WRITE, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int data =
			cases[i].opcode == ROOST_WR_READ ? SIM_B : SIM_A;
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct sim_qp *a, *b, *from;
		struct roost_ecn ecn;
		struct roost_flow flow;

		conf.type = cases[i].type;
		conf.timeout = 18;
		set_rate(sim, data, 1);
		ecn = sim_get_ecn(sim, data);
		ecn.dcqcn = 0;
		sim_set_ecn(sim, data, ecn);
		sim_pair(sim, &conf, &a, &b);
		from = data == SIM_A ? a : b;
		flow = sim_flow_to(from);
		sim_forge_cnp(from, &flow, 0xffff);
		sim_do_op(a, cases[i].opcode, BIG);
		sim_run_for(sim, 20 * SIM_MS);
		sim_expect_all_good(a, b);
		assert_int_equal(took_ns(sim, data) > 8 * SIM_MS,
				 cases[i].limited);
		sim_free(sim);
	}
}

/* Marks of requests, which have a window, are not about answers to READs. */
static void dcqcn__marked_writes_leave_reads_alone(void **state)
{
	const struct sim_faults faults = { .drop_nth = -1,
					   .delay_ns = 5 * SIM_US,
					   .mark_ppm = 300000 };
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint64_t begin_ns;

	conf.tclass = 106;
	conf.timeout = 18;
	sim_pair(sim, &conf, &a, &b);
	sim->link.faults[SIM_A] = faults;
	for (int i = 0; i < 400; i++) {
		if (roost_queue_count(&a->qp->sq) < 8)
			sim_do_op(a, ROOST_WR_WRITE, 8 * 1024);
		sim_run_for(sim, 5 * SIM_US);
	}
	sim_run(sim);
	assert_true(sim_counters(sim, SIM_A)->cnps_handled > 10);
	begin_ns = sim->now_ns;
	sim_do_op(b, ROOST_WR_READ, 64 * 1024);
	sim_run(sim);
	assert_true(sim->now_ns - begin_ns < SIM_MS);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

static void dcqcn__cnps_slow_down(void **state)
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
static void dcqcn__disabling_ends_limits(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow flow;
	struct sim_qp *a, *b;

	set_rate(sim, SIM_A, 1);
	sim_pair(sim, NULL, &a, &b);
	flow = sim_flow_to(a);
	sim_forge_cnp(a, &flow, 0xffff);
	sim_recv(b, BIG);
	sim_send(a, BIG);
	sim_run_for(sim, SIM_MS);
	sim_expect_send_open(a, 0);
	sim_disable_rp(sim, SIM_A);
	sim_run_for(sim, SIM_MS);
	sim_expect_all_good(a, b);
	assert_int_equal(raw_view(a).cc_rate_kbps, 0);
	sim_free(sim);
}

/* Responses that the rate holds back are dropped with their QP, and nothing
 * else is: other QPs are answered, and reset and destroy do not wait.
 */
static void dcqcn__held_responses(void **state)
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
	sim_forge_cnp(b[0], &flow, 0xffff);
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

/* A program's rate limit holds for requests, and that of CNPs for answers: one
 * does not wait for the other.
 */
static void dcqcn__own_limit_is_for_requests(void **state)
{
	static const struct {
		uint32_t own_kbps, cc_mbps;
		bool write_first;
	} rows[] = { { 1000, 1000, true }, { 1000000, 1, false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roost_qp_attr attr = {
			.rate_limit_kbps = rows[i].own_kbps,
		};
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct sim_qp *a, *b, *slow, *fast;
		struct roost_ecn ecn;
		struct roost_flow flow;

		conf.timeout = 18;
		set_rate(sim, SIM_A, 1);
		ecn = sim_get_ecn(sim, SIM_A);
		ecn.dcqcn = 0;
		ecn.rate_to_set_on_first_cnp = rows[i].cc_mbps;
		sim_set_ecn(sim, SIM_A, ecn);
		sim_pair(sim, &conf, &a, &b);
		flow = sim_flow_to(a);
		sim_forge_cnp(a, &flow, 0xffff);
		assert_int_equal(roost_qp_modify(a->qp, &attr,
						 ROOST_QP_RATE_LIMIT),
				 0);
		slow = rows[i].write_first ? a : b;
		fast = rows[i].write_first ? b : a;
		/* 8 ms a packet. */
		sim_do_op(slow, slow == a ? ROOST_WR_WRITE : ROOST_WR_READ,
			  LEN);
		sim_run_for(sim, 10 * SIM_MS);
		sim_expect_send_open(slow, 0);
		sim_do_op(fast, fast == a ? ROOST_WR_WRITE : ROOST_WR_READ,
			  LEN);
		sim_run_for(sim, SIM_MS);
		sim_expect_send(fast, 0, ROOST_WC_SUCCESS);
		sim_run_for(sim, 20 * SIM_MS);
		sim_expect_send(slow, 0, ROOST_WC_SUCCESS);
		sim_free(sim);
	}
}

/* QPs that begin together are not together later: of 16 in 866 us, 1 to 4 are
 * in each 108 us.
 */
static void dcqcn__rates_spread(void **state)
{
	enum {
		QPS = 16,
		PARTS = 8
	};
	const struct roost_qp_attr attr = { .rate_limit_kbps = 10000 };
	const uint64_t interval_ns = (1024 + 58) * 8 * 100;
	struct sim_qp_conf conf = sim_qp_conf_default;
	unsigned int nb[PARTS] = { 0 };
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint64_t begin_ns;

	conf.type = ROOST_QPT_UC;
	sim_run_for(sim, SIM_MS);
	begin_ns = sim->now_ns;
	for (int i = 0; i < QPS; i++) {
		sim_pair(sim, &conf, &a, &b);
		assert_int_equal(roost_qp_modify(a->qp, &attr,
						 ROOST_QP_RATE_LIMIT),
				 0);
		sim_do_op(a, ROOST_WR_WRITE, 10 * 1024);
	}
	sim_run_for(sim, 5 * SIM_MS);
	for (size_t i = 0; i < sim->link.nb_log[SIM_A]; i++) {
		uint64_t at_ns = sim->link.log[SIM_A][i].at_ns - begin_ns;

		if (at_ns >= 3 * interval_ns && at_ns < 4 * interval_ns)
			nb[(at_ns - 3 * interval_ns) * PARTS / interval_ns]++;
	}
	for (int i = 0; i < PARTS; i++)
		assert_in_range(nb[i], 1, 4);
	sim_free(sim);
}

/* A megabyte at 1 Gb/s, after 1 ms without any: 5 packets in 40 us. */
static void dcqcn__silence_is_no_credit(void **state)
{
	const struct roost_qp_attr attr = { .rate_limit_kbps = 1000000 };
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.type = ROOST_QPT_UC;
	sim_pair(sim, &conf, &a, &b);
	assert_int_equal(roost_qp_modify(a->qp, &attr, ROOST_QP_RATE_LIMIT), 0);
	sim_run_for(sim, SIM_MS);
	sim_do_op(a, ROOST_WR_WRITE, BIG);
	sim_run_for(sim, 40 * SIM_US);
	assert_in_range(sim->link.nb_log[SIM_A], 3, 6);
	sim_run_for(sim, 20 * SIM_MS);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* All packets are marked until the rate is low; then it comes back. */
static void dcqcn__rate_falls_and_comes_back(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_ecn ecn;
	uint32_t low_kbps;

	conf.tclass = 106;
	conf.timeout = 18;
	ecn = sim_get_ecn(sim, SIM_A);
	ecn.dcqcn = 1;
	sim_set_ecn(sim, SIM_A, ecn);
	sim_pair(sim, &conf, &a, &b);
	sim_mark(sim, SIM_A);
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
static void dcqcn__ect(void **state)
{
	static const struct {
		uint32_t ect;
		uint8_t tclass;
		unsigned int marked;
	} rows[] = { { 0, 0, 0 }, { 1, 0, 3 }, { 1, 1, 0 }, { 1, 104, 3 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct roost_ecn ecn = sim_get_ecn(sim, SIM_A);
		struct sim_qp *a, *b;

		ecn.ect = rows[i].ect;
		sim_set_ecn(sim, SIM_A, ecn);
		conf.tclass = rows[i].tclass;
		sim_pair(sim, &conf, &a, &b);
		sim_mark(sim, SIM_A);
		sim_recv(b, LEN);
		sim_send(a, LEN);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(sim->link.nb_marked[SIM_A], rows[i].marked);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(dcqcn__cnps_slow_down),
	cmocka_unit_test(dcqcn__windows_need_no_rate),
	cmocka_unit_test(dcqcn__marked_writes_leave_reads_alone),
	cmocka_unit_test(dcqcn__disabling_ends_limits),
	cmocka_unit_test(dcqcn__held_responses),
	cmocka_unit_test(dcqcn__own_limit_is_for_requests),
	SIM_TEST_ONE_WORKER(dcqcn__rates_spread),
	cmocka_unit_test(dcqcn__silence_is_no_credit),
	cmocka_unit_test(dcqcn__rate_falls_and_comes_back),
	cmocka_unit_test(dcqcn__ect),
};

SIM_MAIN("sim/dcqcn", tests)
