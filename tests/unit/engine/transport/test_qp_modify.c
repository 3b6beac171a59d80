/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "lib/engine/transport/qp_priv.h"
#include "tests/unit/engine/fixture.h"

static struct roost_qp_attr query(struct roost_qp *qp)
{
	struct roost_qp_attr attr;
	struct roost_qp_init init;

	roost_qp_query(qp, &attr, &init);
	return attr;
}

/* The modify fails with rc, and nothing has changed. */
static void assert_refused(struct roost_qp *qp,
			   const struct roost_qp_attr *attr, uint32_t mask,
			   int rc)
{
	struct roost_qp_attr before = query(qp), after;

	assert_int_equal(roost_qp_modify(qp, attr, mask), rc);
	after = query(qp);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void qp_modify__wrong_values_to_init(void **state)
{
	struct fixture *f = *state;
	const uint32_t mask = ROOST_QP_STATE | ROOST_QP_PORT |
			      ROOST_QP_PKEY_INDEX | ROOST_QP_ACCESS_FLAGS;
	const struct roost_qp_attr good = { .state = ROOST_QPS_INIT,
					    .port_num = 1 };
	struct roost_qp_attr bad;
	struct roost_qp *qp = fixture_qp(f, 1);

	bad = good;
	bad.port_num = 0;
	assert_refused(qp, &bad, mask, -EINVAL);
	bad.port_num = 2;
	assert_refused(qp, &bad, mask, -EINVAL);
	bad.port_num = 255;
	assert_refused(qp, &bad, mask, -EINVAL);
	bad = good;
	bad.pkey_index = 1; /* empty */
	assert_refused(qp, &bad, mask, -EINVAL);
	bad.pkey_index = ROOST_PKEY_TABLE_LEN;
	assert_refused(qp, &bad, mask, -EINVAL);
	bad.pkey_index = UINT16_MAX;
	assert_refused(qp, &bad, mask, -EINVAL);
	bad = good;
	bad.access = 1u << 20;
	assert_refused(qp, &bad, mask, -EINVAL);
	/* One required attribute less, one that does not belong more. */
	assert_refused(qp, &good, mask & ~(uint32_t)ROOST_QP_PORT, -EINVAL);
	assert_refused(qp, &good, mask | ROOST_QP_QKEY, -EINVAL);
	assert_int_equal(roost_qp_modify(qp, &good, mask), 0);
	roost_qp_destroy(qp, NULL);
}

static void qp_modify__wrong_values_to_rtr(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_attr good, bad;
	struct roost_qp *qp = fixture_qp(f, 1);

	assert_int_equal(fixture_to_init(qp), 0);
	good = fixture_rtr_attr(f);
#define REFUSE(field, value)                                                   \
	do {                                                                   \
		bad = good;                                                    \
		bad.field = (value);                                           \
		assert_refused(qp, &bad, FIXTURE_RTR_MASK, -EINVAL);           \
	} while (0)
	REFUSE(path_mtu, 0);
	REFUSE(path_mtu, ROOST_MTU_4096 + 1);
	REFUSE(path_mtu, 255);
	REFUSE(dest_qpn, 0x1000000);
	REFUSE(max_dest_rd_atomic, 17);
	REFUSE(min_rnr_timer, 32);
	REFUSE(av.port_num, 0);
	REFUSE(av.port_num, 2);
	REFUSE(av.sgid_index, 2);
	REFUSE(av.sgid_index, 255);
	REFUSE(av.dgid, ((struct roost_gid){ { 0 } }));
	REFUSE(av.dgid, f->peer6);
	assert_int_equal(f->neigh_refs, 0);
	/* The path MTU must fit the port. */
	roost_port_set_link(f->dev, 1, ROOST_PORT_ACTIVE, 1500, 0);
	REFUSE(path_mtu, ROOST_MTU_2048);
	assert_int_equal(roost_qp_modify(qp, &good, FIXTURE_RTR_MASK), 0);
	roost_qp_destroy(qp, NULL);
}

static void qp_modify__wrong_values_to_rts(void **state)
{
	struct fixture *f = *state;
	const struct roost_qp_attr good = { .state = ROOST_QPS_RTS };
	struct roost_qp_attr bad;
	struct roost_qp *qp = fixture_qp(f, 1);

	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
#undef REFUSE
#define REFUSE(field, value)                                                   \
	do {                                                                   \
		bad = good;                                                    \
		bad.field = (value);                                           \
		assert_refused(qp, &bad, FIXTURE_RTS_MASK, -EINVAL);           \
	} while (0)
	REFUSE(timeout, 32);
	REFUSE(retry_cnt, 8);
	REFUSE(rnr_retry, 8);
	REFUSE(max_rd_atomic, 17);
	bad = good;
	bad.cur_state = ROOST_QPS_RTS;
	assert_refused(qp, &bad, FIXTURE_RTS_MASK | ROOST_QP_CUR_STATE,
		       -EINVAL);
	bad.cur_state = ROOST_QPS_RTR;
	assert_int_equal(roost_qp_modify(qp, &bad,
					 FIXTURE_RTS_MASK | ROOST_QP_CUR_STATE),
			 0);
	roost_qp_destroy(qp, NULL);
}

/* Nobody answers for the address: the QP stays as it was. */
static void qp_modify__neighbour_not_found(void **state)
{
	struct fixture *f = *state;
	static const int rcs[] = { -EHOSTUNREACH, -ETIMEDOUT };
	struct roost_qp_attr attr;
	struct roost_qp *qp = fixture_qp(f, 1);

	assert_int_equal(fixture_to_init(qp), 0);
	attr = fixture_rtr_attr(f);
	for (int i = 0; i < 2; i++) {
		f->resolve_rc = rcs[i];
		assert_refused(qp, &attr, FIXTURE_RTR_MASK, rcs[i]);
	}
	f->resolve_rc = 0;
	assert_int_equal(roost_qp_modify(qp, &attr, FIXTURE_RTR_MASK), 0);
	roost_qp_destroy(qp, NULL);
}

static void fail_meanwhile(struct fixture *f)
{
	roost_worker_turn_take(f->worker);
	roost_qp_to_err(f->worker, f->resolving, -1);
	roost_worker_turn_release(f->worker);
}

/* The worker moves it to ERR while the neighbour is looked for. */
static void qp_modify__fails_while_it_waits(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_attr attr;
	struct roost_qp *qp = fixture_qp_in_rts(f, 1);

	assert_int_equal(fixture_to(qp, ROOST_QPS_SQD), 0);
	f->on_resolve = fail_meanwhile;
	f->resolving = qp;
	attr = fixture_rtr_attr(f);
	assert_int_equal(roost_qp_modify(qp, &attr, ROOST_QP_AV), -EINVAL);
	assert_int_equal(roost_qp_state(qp), ROOST_QPS_ERR);
	/* The old one is kept, the new one given back. */
	assert_int_equal(f->neigh_refs, 1);
	roost_qp_destroy(qp, NULL);
}

static void qp_modify__keeps_what_it_was_given(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_attr attr;
	struct roost_qp *qp = fixture_qp_in_rts(f, 1);

	attr = query(qp);
	assert_int_equal(attr.state, ROOST_QPS_RTS);
	assert_int_equal(attr.cur_state, ROOST_QPS_RTS);
	assert_int_equal(attr.path_mtu, ROOST_MTU_1024);
	assert_int_equal(attr.rq_psn, 100);
	assert_int_equal(attr.sq_psn, 200);
	assert_int_equal(attr.dest_qpn, 0x123456);
	assert_int_equal(attr.max_dest_rd_atomic, 1);
	assert_int_equal(attr.max_rd_atomic, 1);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.port_num, 1);
	assert_memory_equal(&attr.av.dgid, &f->peer, sizeof(f->peer));
	assert_false(attr.sq_draining);
	roost_qp_destroy(qp, NULL);
}

