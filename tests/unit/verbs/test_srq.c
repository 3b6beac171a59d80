/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_xrcd *xrcd;
static int srq_context;

static int setup(void **state)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};

	c = open_roost0();
	pd = ibv_alloc_pd(c);
	cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	xrcd = ibv_open_xrcd(c, &attr);
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	ibv_close_xrcd(xrcd);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static struct ibv_srq *create_basic(void)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = &srq_context,
		.attr = { .max_wr = 10, .max_sge = 2, .srq_limit = 99 },
	};
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	assert_non_null(srq);
	assert_int_equal(attr.attr.max_wr, 11);
	assert_int_equal(attr.attr.max_sge, 2);
	return srq;
}

static void create_srq__fills_what_the_program_reads(void **state)
{
	struct ibv_srq *srq = create_basic();
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 } };
	uint32_t num;

	assert_ptr_equal(srq->context, c);
	assert_ptr_equal(srq->srq_context, &srq_context);
	assert_ptr_equal(srq->pd, pd);
	assert_int_equal(fake.srq_init.max_wr, 10);
	assert_int_equal(fake.srq_init.max_sge, 2);
	assert_null(fake.srq_init.xrcd);
	assert_null(fake.srq_init.cq);
	assert_ptr_equal(fake.srq_init.owner, srq);
	assert_errno(ibv_get_srq_num(srq, &num), EINVAL);
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	fake.fail_call = "roost_srq_create";
	fake.fail_rc = -EINVAL;
	assert_null_errno(ibv_create_srq(pd, &attr), EINVAL);
	assert_int_equal(attr.attr.max_wr, 1);
}

static struct ibv_srq_init_attr_ex xrc_attr(void)
{
	return (struct ibv_srq_init_attr_ex){
		.srq_context = &srq_context,
		.attr = { .max_wr = 10, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};
}

static void create_srq_ex__xrc_has_a_number(void **state)
{
	struct ibv_srq_init_attr_ex attr = xrc_attr();
	struct ibv_srq *srq = ibv_create_srq_ex(c, &attr);
	uint32_t num = 0;

	assert_non_null(srq);
	assert_int_equal(attr.attr.max_wr, 11);
	assert_non_null(fake.srq_init.xrcd);
	assert_non_null(fake.srq_init.cq);
	assert_int_equal(ibv_get_srq_num(srq, &num), 0);
	assert_int_equal(num, 0x654321);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* Through the context, as ibv_create_srq_ex() does when there is more. */
static void create_srq_ex__basic(void **state)
{
	struct ibv_srq_init_attr_ex attr = xrc_attr();
	struct ibv_srq *srq;

	attr.srq_type = IBV_SRQT_BASIC;
	srq = ibv_create_srq_ex(c, &attr);
	assert_non_null(srq);
	assert_null(fake.srq_init.xrcd);
	assert_null(fake.srq_init.cq);
	ibv_destroy_srq(srq);
	/* without a type, too */
	attr.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_TYPE;
	srq = ibv_create_srq_ex(c, &attr);
	assert_non_null(srq);
	assert_null(fake.srq_init.xrcd);
	ibv_destroy_srq(srq);
}

static void create_srq_ex__errors(void **state)
{
	const uint32_t all = xrc_attr().comp_mask;
	const struct {
		uint32_t mask;
		int type;
		bool no_pd, no_xrcd, no_cq;
		int error;
	} rows[] = {
		{ all & ~(uint32_t)IBV_SRQ_INIT_ATTR_PD, IBV_SRQT_XRC, false,
		  false, false, EINVAL },
		{ all & ~(uint32_t)IBV_SRQ_INIT_ATTR_XRCD, IBV_SRQT_XRC, false,
		  false, false, EINVAL },
		{ all & ~(uint32_t)IBV_SRQ_INIT_ATTR_CQ, IBV_SRQT_XRC, false,
		  false, false, EINVAL },
		{ all, IBV_SRQT_XRC, true, false, false, EINVAL },
		{ all, IBV_SRQT_XRC, false, true, false, EINVAL },
		{ all, IBV_SRQT_XRC, false, false, true, EINVAL },
		{ all, 77, false, false, false, EINVAL },
		{ all, IBV_SRQT_TM, false, false, false, EOPNOTSUPP },
		{ all | IBV_SRQ_INIT_ATTR_TM, IBV_SRQT_XRC, false, false, false,
		  EOPNOTSUPP },
		{ all | IBV_SRQ_INIT_ATTR_RESERVED, IBV_SRQT_XRC, false, false,
		  false, EOPNOTSUPP },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_srq_init_attr_ex attr = xrc_attr();

		attr.comp_mask = rows[i].mask;
		attr.srq_type = (enum ibv_srq_type)rows[i].type;
		if (rows[i].no_pd)
			attr.pd = NULL;
		if (rows[i].no_xrcd)
			attr.xrcd = NULL;
		if (rows[i].no_cq)
			attr.cq = NULL;
		assert_null_errno(ibv_create_srq_ex(c, &attr), rows[i].error);
	}
	assert_int_equal(fake.srqs, 0);
}

static void modify_srq__limit_and_size(void **state)
{
	struct ibv_srq *srq = create_basic();
	struct ibv_srq_attr attr = { .max_wr = 5, .srq_limit = 4 };

	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(fake.srq_limit, 4);
	assert_int_equal(fake.srq_max_wr, 11);
	attr.srq_limit = 5;
	assert_int_equal(ibv_modify_srq(srq, &attr,
					IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
			 0);
	assert_int_equal(fake.srq_limit, 5);
	assert_int_equal(fake.srq_max_wr, 5);
	memset(&attr, 0, sizeof(attr));
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 5);
	assert_int_equal(attr.max_sge, 2);
	assert_int_equal(attr.srq_limit, 5);
	ibv_destroy_srq(srq);
}

static void modify_srq__errors_change_nothing(void **state)
{
	struct ibv_srq *srq = create_basic();
	struct ibv_srq_attr attr = { .max_wr = 5, .srq_limit = 6 };

	assert_errno(ibv_modify_srq(srq, &attr, 4), EINVAL);
	/* beyond the size that there would be */
	assert_errno(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		     EINVAL);
	attr.srq_limit = 12;
	assert_errno(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	/* below the limit that is armed, unless a new one comes with it */
	attr.srq_limit = 6;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_errno(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(fake.srq_max_wr, 11);
	attr.srq_limit = 0;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	fake.fail_call = "roost_srq_resize";
	fake.fail_rc = -ENOMEM;
	attr.srq_limit = 1;
	assert_errno(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		     ENOMEM);
	assert_int_equal(fake.srq_max_wr, 11);
	assert_int_equal(fake.srq_limit, 0);
	fake.fail_call = NULL;
	ibv_destroy_srq(srq);
}

static void destroy_srq__refused_changes_nothing(void **state)
{
	struct ibv_srq *srq = create_basic();

	fake.fail_call = "roost_srq_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_srq(srq), EBUSY);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_srq__fills_what_the_program_reads),
		TEST(create_srq_ex__xrc_has_a_number),
		TEST(create_srq_ex__basic),
		TEST(create_srq_ex__errors),
		TEST(modify_srq__limit_and_size),
		TEST(modify_srq__errors_change_nothing),
		TEST(destroy_srq__refused_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
