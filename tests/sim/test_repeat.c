/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Selective repeat: what is lost is sent again alone, what came early waits. */

#include <string.h>

#include "lib/engine/core/hold.h"
#include "lib/engine/core/qp_priv.h"
#include "tests/sim/sim.h"

#define MTU_BYTES 1024u
#define MSG_PKTS 64u
#define MSG_BYTES (MSG_PKTS * MTU_BYTES)

static const struct sim_msg write_msg = {
	.opcode = ROOST_WR_WRITE,
	.flags = ROOST_SEND_SIGNALED,
	.nb_sges = 1,
	.sge_len_bytes = { MSG_BYTES },
};

/* Two QPs, of which A knows what B can do. */
static struct sim *open_pair(bool at_a, bool at_b, struct sim_qp **a,
			     struct sim_qp **b)
{
	struct sim *sim;

	sim_set_selective(at_a, at_b);
	sim = sim_new();
	sim_pair(sim, NULL, a, b);
	sim_recv(*b, 8);
	sim_send(*a, 8);
	sim_run(sim);
	return sim;
}

/* ---- one loss --------------------------------------------------------- */

/* Loses packets of A from lose_psn on, nb_lost of them. */
struct loser {
	uint32_t lose_psn;
	unsigned int nb_lost;
	bool lost_all; /* for ever */
	size_t nb_reports;
	bool reports_too;
};

static bool lose(struct sim *sim, int side, const struct roost_pkt *pkt,
		 void *arg)
{
	struct loser *l = arg;

	(void)sim;
	if (pkt->opcode == ROOST_OPCODE_REPORT) {
		l->nb_reports++;
		return !l->reports_too;
	}
	if (side != SIM_A || pkt->psn.v != l->lose_psn ||
	    (l->nb_lost == 0 && !l->lost_all))
		return true;
	l->nb_lost -= !l->lost_all;
	return false;
}

/* The packet with that number of a WRITE is lost, times over. */
static void one_lost(uint32_t i, unsigned int times)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1 + i).v,
		.nb_lost = times,
	};
	const struct roost_dev_counters *c;

	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	sim_send_msg(a, &write_msg);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(loser.nb_lost, 0);
	c = sim_counters(sim, SIM_A);
	assert_int_equal(c->retransmits + c->timeouts, 0);
	/* At the end of the message a probe finds it: one packet, or two. */
	assert_in_range(c->resent_pkts, times, 2 * times + 1);
	if (i + 4 < MSG_PKTS && times == 1) {
		assert_int_equal(c->resent_pkts, 1);
		assert_int_equal(c->adaptive_retransmits, 0);
		assert_int_equal(sim_counters(sim, SIM_B)->held_pkts,
				 MSG_PKTS - 1 - i);
		assert_int_equal(sim_counters(sim, SIM_B)->naks_sent, 0);
	}
	assert_null(a->qp->score);
	assert_null(b->qp->shelf);
	assert_int_equal(a->qp->req.spared_pkts, 0);
	sim_free(sim);
}

static void repeat__each_packet_alone(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MSG_PKTS; i++)
		one_lost(i, 1);
}

static void repeat__lost_once_more(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MSG_PKTS; i += 9)
		one_lost(i, 2);
}

/* A path that eats one packet: the QP ends, in its time. */
static void repeat__lost_for_ever(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1 + 5).v,
		.lost_all = true,
	};
	uint64_t begin_ns = sim->now_ns, timeout_ns;

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	sim_send_msg(a, &write_msg);
	sim_run(sim);
	sim_expect_send(a, 1, ROOST_WC_RETRY_EXC_ERR);
	timeout_ns = 4096ull << a->conf.timeout;
	assert_in_range(sim->now_ns - begin_ns, timeout_ns,
			timeout_ns * (a->conf.retry_cnt + 3u));
	sim_free(sim);
}

/* All reports are lost: probes and timeouts go on. */
static void repeat__no_reports(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1 + 5).v,
		.nb_lost = 1,
		.reports_too = true,
	};

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	sim_send_msg(a, &write_msg);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_true(loser.nb_reports > 0);
	sim_free(sim);
}

/* ---- what is visible -------------------------------------------------- */

