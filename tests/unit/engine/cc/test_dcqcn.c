/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Traces worked out by hand from "Congestion Control for Large-Scale RDMA
 * Deployments" (Zhu et al., SIGCOMM 2015), section 3:
 *
 *   a CNP (1):       RT = RC; RC = RC (1 - alpha / 2); alpha = (1 - g) alpha +
 * g K without CNP:   alpha = (1 - g) alpha a stage of the timer or of the byte
 * counter ends (3, 4): F times:       RC = (RT + RC) / 2 then:          RT = RT
 * + RAI; RC = (RT + RC) / 2 both above F:  RT = RT + RHAI; RC = (RT + RC) / 2
 */

#include "lib/engine/cc/dcqcn.h"
#include "tests/cmocka.h"

#define US 1000ull
#define LINE_MBPS 40000u
#define G_KBPS 1000000.0

/* g = 1/4, alpha = 1/2 at first, K = T = 55 us, F = 5, RAI = 40 Mb/s, and one
 * reduction in 50 us; no byte counter.
 */
static const struct roost_ecn paper = {
	.clamp_tgt_rate = 1,
	.rpg_time_reset = 55,
	.rpg_threshold = 5,
	.rpg_ai_rate = 40,
	.rpg_hai_rate = 400,
	.rpg_gd = 11,
	.rpg_min_dec_fac = 1,
	.rpg_min_rate = 1,
	.dce_tcp_g = 768,
	.dce_tcp_rtt = 55,
	.rate_reduce_monitor_period = 50,
	.initial_alpha_value = 512,
};

/* RC and RT in Gb/s, to 2 kb/s. */
static void expect(const struct roost_dcqcn *rp, double rate, double target)
{
	assert_true(rp->rate_kbps > rate * G_KBPS - 2 &&
		    rp->rate_kbps < rate * G_KBPS + 2);
	assert_true(rp->target_kbps > target * G_KBPS - 2 &&
		    rp->target_kbps < target * G_KBPS + 2);
}

static void cnp(struct roost_dcqcn *rp, const struct roost_ecn *p, uint64_t us)
{
	roost_dcqcn_on_cnp(rp, p, LINE_MBPS, us * US);
}

static void sent(struct roost_dcqcn *rp, const struct roost_ecn *p,
		 uint32_t bytes, uint64_t us)
{
	roost_dcqcn_on_sent(rp, p, LINE_MBPS, bytes, us * US);
}

/* alpha: 0.5, 0.625, 0.71875; then seven K without a CNP: 0.71875 * 0.75^7 =
 * 0.0959415.
 */
static void dcqcn__trace_of_the_timer(void **state)
{
	struct roost_dcqcn rp = { 0 };

	roost_dcqcn_reset(&rp);
	assert_int_equal(rp.rate_kbps, 0);
	cnp(&rp, &paper, 1000);
	expect(&rp, 30, 40);
	/* Within the period of the last reduction. */
	cnp(&rp, &paper, 1020);
	expect(&rp, 30, 40);
	cnp(&rp, &paper, 1050);
	expect(&rp, 20.625, 30);
	/* Fast recovery. */
	sent(&rp, &paper, 0, 1104);
	expect(&rp, 20.625, 30);
	sent(&rp, &paper, 0, 1105);
	expect(&rp, 25.3125, 30);
	/* Two stages at once. */
	sent(&rp, &paper, 0, 1215);
	expect(&rp, 28.828125, 30);
	sent(&rp, &paper, 0, 1270);
	expect(&rp, 29.4140625, 30);
	sent(&rp, &paper, 0, 1325);
	expect(&rp, 29.70703125, 30);
	/* Additive increase. */
	sent(&rp, &paper, 0, 1380);
	expect(&rp, 29.873515625, 30.04);
	sent(&rp, &paper, 0, 1435);
	expect(&rp, 29.9767578125, 30.08);
	/* 29.9767578 * (1 - 0.0959415 / 2) */
	cnp(&rp, &paper, 1440);
	expect(&rp, 28.5387497, 29.9767578);
}

/* The byte counter has stages of its own, and restarts with the timer at a
 * CNP. F = 2, B = 1000 bytes.
 */
static void dcqcn__trace_of_the_byte_counter(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };

	p.rpg_threshold = 2;
	p.rpg_byte_reset = 1000;
	roost_dcqcn_reset(&rp);
	cnp(&rp, &p, 1000);
	sent(&rp, &p, 999, 1001);
	expect(&rp, 30, 40);
	sent(&rp, &p, 1, 1002);
	expect(&rp, 35, 40); /* bytes 1, timer 0 */
	sent(&rp, &p, 1000, 1003);
	expect(&rp, 37.5, 40); /* 2, 0 */
	cnp(&rp, &p, 1050);
	expect(&rp, 25.78125, 37.5); /* 37.5 * (1 - 0.625 / 2) */
	sent(&rp, &p, 1000, 1051);
	expect(&rp, 31.640625, 37.5); /* 1, 0 */
	sent(&rp, &p, 1000, 1052);
	expect(&rp, 34.5703125, 37.5); /* 2, 0 */
	sent(&rp, &p, 1000, 1053);
	expect(&rp, 36.05515625, 37.54); /* 3, 0: additive */
	sent(&rp, &p, 0, 1105);
	expect(&rp, 36.817578125, 37.58); /* 3, 1 */
	sent(&rp, &p, 0, 1160);
	expect(&rp, 37.2187890625, 37.62); /* 3, 2 */
	sent(&rp, &p, 0, 1215);
	expect(&rp, 37.61939453125, 38.02); /* 3, 3: both above F */
	sent(&rp, &p, 1000, 1216);
	expect(&rp, 38.019697265625, 38.42); /* 4, 3 */
}

