/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What many QPs ask for together by READs, whatever their peers are. */

#include <rte_common.h>

#include "lib/engine/core/share.h"
#include "lib/engine/core/worker_base.h"
#include "tests/sim/common.h"
#include "tests/sim/ecn.h"

#define NB 40u
#define FIRST_PKTS 256u
/* A part, as long as others wait. */
#define PART_PKTS 16u
#define MTU 1024u
/* What READs asked for at once may be more than the window has room for. */
#define PART_MAX_PKTS 64u

struct crowd {
	struct sim *sim;
	struct sim_qp *a[NB], *b[NB];
	/* Of the READ requests that passed. */
	uint32_t asked_pkts, longest_pkts;
	bool silent; /* the peers of the first half of them are */
};

static bool count_asked(struct sim *sim, int side, const struct roost_pkt *pkt,
			void *arg)
{
	struct crowd *crowd = arg;
	uint32_t pkts = (pkt->dma_len_bytes + MTU - 1) / MTU;

	(void)sim;
	for (unsigned int i = 0; crowd->silent && i < NB / 2; i++)
		if (side == SIM_A && pkt->dest_qpn == crowd->b[i]->qpn)
			return false;
	if (pkt->info->op != ROOST_OP_READ_REQ)
		return true;
	crowd->asked_pkts += pkts;
	crowd->longest_pkts = RTE_MAX(crowd->longest_pkts, pkts);
	return true;
}

/* Every other one has a peer with another address. */
static void begin(struct crowd *crowd, uint8_t tclass)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.first_window = true;
	conf.mtu = ROOST_MTU_1024;
	conf.tclass = tclass;
	conf.rd_atomic = 4;
	*crowd = (struct crowd){ .sim = sim_new() };
	for (unsigned int i = 0; i < NB; i++) {
		conf.ipv6 = i % 2;
		sim_pair(crowd->sim, &conf, &crowd->a[i], &crowd->b[i]);
	}
	crowd->sim->link.filter = count_asked;
	crowd->sim->link.filter_arg = crowd;
}

static void read_pkts(struct crowd *crowd, unsigned int i, uint32_t pkts)
{
	sim_send_msg(crowd->a[i],
		     &(struct sim_msg){ .opcode = ROOST_WR_READ,
					.flags = ROOST_SEND_SIGNALED,
					.nb_sges = 1,
					.sge_len_bytes = { pkts * MTU } });
}

static void read_all(struct crowd *crowd, uint32_t pkts)
{
	for (unsigned int i = 0; i < NB; i++)
		read_pkts(crowd, i, pkts);
}

static void expect_good(struct crowd *crowd, unsigned int from)
{
	for (unsigned int i = from; i < NB; i++)
		sim_expect_all_good(crowd->a[i], crowd->b[i]);
}

static struct roost_share_member *member_of(struct crowd *crowd, unsigned int i)
{
	return &crowd->a[i]->qp->shares[ROOST_SHARE_READS];
}

static struct roost_share *share_of(struct crowd *crowd)
{
	return member_of(crowd, 0)->share;
}

static void expect_none_left(struct crowd *crowd)
{
	const struct roost_share *share = share_of(crowd);

	for (unsigned int i = 0; i < NB; i++) {
		assert_int_equal(crowd->a[i]->qp->asked_pkts, 0);
		assert_int_equal(crowd->a[i]->qp->req.nb_rd_atomics, 0);
		assert_null(crowd->a[i]->qp->waits_for);
	}
	assert_int_equal(share->flight_pkts, 0);
	assert_true(TAILQ_EMPTY(&share->waiting));
	assert_null(share->turn);
}

/* Together they want ten times what a queue has room for. */
static void share_reads__ask_for_a_window(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	assert_ptr_equal(share_of(&crowd), member_of(&crowd, 1)->share);
	read_all(&crowd, 64);
	sim_turn(crowd.sim);
	assert_in_range(crowd.asked_pkts, FIRST_PKTS,
			FIRST_PKTS + PART_MAX_PKTS);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_assert_clean(crowd.sim);
	sim_free(crowd.sim);
}