/* Of a WRITE behind a gap no byte stands in memory before the gap is closed. */
static void repeat__nothing_is_early(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1 + 5).v,
		.lost_all = true,
	};
	const struct sim_slice *at;
	uint32_t i;

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	i = sim_send_msg(a, &write_msg);
	at = &a->sends.wr[i].remote;
	memset(at->data, 0xa5, MSG_BYTES);
	sim_run_for(sim, 500 * SIM_US);
	assert_true(loser.nb_reports > 0);
	assert_true(b->qp->resp.holds);
	assert_memory_not_equal(at->data + 4 * MTU_BYTES,
				at->data + 5 * MTU_BYTES, MTU_BYTES);
	for (uint32_t k = 5 * MTU_BYTES; k < MSG_BYTES; k++)
		assert_int_equal(at->data[k], 0xa5);
	loser.lost_all = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* A SEND that came early finds no receive: the QP waits as it always does. */
static void repeat__receiver_not_ready(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1).v,
		.nb_lost = 1,
	};

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	sim_send_msg(a, &write_msg);
	for (unsigned int i = 0; i < 8; i++)
		sim_send(a, 100);
	sim_recv(b, 100);
	sim_run_for(sim, 200 * SIM_US);
	assert_true(sim_counters(sim, SIM_B)->rnr_naks_sent > 0);
	assert_false(b->qp->resp.holds);
	for (unsigned int i = 1; i < 8; i++)
		sim_recv(b, 100);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- numbers ---------------------------------------------------------- */

static struct sim *open_narrow(int64_t sq_psn, struct sim_qp **a,
			       struct sim_qp **b)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim;

	conf.mtu = ROOST_MTU_256;
	conf.sq_psn = sq_psn;
	sim_set_selective(true, true);
	sim = sim_new();
	sim_pair(sim, &conf, a, b);
	sim_recv(*b, 8);
	sim_send(*a, 8);
	sim_run(sim);
	return sim;
}

/* A gap on either side of the PSN's wrap, and at it. */
static void repeat__psn_wraps(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MSG_PKTS; i += 3) {
		struct sim_qp *a, *b;
		struct sim *sim = open_narrow(0xffffff - MSG_PKTS / 2, &a, &b);
		struct loser loser = {
			.lose_psn = roost_psn(a->sq_psn + 1 + i).v,
			.nb_lost = 1,
		};
		struct sim_msg msg = write_msg;

		sim->link.filter = lose;
		sim->link.filter_arg = &loser;
		msg.sge_len_bytes[0] = MSG_PKTS * 256;
		sim_send_msg(a, &msg);
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(loser.nb_lost, 0);
		assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
		sim_free(sim);
	}
}

/* Of a QP so much is sent and held while the first packet is missing, and not
 * more; all of it is used then.
 */
static void repeat__no_more_than_a_span(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_narrow(-1, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1).v,
		.lost_all = true,
	};
	struct sim_msg msg = write_msg;

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	msg.sge_len_bytes[0] = 3 * ROOST_SPAN_PKTS * 256;
	sim_send_msg(a, &msg);
	sim_run_for(sim, 1000 * SIM_US);
	assert_non_null(b->qp->shelf);
	assert_in_range(b->qp->shelf->nb_held, 1, ROOST_SPAN_PKTS - 1);
	assert_in_range(roost_psn_diff(a->qp->req.end_psn,
				       a->qp->req.oldest_unacked_psn),
			1, ROOST_SPAN_PKTS);
	loser.lost_all = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* RESET of either end ends it, whatever is held. */
static void repeat__reset_forgets(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1 + 5).v,
		.lost_all = true,
	};

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	sim_send_msg(a, &write_msg);
	sim_run_for(sim, 100 * SIM_US);
	assert_non_null(a->qp->score);
	assert_non_null(b->qp->shelf);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	assert_null(a->qp->score);
	assert_int_equal(a->qp->req.spared_pkts, 0);
	assert_null(b->qp->shelf);
	assert_false(b->qp->resp.holds);
	sim_free(sim);
}

/* ---- any loss --------------------------------------------------------- */

static void post_some(struct sim_qp *a, struct sim_qp *b, unsigned int n)
{
	static const uint8_t opcodes[] = { ROOST_WR_WRITE, ROOST_WR_SEND,
					   ROOST_WR_FETCH_ADD, ROOST_WR_READ,
					   ROOST_WR_WRITE_IMM };
	struct sim_rng *rng = &a->sim->rng;

	for (unsigned int i = 0; i < n; i++) {
		struct sim_msg msg = write_msg;

		msg.opcode = opcodes[sim_random_below(rng, sizeof(opcodes))];
		msg.sge_len_bytes[0] =
			1 + (uint32_t)sim_random_below(rng, 20000);
		if (msg.opcode == ROOST_WR_FETCH_ADD) {
			msg.sge_len_bytes[0] = 8;
			msg.swap_add = 1 + sim_random_below(rng, 100);
		}
		if (msg.opcode == ROOST_WR_SEND ||
		    msg.opcode == ROOST_WR_WRITE_IMM)
			sim_recv(b, msg.sge_len_bytes[0]);
		sim_send_msg(a, &msg);
	}
}

