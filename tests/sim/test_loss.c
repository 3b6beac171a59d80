/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Frames that never arrive. */

#include <rte_mbuf.h>

#include "lib/engine/core/dev_priv.h"
#include "tests/sim/sim.h"

#define MSG_PKTS 64u
#define MSG_BYTES (MSG_PKTS * 1024u)

/* What one message over an otherwise good link cost. */
struct cost {
	struct roost_dev_counters a, b;
	size_t data_pkts, ack_pkts;
	bool selective; /* what is lost is sent again alone */
};

/* The end holds what comes behind a gap. */
static bool holds(const struct sim *sim, int side)
{
	return sim->ends[side].dev->selective_repeat;
}

/* One message of 64 packets; frame drop_nth of side is lost. */
static struct cost send_losing(const struct sim_qp_conf *conf, int side,
			       int64_t drop_nth)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct cost cost;

	sim->link.faults[side].drop_nth = drop_nth;
	sim_pair(sim, conf, &a, &b);
	sim_recv(b, MSG_BYTES);
	sim_send(a, MSG_BYTES);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim->link.nb_lost[side], drop_nth >= 0 ? 1 : 0);
	cost = (struct cost){
		.a = *sim_counters(sim, SIM_A),
		.b = *sim_counters(sim, SIM_B),
		.data_pkts = sim->link.nb_log[SIM_A],
		.ack_pkts = sim->link.nb_log[SIM_B],
		.selective = holds(sim, SIM_A) && holds(sim, SIM_B),
	};
	sim_free(sim);
	return cost;
}

static void loss__none(void **state)
{
	struct cost cost = send_losing(NULL, SIM_A, -1);

	assert_int_equal(cost.data_pkts, MSG_PKTS);
	assert_int_equal(cost.a.retransmits, 0);
	assert_int_equal(cost.a.timeouts, 0);
	assert_int_equal(cost.b.naks_sent, 0);
	/* Coalesced: one for each eighth of the window, and for the end. */
	assert_in_range(cost.b.acks_sent, 1, 3);
	for (int i = 0; i < ROOST_DROP_COUNT; i++) {
		assert_int_equal(cost.a.drops[i], 0);
		assert_int_equal(cost.b.drops[i], 0);
	}
}

/* Nobody said so: the timeout did, or how long answers have taken so far. */
static uint64_t found_by_time(const struct cost *cost)
{
	return cost->a.timeouts + cost->a.adaptive_retransmits;
}

static void each_data_packet(const struct sim_qp_conf *conf)
{
	for (uint32_t k = 0; k < MSG_PKTS; k++) {
		struct cost cost = send_losing(conf, SIM_A, k);

		/* Until the first answer, A does not know what B can do. */
		if (cost.selective && cost.b.naks_sent == 0) {
			/* A probe at the end sends two. */
			assert_int_equal(cost.a.timeouts, 0);
			assert_in_range(cost.data_pkts, MSG_PKTS + 1,
					MSG_PKTS + 2);
			continue;
		}
		assert_true(!cost.selective || k < MSG_PKTS / 2);
		assert_int_equal(cost.a.retransmits, 1);
		assert_in_range(cost.data_pkts, MSG_PKTS + 1, 2 * MSG_PKTS);
		if (k < MSG_PKTS - 1) {
			/* What comes behind the gap gets one NAK. */
			assert_int_equal(found_by_time(&cost), 0);
			assert_int_equal(cost.b.naks_sent, 1);
		} else {
			assert_int_equal(found_by_time(&cost), 1);
			assert_int_equal(cost.b.naks_sent, 0);
		}
	}
}

static void loss__each_data_packet_once(void **state)
{
	each_data_packet(NULL);
}

static void loss__each_data_packet_once_around_psn_wrap(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.sq_psn = 0xfffff0;
	each_data_packet(&conf);
}

/* The last acknowledgement counts; one before it is made up for by it. */
static void each_ack(const struct sim_qp_conf *conf)
{
	size_t nb_acks = send_losing(conf, SIM_A, -1).ack_pkts;

	for (size_t k = 0; k < nb_acks; k++) {
		struct cost cost = send_losing(conf, SIM_B, (int64_t)k);
		bool last = k == nb_acks - 1;

		assert_int_equal(found_by_time(&cost), last);
		if (!cost.selective)
			assert_int_equal(cost.a.retransmits, last);
		assert_int_equal(cost.b.naks_sent, 0);
		if (last)
			assert_true(cost.b.drops[ROOST_DROP_DUPLICATE] > 0);
	}
}

static void loss__each_ack_once(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	each_ack(NULL);
	conf.sq_psn = 0xfffff0;
	each_ack(&conf);
}

/* The NAK that asks for a lost packet is lost too: the timeout helps. */
static void loss__nak(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	/* No packet before the gap asks for an ACK. */
	conf.sq_psn = 1;
	sim->link.faults[SIM_A].drop_nth = 10;
	sim->link.faults[SIM_B].drop_nth = 0;
	sim_pair(sim, &conf, &a, &b);
	sim_recv(b, MSG_BYTES);
	sim_send(a, MSG_BYTES);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim->link.log[SIM_B][0].syndrome, ROOST_NAK_PSN_SEQ);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 1);
	assert_int_equal(sim_counters(sim, SIM_B)->naks_sent, 1);
	assert_true((holds(sim, SIM_B)
			     ? sim_counters(sim, SIM_B)->held_pkts
			     : sim_counters(sim, SIM_B)
				       ->drops[ROOST_DROP_OUT_OF_ORDER]) > 0);
	sim_free(sim);
}

