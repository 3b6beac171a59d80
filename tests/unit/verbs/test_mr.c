/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static void pd__alloc_and_dealloc(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_pd *pd = ibv_alloc_pd(c);

	(void)state;
	assert_non_null(pd);
	assert_ptr_equal(pd->context, c);
	assert_int_equal(pd->handle, 77);
	fake.fail_call = "roost_pd_dealloc";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	fake.fail_call = "roost_pd_alloc";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_alloc_pd(c), ENOMEM);
	fake.fail_call = NULL;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	close_roost0(c);
}

static void reg_mr__fills_what_the_program_reads(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_pd *pd = ibv_alloc_pd(c);
	char buf[100];
	struct ibv_mr *mr;

	(void)state;
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->context, c);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, buf);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->lkey, 0x1111);
	assert_int_equal(mr->rkey, 0x2222);
	assert_int_equal(fake.mr_len, 100);
	assert_true(fake.mr_iova == (uintptr_t)buf);
	assert_int_equal(fake.mr_access, ROOST_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_dealloc_pd(pd);
	close_roost0(c);
}

/* All entry points reach the same place; optional flags are dropped. */
static void reg_mr__every_entry_point(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_pd *pd = ibv_alloc_pd(c);
	unsigned int access = IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB;
	char buf[8];
	struct ibv_mr *mr;

	(void)state;
	mr = (ibv_reg_mr)(pd, buf, 8, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(fake.mr_access, ROOST_ACCESS_REMOTE_READ);
	ibv_dereg_mr(mr);
	mr = (ibv_reg_mr_iova)(pd, buf, 8, 0x5000, 0);
	assert_true(fake.mr_iova == 0x5000);
	ibv_dereg_mr(mr);
	mr = ibv_reg_mr_iova2(pd, buf, 8, 0x6000, access);
	assert_true(fake.mr_iova == 0x6000);
	assert_int_equal(fake.mr_access, ROOST_ACCESS_LOCAL_WRITE);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	close_roost0(c);
}

static void reg_mr__errors(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_pd *pd = ibv_alloc_pd(c);
	char buf[8];

	(void)state;
	assert_null_errno(ibv_reg_mr(pd, buf, 8, 1 << 12), EINVAL);
	fake.fail_call = "roost_mr_reg";
	fake.fail_rc = -EFAULT;
	assert_null_errno(ibv_reg_mr(pd, buf, 8, 0), EFAULT);
	fake.fail_call = NULL;
	ibv_dealloc_pd(pd);
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pd__alloc_and_dealloc),
		cmocka_unit_test(reg_mr__fills_what_the_program_reads),
		cmocka_unit_test(reg_mr__every_entry_point),
		cmocka_unit_test(reg_mr__errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