static void talk(bool at_a, bool at_b, const struct sim_faults *faults)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(at_a, at_b, &a, &b);
	bool both = at_a && at_b;

	sim_set_faults(sim, faults);
	for (unsigned int round = 0; round < 8; round++) {
		post_some(a, b, 16);
		post_some(b, a, 16);
		sim_run(sim);
	}
	sim_expect_all_good(a, b);
	sim_check_counter(a);
	sim_check_counter(b);
	sim_check_guards(a);
	sim_check_guards(b);
	assert_int_equal(a->qp->req.selective == ROOST_SELECTIVE_ON, both);
	assert_int_equal(sim_counters(sim, SIM_B)->reports_sent != 0, both);
	/* Responses are asked for again alone, whatever the peer is. */
	assert_int_equal(sim_counters(sim, SIM_A)->resent_pkts != 0, at_a);
	assert_int_equal(sim_counters(sim, SIM_B)->held_pkts != 0, at_b);
	sim_free(sim);
}

static const struct sim_faults lossy = {
	.drop_ppm = 30000,
	.dup_ppm = 20000,
	.reorder_pkts = 4,
	.delay_ns = 3 * SIM_US,
	.drop_nth = -1,
};

static void repeat__all_kinds_of_requests(void **state)
{
	(void)state;
	talk(true, true, &lossy);
}

static void repeat__with_one_that_goes_back(void **state)
{
	(void)state;
	talk(true, false, &lossy);
	talk(false, true, &lossy);
}

/* ---- reordering ------------------------------------------------------- */

/* Packets that are late only: the threshold grows, and they are not sent again
 * any more.
 */
static void repeat__late_is_not_lost(void **state)
{
	const struct sim_faults faults = {
		.reorder_pkts = 12,
		.delay_ns = 20 * SIM_US,
		.drop_nth = -1,
	};
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	uint64_t resent;

	(void)state;
	sim_set_faults(sim, &faults);
	for (unsigned int i = 0; i < 8; i++) {
		for (unsigned int k = 0; k < 8; k++)
			sim_send_msg(a, &write_msg);
		sim_run(sim);
	}
	assert_true(sim_counters(sim, SIM_A)->spurious_pkts > 0);
	assert_in_range(a->qp->reorder_pkts, 4, 128);
	resent = sim_counters(sim, SIM_A)->resent_pkts;
	for (unsigned int k = 0; k < 8; k++)
		sim_send_msg(a, &write_msg);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_in_range(sim_counters(sim, SIM_A)->resent_pkts - resent, 0, 26);
	sim_free(sim);
}

/* ---- negotiation ------------------------------------------------------ */

struct seen {
	unsigned int nb_bits[2];
};

static bool look(struct sim *sim, int side, const struct roost_pkt *pkt,
		 void *arg)
{
	struct seen *seen = arg;

	(void)sim;
	seen->nb_bits[side] += pkt->selective;
	return true;
}

static void repeat__is_offered_until_the_first_answer(void **state)
{
	static const bool ends[][2] = { { true, true },
					{ true, false },
					{ false, true },
					{ false, false } };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct seen seen = { 0 };
		struct sim_qp *a, *b;
		struct sim *sim;

		sim_set_selective(ends[i][0], ends[i][1]);
		sim = sim_new();
		sim->link.filter = look;
		sim->link.filter_arg = &seen;
		sim_pair(sim, NULL, &a, &b);
		for (unsigned int k = 0; k < 4; k++) {
			sim_recv(b, 8);
			sim_send(a, 8);
			sim_run(sim);
		}
		assert_int_equal(seen.nb_bits[SIM_A], ends[i][0]);
		assert_int_equal(seen.nb_bits[SIM_B],
				 ends[i][0] && ends[i][1] ? 4 : 0);
		assert_int_equal(a->qp->req.selective,
				 ends[i][0] && ends[i][1]
					 ? ROOST_SELECTIVE_ON
					 : ROOST_SELECTIVE_OFF);
		/* RESET ends it. */
		assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
		assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
		assert_int_equal(a->qp->req.selective,
				 ends[i][0] ? ROOST_SELECTIVE_OFFERED
					    : ROOST_SELECTIVE_OFF);
		assert_false(b->qp->resp.selective);
		sim_free(sim);
	}
}