struct holes {
	const struct sim_qp *from;
	unsigned int nb_seen[2]; /* packets 10 and 100 */
};

/* Packet 10 is lost, and packet 100 when it is repeated because of that. */
static bool lose_two(struct sim *sim, int side, const struct roost_pkt *pkt,
		     void *arg)
{
	static const int32_t at[2] = { 10, 100 };
	struct holes *h = arg;
	int32_t number;

	(void)sim;
	if (side != SIM_A)
		return true;
	number = roost_psn_diff(pkt->psn, roost_psn(h->from->sq_psn));
	for (unsigned int i = 0; i < 2; i++)
		if (number == at[i] && h->nb_seen[i]++ == i)
			return false;
	return true;
}

/* Each gap gets its NAK: the second is not waited for. Who holds packet 100
 * does not need it again, and who repeats selectively does not send it again.
 */
static void loss__two_gaps(void **state)
{
	struct sim *sim = sim_new();
	bool both = holds(sim, SIM_A) && holds(sim, SIM_B);
	uint64_t nb_naks = holds(sim, SIM_B) ? 1 : 2;
	struct holes holes = { 0 };
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	holes.from = a;
	sim->link.filter = lose_two;
	sim->link.filter_arg = &holes;
	sim_recv(b, 200 * 1024);
	sim_send(a, 200 * 1024);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_in_range(sim->link.nb_lost[SIM_A], both ? 1 : 2, 2);
	assert_in_range(sim_counters(sim, SIM_B)->naks_sent, both ? 0 : nb_naks,
			nb_naks);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

static void lossy(const struct sim_qp_conf *conf, uint32_t drop_ppm)
{
	struct sim *sim = sim_new();
	struct sim_faults faults = {
		.drop_ppm = drop_ppm,
		.drop_nth = -1,
		.delay_ns = 2 * SIM_US,
	};
	struct sim_qp *a, *b;

	sim_set_faults(sim, &faults);
	sim_pair(sim, conf, &a, &b);
	for (int i = 0; i < 64; i++) {
		uint32_t len = (uint32_t)sim_random_below(&sim->rng, 20000);

		sim_recv(b, len + (uint32_t)sim_random_below(&sim->rng, 100));
		sim_recv(a, len);
		sim_send(a, len);
		sim_send(b, len);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_true(sim->link.nb_lost[SIM_A] > 0);
	assert_true(sim->link.nb_lost[SIM_B] > 0);
	assert_true(sim_counters(sim, SIM_A)->retransmits +
			    sim_counters(sim, SIM_A)->resent_pkts >
		    0);
	sim_free(sim);
}

static void loss__ten_percent_both_ways(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	lossy(NULL, 100000);
	conf.sq_psn = 0xfffff0;
	lossy(&conf, 100000);
}

/* No carrier for a while, but for less than all retries take. */
static void loss__carrier_comes_back(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv(b, MSG_BYTES);
	sim_recv(a, 100);
	sim_send(a, MSG_BYTES);
	sim_send(b, 100);
	sim->link.faults[SIM_A].carrier_off = true;
	sim->link.faults[SIM_B].carrier_off = true;
	sim_run_for(sim, 5 * SIM_MS);
	sim_expect_send_open(a, 0);
	sim->link.faults[SIM_A].carrier_off = false;
	sim->link.faults[SIM_B].carrier_off = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* No mbuf to answer with: the answer stays owed. */
static void loss__no_mbuf_for_the_ack(void **state)
{
	static struct rte_mbuf *taken[32768];
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	unsigned int n = 0;

	conf.timeout = 20;
	sim_pair(sim, &conf, &a, &b);
	while (n < 32768 &&
	       (taken[n] = rte_pktmbuf_alloc(sim->ends[SIM_B].pool)) != NULL)
		n++;
	sim_recv(b, 10);
	sim_send(a, 10);
	sim_run_for(sim, 100 * SIM_US);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	sim_expect_send_open(a, 0);
	assert_true(sim_is_busy(&sim->ends[SIM_B]));
	assert_true(sim_counters(sim, SIM_B)->drops[ROOST_DROP_NO_BUFFER] > 0);
	rte_pktmbuf_free_bulk(taken, n);
	sim_run_for(sim, 100 * SIM_US);
	sim_expect_all_good(a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(loss__none),
	cmocka_unit_test(loss__each_data_packet_once),
	cmocka_unit_test(loss__each_data_packet_once_around_psn_wrap),
	cmocka_unit_test(loss__each_ack_once),
	cmocka_unit_test(loss__nak),
	cmocka_unit_test(loss__two_gaps),
	cmocka_unit_test(loss__ten_percent_both_ways),
	cmocka_unit_test(loss__carrier_comes_back),
	cmocka_unit_test(loss__no_mbuf_for_the_ack),
};

SIM_MAIN("sim-loss", tests)
