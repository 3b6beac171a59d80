/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What many QPs have in flight to one peer together. */

#include "lib/engine/cc/cc.h"
#include "lib/engine/core/share.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/transport/share_priv.h"
#include "tests/sim/common.h"
#include "tests/sim/ecn.h"
#include "tests/sim/migrate.h"

#define NB 40u
#define FIRST_PKTS 256u
#define MTU 1024u

struct crowd {
	struct sim *sim;
	struct sim_qp *a[NB], *b[NB];
};

static void begin(struct crowd *crowd, uint8_t tclass)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.first_window = true;
	conf.mtu = ROOST_MTU_1024;
	conf.tclass = tclass;
	conf.max_send_wr = 32;
	conf.max_recv_wr = 32;
	crowd->sim = sim_new();
	for (unsigned int i = 0; i < NB; i++)
		sim_pair(crowd->sim, &conf, &crowd->a[i], &crowd->b[i]);
}

static void post(struct crowd *crowd, unsigned int i, uint32_t pkts)
{
	sim_recv(crowd->b[i], pkts * MTU);
	sim_send(crowd->a[i], pkts * MTU);
}

static void post_all(struct crowd *crowd, uint32_t pkts)
{
	for (unsigned int i = 0; i < NB; i++)
		post(crowd, i, pkts);
}

static void expect_good(struct crowd *crowd, unsigned int from)
{
	for (unsigned int i = from; i < NB; i++)
		sim_expect_all_good(crowd->a[i], crowd->b[i]);
}

static struct roost_share_member *member_of(struct crowd *crowd, unsigned int i)
{
	return &crowd->a[i]->qp->shares[ROOST_SHARE_SENDS];
}

static struct roost_share *share_of(struct crowd *crowd)
{
	return member_of(crowd, NB - 1)->share;
}

/* What the QPs count is what the share counts, and nobody waits for nothing. */
static void expect_counted(struct crowd *crowd)
{
	const struct roost_share *share = share_of(crowd);
	uint32_t pkts = 0;

	for (unsigned int i = 0; i < NB; i++)
		if (crowd->a[i] && member_of(crowd, i)->share == share &&
		    share->round - member_of(crowd, i)->round <= 1)
			pkts += member_of(crowd, i)->pkts;
	assert_int_equal(share->flight_pkts, pkts);
}

static void expect_none_left(struct crowd *crowd)
{
	expect_counted(crowd);
	assert_int_equal(share_of(crowd)->flight_pkts, 0);
	assert_true(TAILQ_EMPTY(&share_of(crowd)->waiting));
	assert_null(share_of(crowd)->turn);
}

/* As after losses. */
static void set_window(struct roost_cwnd *cwnd, uint16_t pkts)
{
	cwnd->pkts = pkts;
	cwnd->ssthresh_pkts = pkts;
}

/* ---- room -------------------------------------------------------------- */

/* 40 windows of 16 packets are more than a queue should get at once. */
static void share__begins_with_256(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	post_all(&crowd, 16);
	sim_turn(crowd.sim);
	assert_int_equal(crowd.sim->link.nb_log[SIM_A], FIRST_PKTS);
	expect_counted(&crowd);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_assert_clean(crowd.sim);
	sim_free(crowd.sim);
}

/* A few QPs have their own windows alone. */
static void share__is_of_many(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	for (unsigned int i = 8; i < NB; i++) {
		sim_qp_destroy(crowd.a[i]);
		sim_qp_destroy(crowd.b[i]);
	}
	member_of(&crowd, 0)->share->cwnd.pkts = 1;
	for (unsigned int i = 0; i < 8; i++)
		post(&crowd, i, 16);
	sim_turn(crowd.sim);
	assert_int_equal(crowd.sim->link.nb_log[SIM_A], 8 * 16);
	sim_run(crowd.sim);
	for (unsigned int i = 0; i < 8; i++)
		sim_expect_all_good(crowd.a[i], crowd.b[i]);
	sim_free(crowd.sim);
}