/* ---- lies ------------------------------------------------------------- */

static void forge_report(struct sim_qp *qp, uint32_t psn, const void *bits,
			 size_t len)
{
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_REPORT,
		.migreq = true,
		.selective = true,
		.pkey = 0xffff,
		.dest_qpn = qp->qpn,
		.psn = roost_psn(psn),
	};

	sim_forge(qp, &bth, bits, len);
}

/* A report that cannot be true is dropped. One that could be, and is not,
 * completes nothing: the request is done when all of it has arrived.
 */
static void repeat__forged_reports(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(true, true, &a, &b);
	struct loser loser = {
		.lose_psn = roost_psn(a->sq_psn + 1).v,
		.lost_all = true,
	};
	const uint32_t first = a->sq_psn + 1;
	const uint64_t *drops = sim_counters(sim, SIM_A)->drops;
	uint64_t before = drops[ROOST_DROP_UNEXPECTED_RESPONSE];
	uint8_t bits[136];

	(void)state;
	sim->link.filter = lose;
	sim->link.filter_arg = &loser;
	sim_send_msg(a, &write_msg);
	sim_run_for(sim, 20 * SIM_US);
	memset(bits, 0xff, sizeof(bits));
	/* Before and behind what is in flight; more than was sent; too long,
	 * empty, no words, no bit at its end.
	 */
	forge_report(a, first - 1, bits, 4);
	forge_report(a, first + MSG_PKTS, bits, 4);
	forge_report(a, first + MSG_PKTS - 32, bits, 4);
	forge_report(a, first, bits, 132);
	forge_report(a, first, bits, 0);
	forge_report(a, first, bits, 3);
	memset(bits + 4, 0, 4);
	forge_report(a, first, bits, 8);
	sim_run_for(sim, 5 * SIM_US);
	drops = sim_counters(sim, SIM_A)->drops;
	assert_int_equal(drops[ROOST_DROP_UNEXPECTED_RESPONSE] - before, 7);
	/* All but the last one, it says. */
	memset(bits, 0xff, sizeof(bits));
	bits[7] = 0x3f;
	forge_report(a, first, bits, 8);
	forge_report(a, first + MSG_PKTS - 2, "\1\0\0", 4);
	sim_run_for(sim, 5 * SIM_US);
	sim_expect_send_open(a, 1);
	loser.lost_all = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Who did not offer it takes no report. */
static void repeat__reports_to_one_that_goes_back(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = open_pair(false, true, &a, &b);

	(void)state;
	sim->link.faults[SIM_A].carrier_off = true;
	sim_send_msg(a, &write_msg);
	sim_run_for(sim, 10 * SIM_US);
	forge_report(a, a->sq_psn + 1, "\xff\0\0\1", 4);
	sim_run_for(sim, 5 * SIM_US);
	assert_int_equal(
		sim_counters(sim, SIM_A)->drops[ROOST_DROP_UNEXPECTED_RESPONSE],
		1);
	assert_null(a->qp->score);
	sim->link.faults[SIM_A].carrier_off = false;
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(repeat__each_packet_alone),
	cmocka_unit_test(repeat__lost_once_more),
	cmocka_unit_test(repeat__lost_for_ever),
	cmocka_unit_test(repeat__no_reports),
	cmocka_unit_test(repeat__nothing_is_early),
	cmocka_unit_test(repeat__receiver_not_ready),
	cmocka_unit_test(repeat__psn_wraps),
	cmocka_unit_test(repeat__no_more_than_a_span),
	cmocka_unit_test(repeat__reset_forgets),
	cmocka_unit_test(repeat__all_kinds_of_requests),
	cmocka_unit_test(repeat__with_one_that_goes_back),
	cmocka_unit_test(repeat__late_is_not_lost),
	cmocka_unit_test(repeat__is_offered_until_the_first_answer),
	cmocka_unit_test(repeat__forged_reports),
	cmocka_unit_test(repeat__reports_to_one_that_goes_back),
};

SIM_MAIN("sim-repeat", tests)