/* The last one comes when the others wait, and all have long READs. */
static void share_reads__turns_go_round(void **state)
{
	struct crowd crowd;
	int32_t low = INT32_MAX, high = 0;

	begin(&crowd, 0);
	share_of(&crowd)->cwnd.pkts = 64;
	share_of(&crowd)->cwnd.ssthresh_pkts = 64;
	read_all(&crowd, 1000);
	while (crowd.asked_pkts < NB * 128)
		sim_run_for(crowd.sim, SIM_US);
	for (unsigned int i = 0; i < NB; i++) {
		int32_t asked = roost_psn_diff(crowd.a[i]->qp->req.end_psn,
					       roost_psn(crowd.a[i]->sq_psn));

		low = RTE_MIN(low, asked);
		high = RTE_MAX(high, asked);
	}
	/* The first ones began with a long part. */
	assert_in_range(high - low, 0, PART_MAX_PKTS + 2 * PART_PKTS);
	crowd.longest_pkts = 0;
	while (crowd.asked_pkts < NB * 512)
		sim_run_for(crowd.sim, SIM_US);
	assert_int_equal(crowd.longest_pkts, PART_PKTS);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* Who is left alone asks for long parts again. */
static void share_reads__parts_grow_again(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	read_pkts(&crowd, 0, 8000);
	for (unsigned int i = 1; i < NB; i++)
		read_pkts(&crowd, i, 64);
	sim_run_for(crowd.sim, SIM_US);
	assert_true(crowd.longest_pkts <= PART_MAX_PKTS);
	while (!crowd.a[NB - 1]->sends.wr[0].nb_completions)
		sim_run_for(crowd.sim, SIM_US);
	crowd.longest_pkts = 0;
	sim_run(crowd.sim);
	assert_int_equal(crowd.longest_pkts, PART_MAX_PKTS);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* Half of the peers say nothing: the others have all the room long before. */
static void share_reads__silence_takes_no_room(void **state)
{
	struct crowd crowd;

	begin(&crowd, 0);
	crowd.silent = true;
	for (unsigned int i = 0; i < NB / 2; i++)
		read_pkts(&crowd, i, 64);
	sim_turn(crowd.sim);
	for (unsigned int i = NB / 2; i < NB; i++)
		read_pkts(&crowd, i, 64);
	sim_run_for(crowd.sim, 30 * SIM_MS);
	expect_good(&crowd, NB / 2);
	sim_run(crowd.sim);
	for (unsigned int i = 0; i < NB / 2; i++)
		sim_expect_send(crowd.a[i], 0, ROOST_WC_RETRY_EXC_ERR);
	assert_int_equal(member_of(&crowd, NB - 1)->share->flight_pkts, 0);
	sim_free(crowd.sim);
}

/* Those who say nothing have had their time: who begins to wait does not wait
 * for another round.
 */
static void share_reads__room_is_taken_at_once(void **state)
{
	struct sim_faults faults = { .drop_nth = -1, .delay_ns = 5 * SIM_US };
	struct crowd crowd;

	begin(&crowd, 0);
	sim_set_faults(crowd.sim, &faults);
	crowd.silent = true;
	share_of(&crowd)->cwnd.pkts = 4 * PART_PKTS;
	for (unsigned int i = 0; i < 4; i++)
		crowd.a[i]->qp->req.timeout_ns = 0;
	for (unsigned int i = 0; i < 3; i++)
		read_pkts(&crowd, i, PART_PKTS);
	read_pkts(&crowd, NB - 1, PART_PKTS);
	sim_turn(crowd.sim);
	/* It waits for the one before it; a round begins. */
	read_pkts(&crowd, NB - 2, 1);
	sim_run_for(crowd.sim, SIM_MS);
	sim_expect_send(crowd.a[NB - 2], 0, ROOST_WC_SUCCESS);
	assert_int_equal(share_of(&crowd)->round, 1);
	share_of(&crowd)->cwnd.pkts = 3 * PART_PKTS + 1;
	read_pkts(&crowd, 3, PART_PKTS);
	sim_run_for(crowd.sim, 50 * SIM_MS);
	assert_int_equal(share_of(&crowd)->flight_pkts, 4 * PART_PKTS);
	read_pkts(&crowd, NB - 3, 1);
	sim_run_for(crowd.sim, 100 * SIM_US);
	sim_expect_send(crowd.a[NB - 3], 0, ROOST_WC_SUCCESS);
	sim_free(crowd.sim);
}

/* A mark of a response takes a quarter of the window of READs, and nothing of
 * that of requests.
 */
static void share_reads__marks_reduce_it(void **state)
{
	struct sim_faults faults = { .drop_nth = -1, .mark_ppm = 1000000 };
	struct crowd crowd;

	begin(&crowd, ROOST_ECN_ECT0);
	sim_set_faults(crowd.sim, &faults);
	read_all(&crowd, 16);
	while (share_of(&crowd)->cwnd.pkts == FIRST_PKTS)
		sim_run_for(crowd.sim, SIM_US);
	assert_in_range(share_of(&crowd)->cwnd.pkts, FIRST_PKTS / 2,
			FIRST_PKTS * 3 / 4);
	sim_run(crowd.sim);
	expect_good(&crowd, 0);
	expect_none_left(&crowd);
	sim_free(crowd.sim);
}

/* Whatever the link does, and whatever stands between the READs. */
static void share_reads__any_link(void **state)
{
	for (int round = 0; round < 20; round++) {
		struct crowd crowd;
		struct sim_faults faults = { .drop_nth = -1 };
		struct sim_rng *rng;

		begin(&crowd, round % 2 ? ROOST_ECN_ECT0 : 0);
		rng = &crowd.sim->rng;
		faults.drop_ppm = (uint32_t)sim_random_below(rng, 30000);
		faults.mark_ppm = (uint32_t)sim_random_below(rng, 500000);
		faults.reorder_pkts = (uint32_t)sim_random_below(rng, 8);
		faults.delay_ns = sim_random_below(rng, 20000);
		sim_set_faults(crowd.sim, &faults);
		share_of(&crowd)->cwnd.pkts =
			(uint16_t)(1 + sim_random_below(rng, 64));
		for (unsigned int k = 0; k < 4 * NB; k++) {
			uint32_t pkts =
				1 + (uint32_t)sim_random_below(rng, 100);

			if (sim_random_below(rng, 3) == 0) {
				sim_recv(crowd.b[k % NB], pkts * MTU);
				sim_send(crowd.a[k % NB], pkts * MTU);
			} else if (sim_random_below(rng, 3) == 0) {
				/* Its response is of READs, and counts not. */
				sim_do_op(crowd.a[k % NB],
					  ROOST_WR_ATOMIC_WRITE, 8);
			} else {
				read_pkts(&crowd, k % NB, pkts);
			}
		}
		sim_run(crowd.sim);
		expect_good(&crowd, 0);
		expect_none_left(&crowd);
		sim_free(crowd.sim);
	}
}

static const struct CMUnitTest tests[] = {
	SIM_TEST_ONE_WORKER(share_reads__ask_for_a_window),
	SIM_TEST_ONE_WORKER(share_reads__turns_go_round),
	SIM_TEST_ONE_WORKER(share_reads__parts_grow_again),
	SIM_TEST_ONE_WORKER(share_reads__silence_takes_no_room),
	SIM_TEST_ONE_WORKER(share_reads__room_is_taken_at_once),
	SIM_TEST_ONE_WORKER(share_reads__marks_reduce_it),
	SIM_TEST_ONE_WORKER(share_reads__any_link),
};

SIM_MAIN("sim-share-reads", tests)