/* Without clamp_tgt_rate, RT stays when RC has not grown since the last CNP, so
 * that several CNPs in a row do not forget the rate before them; after a stage
 * of the timer, clamp_tgt_rate_after_time_inc decides.
 */
static void dcqcn__target_is_clamped_as_asked(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };

	p.clamp_tgt_rate = 0;
	for (uint32_t after_time = 0; after_time < 2; after_time++) {
		p.clamp_tgt_rate_after_time_inc = after_time;
		roost_dcqcn_reset(&rp);
		cnp(&rp, &p, 1000);
		cnp(&rp, &p, 1050);
		expect(&rp, 20.625, 40);
		sent(&rp, &p, 0, 1105);
		expect(&rp, 30.3125, 40);
		/* alpha: 0.71875 * 0.75 */
		cnp(&rp, &p, 1106);
		expect(&rp, 22.1423340, after_time ? 30.3125 : 40);
	}
	/* A stage of the byte counter always does. */
	p.clamp_tgt_rate_after_time_inc = 0;
	p.rpg_byte_reset = 1000;
	roost_dcqcn_reset(&rp);
	cnp(&rp, &p, 1000);
	sent(&rp, &p, 1000, 1001);
	cnp(&rp, &p, 1050);
	expect(&rp, 24.0625, 35);
}

static void dcqcn__bounds_of_a_reduction(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };

	/* The whole alpha: RC (1 - 1023/1024), but no less than half. */
	p.rpg_gd = 10;
	p.initial_alpha_value = 1023;
	p.rpg_min_dec_fac = 50;
	roost_dcqcn_reset(&rp);
	cnp(&rp, &p, 1000);
	expect(&rp, 20, 40);
	cnp(&rp, &p, 1050);
	expect(&rp, 10, 20);
	p.rpg_min_rate = 9000;
	cnp(&rp, &p, 1100);
	expect(&rp, 9, 10);
	cnp(&rp, &p, 1150);
	expect(&rp, 9, 9);
}

static void dcqcn__rate_on_the_first_cnp(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };

	p.rate_to_set_on_first_cnp = 5000;
	roost_dcqcn_reset(&rp);
	cnp(&rp, &p, 1000);
	expect(&rp, 5, 5);
	/* alpha: 0.5 * 0.75 + 0.25 */
	cnp(&rp, &p, 1050);
	expect(&rp, 3.4375, 5);
}

/* At the port's speed, or at rpg_max_rate, the limit ends; the next CNP is a
 * first one.
 */
static void dcqcn__limit_ends(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };
	uint64_t us = 1000;

	p.rpg_max_rate = 20000;
	roost_dcqcn_reset(&rp);
	cnp(&rp, &p, us);
	expect(&rp, 15, 20);
	while (rp.rate_kbps != 0) {
		assert_true(us < 1000 + 55 * 60);
		us += 55;
		sent(&rp, &p, 0, us);
		assert_true(rp.rate_kbps <= 20000000);
	}
	cnp(&rp, &p, us + 1);
	expect(&rp, 15, 20);
}

/* A QP that was silent for long gets its rate back, a bounded number of stages
 * at each packet.
 */
static void dcqcn__silence(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };
	unsigned int n = 0;

	p.rpg_min_rate = 1;
	p.rpg_min_dec_fac = 1;
	p.rpg_gd = 10;
	p.initial_alpha_value = 1023;
	roost_dcqcn_reset(&rp);
	for (uint64_t us = 1000; us < 1000 + 50 * 20; us += 50)
		cnp(&rp, &p, us);
	expect(&rp, 0.001, 0.001);
	while (rp.rate_kbps != 0 && n < 1000) {
		sent(&rp, &p, 100, 10000000);
		n++;
	}
	/* 1000 stages of 40 Mb/s. */
	assert_in_range(n, 2, 100);
}

/* A port of unknown speed: 100 Gb/s. */
static void dcqcn__unknown_speed(void **state)
{
	struct roost_dcqcn rp = { 0 };

	roost_dcqcn_reset(&rp);
	roost_dcqcn_on_cnp(&rp, &paper, 0, 1000 * US);
	expect(&rp, 75, 100);
}

/* 64 QPs share a port: the rate of each is its share of it, not the port's. */
static void dcqcn__a_rate_above_what_is_sent(void **state)
{
	struct roost_ecn p = paper;
	struct roost_dcqcn rp = { 0 };
	uint64_t us = 1000;

	p.rpg_time_reset = 100000;
	cnp(&rp, &p, us);
	expect(&rp, 30, 40);
	/* 0.625 Gb/s, and a CNP behind each 15 packets. */
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 15; j++, us += 64)
			sent(&rp, &p, 5000, us);
		cnp(&rp, &p, us);
	}
	assert_in_range(rp.rate_kbps, 400000, 640000);
	/* Few packets say nothing of a rate. */
	for (int i = 0; i < 4; i++, us += 10000)
		sent(&rp, &p, 5000, us);
	cnp(&rp, &p, us);
	assert_in_range(rp.rate_kbps, 300000, 700000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dcqcn__trace_of_the_timer),
		cmocka_unit_test(dcqcn__trace_of_the_byte_counter),
		cmocka_unit_test(dcqcn__target_is_clamped_as_asked),
		cmocka_unit_test(dcqcn__bounds_of_a_reduction),
		cmocka_unit_test(dcqcn__rate_on_the_first_cnp),
		cmocka_unit_test(dcqcn__limit_ends),
		cmocka_unit_test(dcqcn__a_rate_above_what_is_sent),
		cmocka_unit_test(dcqcn__silence),
		cmocka_unit_test(dcqcn__unknown_speed),
	};

	return cmocka_run_group_tests_name("dcqcn", tests, NULL, NULL);
}
