/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static void add_cqes(int n)
{
	for (int i = 0; i < n; i++)
		fake.cqes[fake.nb_cqes++] = (struct roost_cqe){
			.wr_id = (uint64_t)i,
			.status = ROOST_WC_SUCCESS,
			.opcode = ROOST_WC_RECV,
			.byte_len = 64,
		};
}

static void add_one_cqe(void)
{
	add_cqes(1);
}

static void create_cq__says_its_real_size(void **state)
{
	struct ibv_context *c = open_roost0();
	int cq_context;
	struct ibv_cq *cq;

	cq = ibv_create_cq(c, 10, &cq_context, NULL, 0);
	assert_non_null(cq);
	assert_int_equal(fake.cq_cqe, 10);
	assert_int_equal(cq->cqe, 11);
	assert_ptr_equal(cq->context, c);
	assert_ptr_equal(cq->cq_context, &cq_context);
	assert_null(cq->channel);
	assert_null(fake.cq_channel);
	assert_int_equal(ibv_resize_cq(cq, 20), 0);
	assert_int_equal(cq->cqe, 21);
	fake.fail_call = "roost_cq_resize";
	fake.fail_rc = -EINVAL;
	assert_errno(ibv_resize_cq(cq, 5), EINVAL);
	assert_errno(ibv_resize_cq(cq, 0), EINVAL);
	assert_int_equal(cq->cqe, 21);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	close_roost0(c);
}

static void create_cq__bad_arguments(void **state)
{
	struct ibv_context *c = open_roost0();

	assert_null_errno(ibv_create_cq(c, 0, NULL, NULL, 0), EINVAL);
	assert_null_errno(ibv_create_cq(c, -1, NULL, NULL, 0), EINVAL);
	assert_null_errno(ibv_create_cq(c, 1, NULL, NULL, 1), EINVAL);
	assert_null_errno(ibv_create_cq(c, 1, NULL, NULL, -1), EINVAL);
	fake.fail_call = "roost_cq_create";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_create_cq(c, 1, NULL, NULL, 0), ENOMEM);
	close_roost0(c);
}

static void destroy_cq__busy_changes_nothing(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(c);
	struct ibv_cq *cq = ibv_create_cq(c, 1, NULL, ch, 0);

	fake.fail_call = "roost_cq_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(ch->refcnt, 1);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ch->refcnt, 0);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
	close_roost0(c);
}

static void poll_cq__takes_in_order_across_bursts(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq *cq = ibv_create_cq(c, 64, NULL, NULL, 0);
	struct ibv_wc wc[64];

	add_cqes(40);
	assert_int_equal(ibv_poll_cq(cq, 3, wc), 3);
	assert_int_equal(wc[2].wr_id, 2);
	assert_int_equal(ibv_poll_cq(cq, 64, wc), 37);
	assert_int_equal(wc[0].wr_id, 3);
	assert_int_equal(wc[36].wr_id, 39);
	assert_int_equal(fake.helps, 0);
	ibv_destroy_cq(cq);
	close_roost0(c);
}

static void poll_cq__empty_takes_the_workers_turn_and_looks_again(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq *cq = ibv_create_cq(c, 64, NULL, NULL, 0);
	struct ibv_wc wc[2];

	assert_int_equal(ibv_poll_cq(cq, 2, wc), 0);
	assert_int_equal(fake.helps, 1);
	fake.on_help = add_one_cqe;
	fake.help_finds_work = true;
	assert_int_equal(ibv_poll_cq(cq, 2, wc), 1);
	assert_int_equal(fake.helps, 2);
	assert_int_equal(ibv_poll_cq(cq, 0, wc), 0);
	ibv_destroy_cq(cq);
	close_roost0(c);
}

static void poll_cq__overrun_is_negative_after_the_last_entry(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq *cq = ibv_create_cq(c, 64, NULL, NULL, 0);
	struct ibv_wc wc[64];

	add_cqes(16);
	fake.poll_error = -EIO;
	assert_int_equal(ibv_poll_cq(cq, 64, wc), 16);
	assert_true(ibv_poll_cq(cq, 64, wc) < 0);
	ibv_destroy_cq(cq);
	close_roost0(c);
}

static void req_notify__arms_and_wakes_the_worker(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq *cq = ibv_create_cq(c, 1, NULL, NULL, 0);

	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(fake.cq_arms, 1);
	assert_int_equal(fake.cq_armed_solicited, 0);
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	assert_int_equal(fake.cq_armed_solicited, 1);
	assert_int_equal(fake.cq_reminders, 2);
	assert_int_equal(fake.expects, 2);
	ibv_destroy_cq(cq);
	close_roost0(c);
}

/* There is nothing to moderate: see cq.c. */
static void modify_cq__takes_moderation(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq *cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 16, .cq_period = 100 },
	};

	assert_int_equal(ibv_modify_cq(cq, &attr), 0);
	attr.attr_mask = IBV_CQ_ATTR_RESERVED;
	assert_errno(ibv_modify_cq(cq, &attr), EINVAL);
	ibv_destroy_cq(cq);
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_cq__says_its_real_size),
		cmocka_unit_test(create_cq__bad_arguments),
		cmocka_unit_test(destroy_cq__busy_changes_nothing),
		cmocka_unit_test(poll_cq__takes_in_order_across_bursts),
		cmocka_unit_test(
			poll_cq__empty_takes_the_workers_turn_and_looks_again),
		cmocka_unit_test(
			poll_cq__overrun_is_negative_after_the_last_entry),
		cmocka_unit_test(req_notify__arms_and_wakes_the_worker),
		cmocka_unit_test(modify_cq__takes_moderation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