/* Each has its turn before one has its second. */
static void share__turns_go_round(void **state)
{
	struct crowd crowd;
	uint32_t low = UINT32_MAX, high = 0;

	begin(&crowd, 0);
	set_window(&share_of(&crowd)->cwnd, 8);
	post_all(&crowd, 64);
	for (unsigned int i = 0; i < NB; i++)
		set_window(&crowd.a[i]->qp->req.cwnd, 1);
	while (crowd.sim->link.nb_log[SIM_A] < (size_t)NB * 8)
		sim_run_for(crowd.sim, SIM_US);
	for (unsigned int i = 0; i < NB; i++) {
		uint32_t sent =
			(uint32_t)roost_psn_diff(crowd.a[i]->qp->req.end_psn,
						 roost_psn(crowd.a[i]->sq_psn));

		low = sent < low ? sent : low;
		high = sent > high ? sent : high;
	}
	assert_in_range(high - low, 0, 2);
	expect_counted(&crowd);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* The answer to a long READ is no reason for others to wait. */
static void share__long_reads_leave_room(void **state)
{
	const struct sim_msg read = { .opcode = ROOST_WR_READ,
				      .nb_sges = 1,
				      .sge_len_bytes = { 1000 * MTU } };
	struct crowd crowd;

	begin(&crowd, 0);
	for (unsigned int i = 0; i < 4; i++)
		sim_send_msg(crowd.a[i], &read);
	sim_turn(crowd.sim);
	assert_true(share_of(&crowd)->flight_pkts <= 4 * 16);
	for (unsigned int i = 4; i < NB; i++)
		post(&crowd, i, 1);
	sim_turn(crowd.sim);
	assert_true(TAILQ_EMPTY(&share_of(&crowd)->waiting));
	sim_run(crowd.sim);
	for (unsigned int i = 0; i < NB; i++)
		sim_expect_all_good(crowd.a[i], crowd.b[i]);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* ---- QPs that go ------------------------------------------------------- */

enum way {
	WAY_ERR,
	WAY_RESET,
	WAY_DESTROY,
	NB_WAYS,
};

static void go(struct crowd *crowd, unsigned int i, enum way way)
{
	if (way == WAY_ERR) {
		assert_int_equal(sim_qp_to(crowd->a[i], ROOST_QPS_ERR), 0);
	} else if (way == WAY_RESET) {
		assert_int_equal(sim_qp_to(crowd->a[i], ROOST_QPS_RESET), 0);
	} else {
		sim_qp_destroy(crowd->a[i]);
		crowd->a[i] = NULL;
	}
}

/* Some are in flight, some wait, and one has the turn. The others go on. */
static void share__who_goes_leaves_its_room(void **state)
{
	for (enum way way = 0; way < NB_WAYS; way++) {
		struct crowd crowd;

		begin(&crowd, 0);
		post_all(&crowd, 20);
		sim_turn(crowd.sim);
		for (unsigned int i = 0; i < NB - 10; i++)
			go(&crowd, i, way);
		expect_counted(&crowd);
		sim_run(crowd.sim);
		expect_good(&crowd, NB - 10);
		expect_none_left(&crowd);
		sim_free(crowd.sim);
	}
}

/* Those that are left are too few for a share: they wait no longer. */
static void share__few_wait_for_nothing(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	post_all(&crowd, 20);
	sim_turn(crowd.sim);
	for (unsigned int i = 0; i < NB - 3; i++)
		go(&crowd, i, WAY_DESTROY);
	sim_run(crowd.sim);
	expect_good(&crowd, NB - 3);
	sim_free(crowd.sim);
}

/* It drains, waits within a message, and gets its address again. */
static void share__new_address_while_it_drains(void **state)
{
	struct crowd crowd;
	struct roost_qp_attr attr;
	struct sim_qp *a;

	begin(&crowd, 0);
	a = crowd.a[NB - 1];
	set_window(&share_of(&crowd)->cwnd, 1);
	for (unsigned int i = 0; i < NB; i++)
		set_window(&crowd.a[i]->qp->req.cwnd, 1);
	post_all(&crowd, 20);
	while (!a->qp->waits_for || roost_req_has_unacked(a->qp) ||
	       a->qp->req.send_index == a->qp->req.started_index)
		sim_run_for(crowd.sim, SIM_US);
	attr = (struct roost_qp_attr){ .state = ROOST_QPS_SQD,
				       .en_sqd_async_notify = true };
	assert_int_equal(roost_qp_modify(a->qp, &attr,
					 ROOST_QP_STATE |
						 ROOST_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	attr = migrate_query(a);
	assert_int_equal(roost_qp_modify(a->qp, &attr, ROOST_QP_AV), 0);
	sim_run_for(crowd.sim, SIM_S);
	assert_int_equal(a->async[ROOST_EVENT_SQ_DRAINED], 1);
	sim_free(crowd.sim);
}

/* What was in flight when there were nine is not in flight for ever. */
static void share__few_and_many_again(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	for (unsigned int i = 9; i < NB; i++) {
		go(&crowd, i, WAY_RESET);
		crowd.a[i]->qp->req.cwnd.pkts = 0;
	}
	for (unsigned int i = 0; i < 9; i++)
		post(&crowd, i, 16);
	sim_turn(crowd.sim);
	go(&crowd, 8, WAY_RESET);
	sim_run(crowd.sim);
	assert_int_equal(member_of(&crowd, 0)->share->flight_pkts, 0);
	sim_free(crowd.sim);
}

static bool no_answers(struct sim *sim, int side, const struct roost_pkt *pkt,
		       void *arg)
{
	const struct crowd *crowd = arg;

	if (side == SIM_B)
		return true;
	for (unsigned int i = 0; i < NB / 2; i++)
		if (pkt->dest_qpn == crowd->b[i]->qpn)
			return false;
	return true;
}

/* Half of the QPs have peers that say nothing. Long before these time out, the
 * others have all the room.
 */
static void share__silence_takes_no_room(void **state)
{
	struct crowd crowd;
	uint64_t begin_ns;

	begin(&crowd, 0);
	crowd.sim->link.filter = no_answers;
	crowd.sim->link.filter_arg = &crowd;
	for (unsigned int i = 0; i < NB / 2; i++)
		post(&crowd, i, 16);
	sim_turn(crowd.sim);
	begin_ns = crowd.sim->now_ns;
	for (unsigned int i = NB / 2; i < NB; i++)
		post(&crowd, i, 64);
	sim_run_for(crowd.sim, 30 * SIM_MS);
	for (unsigned int i = NB / 2; i < NB; i++)
		sim_expect_all_good(crowd.a[i], crowd.b[i]);
	assert_true(crowd.sim->now_ns - begin_ns < 60 * SIM_MS);
	expect_counted(&crowd);
	sim_run(crowd.sim);
	for (unsigned int i = 0; i < NB / 2; i++)
		sim_expect_send(crowd.a[i], 0, ROOST_WC_RETRY_EXC_ERR);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* ---- windows ----------------------------------------------------------- */

/* Marks of many QPs in one round trip take a quarter of the common window. */
static void share__marks_reduce_it_once(void **state)
{
	struct crowd crowd;
	uint32_t before;

	begin(&crowd, ROOST_ECN_ECT0);
	post_all(&crowd, 30);
	sim_turn(crowd.sim);
	before = share_of(&crowd)->cwnd.pkts;
	assert_int_equal(before, FIRST_PKTS);
	for (unsigned int i = 0; i < NB; i++) {
		struct roost_flow flow = sim_flow_to(crowd.a[i]);

		sim_forge_cnp(crowd.a[i], &flow, 0xffff);
	}
	assert_in_range(share_of(&crowd)->cwnd.pkts, before / 2,
			before * 3 / 4 + NB);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* A window that nobody waits for becomes what is in flight, and is reduced,
 * once for what was in flight then, though less is later.
 */
static void share__used_window_is_reduced_once(void **state)
{
	static void (*const hear[])(struct roost_qp * qp,
				    enum roost_share_kind kind) = {
		roost_window_lost,
		roost_window_marked,
	};

	for (size_t k = 0; k < sizeof(hear) / sizeof(hear[0]); k++) {
		struct crowd crowd;
		uint32_t once;

		begin(&crowd, 0);
		for (unsigned int i = 0; i < NB; i++)
			set_window(&crowd.a[i]->qp->req.cwnd, 1);
		post_all(&crowd, 1);
		sim_turn(crowd.sim);
		assert_int_equal(share_of(&crowd)->flight_pkts, NB);
		hear[k](crowd.a[NB - 1]->qp, ROOST_SHARE_SENDS);
		once = share_of(&crowd)->cwnd.pkts;
		assert_in_range(once, NB / 2, NB - 1);
		for (unsigned int i = 0; i < NB - 16; i++)
			sim_qp_destroy(crowd.a[i]);
		assert_int_equal(share_of(&crowd)->flight_pkts, 16);
		hear[k](crowd.a[NB - 2]->qp, ROOST_SHARE_SENDS);
		assert_int_equal(share_of(&crowd)->cwnd.pkts, once);
		sim_run(crowd.sim);
		sim_free(crowd.sim);
	}
}

/* A program over there that answers slowly is not the path. */
static void share__one_slow_peer(void **state)
{
	struct crowd crowd;
	struct roost_requester *req;
	uint32_t before;

	begin(&crowd, 0);
	for (int k = 0; k < 20; k++) {
		post_all(&crowd, 1);
		sim_run(crowd.sim);
	}
	req = &crowd.a[0]->qp->req;
	before = share_of(&crowd)->srtt_ns;
	req->srtt_ns = 20 * SIM_MS;
	post(&crowd, 0, 1);
	sim_run(crowd.sim);
	assert_true(share_of(&crowd)->srtt_ns <= 2 * before);
	sim_free(crowd.sim);
}

/* A probe leaves a window of one packet, which comes back while others wait. */
static void share__probed_windows_come_back(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	set_window(&share_of(&crowd)->cwnd, 64);
	roost_cc_loss.on_probe(&crowd.a[0]->qp->req.cwnd);
	assert_int_equal(crowd.a[0]->qp->req.cwnd.pkts, 1);
	for (unsigned int k = 0; k < 4; k++)
		post_all(&crowd, 100);
	while (crowd.sim->link.nb_log[SIM_A] < 8000)
		sim_run_for(crowd.sim, SIM_US);
	assert_false(TAILQ_EMPTY(&share_of(&crowd)->waiting));
	assert_true(crowd.a[0]->qp->req.cwnd.pkts >= 16);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	sim_free(crowd.sim);
}

/* A long path is filled by slow start, although one packet in 100 is lost. */
static void share__chance_does_not_end_slow_start(void **state)
{
	static const struct {
		uint32_t flight_pkts, rtt_ns;
		unsigned int losses;
		bool ends;
	} cases[] = {
		{ 128, 1000, 1, false }, { 128, 1000, 2, false },
		{ 128, 1000, 3, true },  { 127, 1000, 1, true },
		{ 128, 1200, 1, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roost_requester req = { .pto_ns = 5000,
					       .rtt_min_ns = 1000,
					       .rtt_last_ns = cases[i].rtt_ns };
		struct roost_cwnd cwnd;

		roost_cc_loss.reset(&cwnd, 256, 32768);
		cwnd.since_loss_pkts = 0;
		for (unsigned int k = 0; k < cases[i].losses; k++)
			roost_cc_loss.on_lost(&cwnd, &req,
					      cases[i].flight_pkts);
		roost_cc_loss.on_acked(&cwnd, &req, 100, true);
		assert_int_equal(cwnd.pkts == 356, !cases[i].ends);
		assert_int_equal(cwnd.ssthresh_pkts >= 32767, !cases[i].ends);
	}
}

/* With the largest window, of which acknowledgements are not counted, the loss
 * by chance is long ago: the next one reduces a common window again, and is
 * not close to it.
 */
static void share__chance_is_over_at_the_maximum(void **state)
{
	struct roost_requester req = { .pto_ns = 5000,
				       .rtt_min_ns = 1000,
				       .rtt_last_ns = 1000 };
	struct roost_cwnd cwnd;

	(void)state;
	roost_cc_loss.reset(&cwnd, 20000, 32768);
	roost_cc_loss.on_lost(&cwnd, &req, 20000);
	assert_int_equal(cwnd.pkts, 20000);
	while (cwnd.pkts < 32768)
		roost_cc_loss.on_acked(&cwnd, &req, 100, true);
	assert_true(cwnd.since_loss_pkts >= cwnd.pkts);
	roost_cc_loss.on_lost(&cwnd, &req, 32768);
	assert_int_equal(cwnd.pkts, 32767);
	while (cwnd.pkts < 32768)
		roost_cc_loss.on_acked(&cwnd, &req, 1, true);
	assert_true(cwnd.since_loss_pkts >= cwnd.pkts);
}

/* Whatever the link does, the books are right and each byte comes. */
static void share__any_link(void **state)
{
	for (int round = 0; round < 20; round++) {
		struct crowd crowd;
		struct sim_faults faults = { .drop_nth = -1 };

		begin(&crowd, round % 2 ? ROOST_ECN_ECT0 : 0);
		faults.drop_ppm =
			(uint32_t)sim_random_below(&crowd.sim->rng, 50000);
		faults.mark_ppm =
			(uint32_t)sim_random_below(&crowd.sim->rng, 500000);
		faults.reorder_pkts =
			(uint32_t)sim_random_below(&crowd.sim->rng, 8);
		faults.delay_ns = sim_random_below(&crowd.sim->rng, 20000);
		sim_set_faults(crowd.sim, &faults);
		share_of(&crowd)->cwnd.pkts =
			(uint16_t)(1 + sim_random_below(&crowd.sim->rng, 64));
		for (unsigned int k = 0; k < 8; k++)
			post_all(&crowd,
				 1 + (uint32_t)sim_random_below(&crowd.sim->rng,
								20));
		sim_run(crowd.sim);
		expect_good(&crowd, 0);
		expect_none_left(&crowd);
		sim_free(crowd.sim);
	}
}

/* A peer's share is given back with its last QP, and the next one begins anew.
 */
static void share__ends_with_its_last_qp(void **state)
{
	struct crowd crowd;
	struct roost_worker *w;
	unsigned int n = 0;

	begin(&crowd, 0);
	w = crowd.sim->ends[SIM_A].worker;
	share_of(&crowd)->cwnd.pkts = 3;
	for (unsigned int i = 0; i < NB; i++)
		go(&crowd, i, WAY_RESET);
	for (unsigned int i = 0; i < ROOST_SHARE_BUCKETS; i++)
		n += !LIST_EMPTY(&w->shares[i]);
	assert_int_equal(n, 0);
	sim_free(crowd.sim);
}

static const struct CMUnitTest tests[] = {
	SIM_TEST_ONE_WORKER(share__begins_with_256),
	SIM_TEST_ONE_WORKER(share__is_of_many),
	SIM_TEST_ONE_WORKER(share__turns_go_round),
	SIM_TEST_ONE_WORKER(share__long_reads_leave_room),
	SIM_TEST_ONE_WORKER(share__who_goes_leaves_its_room),
	cmocka_unit_test(share__few_wait_for_nothing),
	SIM_TEST_ONE_WORKER(share__new_address_while_it_drains),
	SIM_TEST_ONE_WORKER(share__few_and_many_again),
	SIM_TEST_ONE_WORKER(share__one_slow_peer),
	SIM_TEST_ONE_WORKER(share__probed_windows_come_back),
	SIM_TEST_ONE_WORKER(share__silence_takes_no_room),
	SIM_TEST_ONE_WORKER(share__marks_reduce_it_once),
	SIM_TEST_ONE_WORKER(share__used_window_is_reduced_once),
	SIM_TEST_ONE_WORKER(share__chance_does_not_end_slow_start),
	SIM_TEST_ONE_WORKER(share__chance_is_over_at_the_maximum),
	SIM_TEST_ONE_WORKER(share__any_link),
	SIM_TEST_ONE_WORKER(share__ends_with_its_last_qp),
};

SIM_MAIN("sim-share", tests)