/* PSNs are 24 bits; what is above is not looked at (verbs.h has 32). */
static void qp_modify__psn_above_24_bits(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_attr attr;
	struct roost_qp *qp = fixture_qp(f, 1);

	assert_int_equal(fixture_to_init(qp), 0);
	attr = fixture_rtr_attr(f);
	attr.rq_psn = 0xff000005;
	assert_int_equal(roost_qp_modify(qp, &attr, FIXTURE_RTR_MASK), 0);
	attr.state = ROOST_QPS_RTS;
	attr.sq_psn = 0xff000006;
	assert_int_equal(roost_qp_modify(qp, &attr, FIXTURE_RTS_MASK), 0);
	attr = query(qp);
	assert_int_equal(attr.rq_psn, 5);
	assert_int_equal(attr.sq_psn, 6);
	roost_qp_destroy(qp, NULL);
}

static void qp_modify__reset_forgets(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp;
	struct roost_qp_attr attr;

	qp = fixture_qp_in_rts(f, 4);
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	attr = query(qp);
	assert_int_equal(attr.state, ROOST_QPS_RESET);
	assert_int_equal(attr.timeout, 0);
	assert_int_equal(attr.dest_qpn, 0);
	assert_int_equal(attr.port_num, 0);
	assert_int_equal(attr.sq_psn, 0);
	assert_int_equal(attr.rq_psn, 0);
	/* What it was created with stays. */
	assert_true(attr.cap.max_send_wr >= 4);
	assert_int_equal(fixture_to_init(qp), 0);
	roost_qp_destroy(qp, NULL);
}

