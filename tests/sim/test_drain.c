/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* SQ_DRAINED: RTS to SQD asks for it, nothing but leaving SQD withdraws it. */

#include "tests/sim/migrate.h"
#include "tests/sim/sim.h"

#define NB_MESSAGES 40
#define LEN_BYTES 50000

static int to_sqd(struct sim_qp *qp, uint32_t mask)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_SQD,
		.en_sqd_async_notify = true,
	};

	return roost_qp_modify(qp->qp, &attr, mask);
}

static int drain(struct sim_qp *qp)
{
	return to_sqd(qp, ROOST_QP_STATE | ROOST_QP_EN_SQD_ASYNC_NOTIFY);
}

/* A world in the middle of a stream from a to b. */
static struct sim *streaming(struct sim_qp **a, struct sim_qp **b)
{
	struct sim *sim = sim_new();

	sim_pair(sim, NULL, a, b);
	for (int i = 0; i < NB_MESSAGES; i++) {
		sim_recv(*b, LEN_BYTES);
		sim_send(*a, LEN_BYTES);
	}
	sim_turn(sim);
	return sim;
}

static uint32_t nb_drained(const struct sim_qp *qp)
{
	return qp->async[ROOST_EVENT_SQ_DRAINED];
}

/* ---- SQD to SQD --------------------------------------------------------- */

/* Every attribute that may change in SQD, by itself; 0: none at all. */
static const uint32_t sqd_masks[] = {
	0,
	ROOST_QP_PORT,
	ROOST_QP_AV,
	ROOST_QP_TIMEOUT,
	ROOST_QP_RETRY_CNT,
	ROOST_QP_RNR_RETRY,
	ROOST_QP_MAX_QP_RD_ATOMIC,
	ROOST_QP_MAX_DEST_RD_ATOMIC,
	ROOST_QP_ALT_PATH,
	ROOST_QP_ACCESS_FLAGS,
	ROOST_QP_PKEY_INDEX,
	ROOST_QP_MIN_RNR_TIMER,
	ROOST_QP_ALT_PATH | ROOST_QP_PATH_MIG_STATE,
	ROOST_QP_RATE_LIMIT,
};
#define NB_MASKS (sizeof(sqd_masks) / sizeof(sqd_masks[0]))

/* What it has already, so that nothing else changes. */
static void change_nothing(struct sim_qp *qp, uint32_t mask)
{
	struct roost_qp_attr attr = migrate_query(qp);

	attr.alt_av = attr.av;
	attr.alt_port_num = attr.port_num;
	attr.alt_pkey_index = attr.pkey_index;
	attr.alt_timeout = attr.timeout;
	attr.path_mig_state = ROOST_MIG_REARM;
	assert_int_equal(roost_qp_modify(qp->qp, &attr, mask), 0);
}

static void drain__no_modify_in_sqd_withdraws_it(void **state)
{
	for (unsigned int i = 0; i < 2 * NB_MASKS; i++) {
		/* With the state in the mask, and without. */
		uint32_t with = i % 2 == 0 ? ROOST_QP_STATE : 0;
		struct sim_qp *a, *b;
		struct sim *sim = streaming(&a, &b);

		a->rearmed = true;
		assert_int_equal(drain(a), 0);
		change_nothing(a, sqd_masks[i / 2] | with);
		assert_true(migrate_query(a).sq_draining);
		sim_poll(sim);
		assert_int_equal(nb_drained(a), 0);
		sim_run_for(sim, SIM_S);
		assert_int_equal(nb_drained(a), 1);
		assert_false(migrate_query(a).sq_draining);
		/* Once it was told, nothing tells it again. */
		change_nothing(a, sqd_masks[i / 2] | with);
		sim_run_for(sim, SIM_S);
		assert_int_equal(nb_drained(a), 1);
		sim_free(sim);
	}
}

/* What is refused changes nothing either. */
static void drain__refused_modify_leaves_it(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = streaming(&a, &b);

	assert_int_equal(drain(a), 0);
	assert_int_not_equal(drain(a), 0);
	assert_int_not_equal(sim_qp_to_init(a), 0);
	sim_run_for(sim, SIM_S);
	assert_int_equal(nb_drained(a), 1);
	sim_free(sim);
}

/* ---- leaving SQD -------------------------------------------------------- */

static void drain__leaving_withdraws_it(void **state)
{
	static const enum roost_qp_state to[] = { ROOST_QPS_RTS, ROOST_QPS_ERR,
						  ROOST_QPS_RESET };

	for (unsigned int i = 0; i < 3; i++) {
		struct sim_qp *a, *b;
		struct sim *sim = streaming(&a, &b);

		assert_int_equal(drain(a), 0);
		assert_int_equal(sim_qp_to(a, to[i]), 0);
		assert_false(migrate_query(a).sq_draining);
		if (to[i] == ROOST_QPS_RESET) {
			a->sends.completed = a->sends.count;
			b->no_data_check = true;
		}
		sim_run_for(sim, SIM_S);
		assert_int_equal(nb_drained(a), 0);
		sim_free(sim);
	}
}

/* Each time that it begins to drain is a question of its own. */
static void drain__each_drain_asks_for_itself(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = streaming(&a, &b);

	assert_int_equal(drain(a), 0);
	sim_run_for(sim, SIM_S);
	assert_int_equal(nb_drained(a), 1);
	assert_true(migrate_query(a).en_sqd_async_notify);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_turn(sim);
	assert_int_equal(to_sqd(a, ROOST_QP_STATE), 0);
	assert_false(migrate_query(a).en_sqd_async_notify);
	sim_run_for(sim, SIM_S);
	assert_int_equal(nb_drained(a), 1);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_turn(sim);
	assert_int_equal(drain(a), 0);
	sim_run_for(sim, SIM_S);
	assert_int_equal(nb_drained(a), 2);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- draining ----------------------------------------------------------- */

/* A message is begun, all that was sent of it is acknowledged, and the rest
 * waits for its time: that is not drained.
 */
static void drain__half_a_message_is_draining(void **state)
{
	struct roost_qp_attr slow = { .rate_limit_kbps = 1000 };
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	assert_int_equal(roost_qp_modify(a->qp, &slow, ROOST_QP_RATE_LIMIT), 0);
	/* The first part of the window asks for an acknowledgement. */
	a->sim->turn_ns = 1;
	sim_recv(b, 300000);
	sim_send(a, 300000);
	for (int i = 0; i < 1000 && sim_is_busy(&sim->ends[SIM_A]); i++)
		sim_run_for(sim, 100 * SIM_US);
	assert_int_equal(drain(a), 0);
	assert_true(migrate_query(a).sq_draining);
	while (nb_drained(a) == 0) {
		assert_true(migrate_query(a).sq_draining);
		sim_run_for(sim, SIM_MS);
	}
	assert_false(migrate_query(a).sq_draining);
	sim_expect_send(a, 0, ROOST_WC_SUCCESS);
	sim_expect_recv(b, 0, ROOST_WC_SUCCESS);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(drain__no_modify_in_sqd_withdraws_it),
	cmocka_unit_test(drain__refused_modify_leaves_it),
	cmocka_unit_test(drain__leaving_withdraws_it),
	cmocka_unit_test(drain__each_drain_asks_for_itself),
	cmocka_unit_test(drain__half_a_message_is_draining),
};

SIM_MAIN("sim-drain", tests)
