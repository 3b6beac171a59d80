/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <time.h>

#include "verbs_test.h"

static struct ibv_cq_ex *create(struct ibv_context *c, uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .wc_flags = wc_flags };

	return ibv_create_cq_ex(c, &attr);
}

static void start_poll__walks_and_reads(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq_ex *cq =
		create(c, IBV_WC_STANDARD_FLAGS |
				  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				  IBV_WC_EX_WITH_CVLAN);
	struct ibv_poll_cq_attr attr = { 0 };

	assert_non_null(cq);
	fake.nb_cqes = 2;
	fake.cqes[0] = (struct roost_cqe){
		.wr_id = 5,
		.timestamp_ns = 1234567,
		.qpn = 0x10,
		.src_qpn = 0x20,
		.byte_len = 30,
		.imm_be = 40,
		.vendor_err = 50,
		.status = ROOST_WC_RNR_RETRY_EXC_ERR,
		.opcode = ROOST_WC_RECV_WRITE_IMM,
		.flags = ROOST_WC_WITH_IMM,
		.sl = 3,
		.slid = 60,
		.vlan_tci = 0xa00c,
	};
	fake.cqes[1] = (struct roost_cqe){ .wr_id = 6 };

	assert_int_equal(ibv_start_poll(cq, &attr), 0);
	assert_int_equal(cq->wr_id, 5);
	assert_int_equal(cq->status, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 50);
	assert_int_equal(ibv_wc_read_byte_len(cq), 30);
	assert_int_equal(ibv_wc_read_imm_data(cq), 40);
	assert_int_equal(ibv_wc_read_invalidated_rkey(cq), 40);
	assert_int_equal(ibv_wc_read_qp_num(cq), 0x10);
	assert_int_equal(ibv_wc_read_src_qp(cq), 0x20);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_slid(cq), 60);
	assert_int_equal(ibv_wc_read_sl(cq), 3);
	assert_int_equal(ibv_wc_read_cvlan(cq), 0xa00c);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
	assert_true(ibv_wc_read_completion_ts(cq) == 1234567);
	assert_true(fake.poll_open);

	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 6);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_false(fake.poll_open);
	assert_int_equal(fake.polled, 2);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	close_roost0(c);
}

static void start_poll__empty_helps_and_is_not_begun(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq_ex *cq = create(c, 0);
	struct ibv_poll_cq_attr attr = { 0 };

	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(fake.helps, 1);
	assert_false(fake.poll_open);
	fake.poll_error = -EIO;
	assert_int_equal(ibv_start_poll(cq, &attr), EIO);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	close_roost0(c);
}

/* What a CQ was not asked to record can be called all the same. */
static void read__never_calls_through_null(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq_ex *cq = create(c, 0);
	struct ibv_wc_tm_info info;

	assert_int_equal(ibv_wc_read_flow_tag(cq), 0);
	ibv_wc_read_tm_info(cq, &info);
	assert_true(info.tag == 0);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	close_roost0(c);
}

static void create_cq_ex__plain_poll_works_too(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq_ex *cq = create(c, 0);
	struct ibv_wc wc;

	fake.nb_cqes = 1;
	fake.cqes[0].wr_id = 9;
	assert_int_equal(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	close_roost0(c);
}

static void create_cq_ex__what_it_takes(void **state)
{
	static const struct {
		struct ibv_cq_init_attr_ex attr;
		int error;
	} rows[] = {
		{ { .cqe = 0 }, EINVAL },
		{ { .cqe = 1, .comp_vector = 1 }, EINVAL },
		{ { .cqe = 1, .wc_flags = IBV_WC_STANDARD_FLAGS }, 0 },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP },
		  0 },
		{ { .cqe = 1,
		    .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK },
		  0 },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_CVLAN }, 0 },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG }, 0 },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO },
		  EOPNOTSUPP },
		{ { .cqe = 1,
		    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		    .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED },
		  0 },
		{ { .cqe = 1,
		    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		    .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
		  0 },
		{ { .cqe = 1,
		    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		    .flags = 4 },
		  EOPNOTSUPP },
		/* flags without the mask are not looked at */
		{ { .cqe = 1, .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN }, 0 },
		{ { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD }, EINVAL },
		{ { .cqe = 1, .comp_mask = 4 }, EOPNOTSUPP },
	};
	struct ibv_context *c = open_roost0();

	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_cq_init_attr_ex attr = rows[i].attr;
		struct ibv_cq_ex *cq;

		if (rows[i].error) {
			assert_null_errno(ibv_create_cq_ex(c, &attr),
					  rows[i].error);
			continue;
		}
		cq = ibv_create_cq_ex(c, &attr);
		assert_non_null(cq);
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	}
	close_roost0(c);
}

static void create_cq_ex__ignore_overrun_reaches_the_engine(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};
	struct ibv_cq_ex *cq;

	cq = ibv_create_cq_ex(c, &attr);
	assert_false(fake.cq_ignores_overrun);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	cq = ibv_create_cq_ex(c, &attr);
	assert_true(fake.cq_ignores_overrun);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	close_roost0(c);
}

/* A completion of an hour ago by one clock is of an hour ago by the other. */
static void read__wallclock(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_cq_ex *cq =
		create(c, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	struct ibv_poll_cq_attr attr = { 0 };
	const int64_t hour_ns = INT64_C(3600000000000);
	struct timespec mono, wall;
	int64_t want, got;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &wall);
	fake.nb_cqes = 1;
	fake.cqes[0].timestamp_ns =
		(uint64_t)(mono.tv_sec * 1000000000 + mono.tv_nsec - hour_ns);
	assert_int_equal(ibv_start_poll(cq, &attr), 0);
	got = (int64_t)ibv_wc_read_completion_wallclock_ns(cq);
	ibv_end_poll(cq);
	want = wall.tv_sec * 1000000000 + wall.tv_nsec - hour_ns;
	assert_true(got > want - 1000000000 && got < want + 1000000000);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_poll__walks_and_reads),
		cmocka_unit_test(start_poll__empty_helps_and_is_not_begun),
		cmocka_unit_test(read__never_calls_through_null),
		cmocka_unit_test(create_cq_ex__plain_poll_works_too),
		cmocka_unit_test(create_cq_ex__what_it_takes),
		cmocka_unit_test(
			create_cq_ex__ignore_overrun_reaches_the_engine),
		cmocka_unit_test(read__wallclock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