/* A new address replaces the neighbour of the old one. */
static void qp_modify__neighbour_references(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_attr attr;
	struct roost_qp *qp = fixture_qp_in_rts(f, 1);

	assert_int_equal(f->neigh_refs, 1);
	assert_int_equal(fixture_to(qp, ROOST_QPS_SQD), 0);
	attr = fixture_rtr_attr(f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(roost_qp_modify(qp, &attr, ROOST_QP_AV), 0);
		assert_int_equal(f->neigh_refs, 1);
	}
	/* An address of our own needs none. */
	attr.av.dgid = f->gid;
	assert_int_equal(roost_qp_modify(qp, &attr, ROOST_QP_AV), 0);
	assert_int_equal(f->neigh_refs, 0);
	attr.av.dgid = f->peer;
	assert_int_equal(roost_qp_modify(qp, &attr, ROOST_QP_AV), 0);
	assert_int_equal(f->neigh_refs, 1);
	/* The same QP once more round. */
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
	assert_int_equal(f->neigh_refs, 1);
	roost_qp_destroy(qp, NULL);
	assert_int_equal(f->neigh_refs, 0);
}

/* Every state may go to ERR and to RESET. */
static void qp_modify__to_err_and_back(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp(f, 1);

	for (int steps = 0; steps <= 4; steps++) {
		assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
		if (steps >= 1)
			assert_int_equal(fixture_to_init(qp), 0);
		if (steps >= 2)
			assert_int_equal(fixture_to_rtr(f, qp), 0);
		if (steps >= 3)
			assert_int_equal(fixture_to_rts(qp), 0);
		if (steps >= 4)
			assert_int_equal(fixture_to(qp, ROOST_QPS_SQD), 0);
		assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
		assert_int_equal(roost_qp_state(qp), ROOST_QPS_ERR);
		assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
		assert_int_equal(fixture_to(qp, ROOST_QPS_RTS), -EINVAL);
		assert_int_equal(fixture_to_init(qp), -EINVAL);
	}
	roost_qp_destroy(qp, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(qp_modify__wrong_values_to_init),
		FIXTURE_TEST(qp_modify__wrong_values_to_rtr),
		FIXTURE_TEST(qp_modify__wrong_values_to_rts),
		FIXTURE_TEST(qp_modify__neighbour_not_found),
		FIXTURE_TEST(qp_modify__fails_while_it_waits),
		FIXTURE_TEST(qp_modify__keeps_what_it_was_given),
		FIXTURE_TEST(qp_modify__psn_above_24_bits),
		FIXTURE_TEST(qp_modify__reset_forgets),
		FIXTURE_TEST(qp_modify__neighbour_references),
		FIXTURE_TEST(qp_modify__to_err_and_back),
	};

	return cmocka_run_group_tests_name("qp_modify", tests, NULL, NULL);
}
