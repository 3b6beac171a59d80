/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pd_world.h"

static char buf[100];

static void reg_mr__fills_what_the_program_reads(void **state)
{
	struct ibv_mr *mr;

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
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* All entry points reach the same place; optional flags are dropped. */
static void reg_mr__every_entry_point(void **state)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB;
	struct ibv_mr *mr;

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
}

static void reg_mr__whole_address_space(void **state)
{
	struct ibv_mr *mr =
		ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);

	assert_non_null(mr);
	assert_null(fake.mr_addr);
	assert_true(fake.mr_len == SIZE_MAX);
	assert_int_equal(fake.mr_access, ROOST_ACCESS_ON_DEMAND);
	ibv_dereg_mr(mr);
}

static void reg_mr__errors(void **state)
{
	assert_null_errno(ibv_reg_mr(pd, buf, 8, 1 << 12), EINVAL);
	fake.fail_call = "roost_mr_reg";
	fake.fail_rc = -EFAULT;
	assert_null_errno(ibv_reg_mr(pd, buf, 8, 0), EFAULT);
}

static void dereg_mr__refused_changes_nothing(void **state)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, 8, 0);

	fake.fail_call = "roost_mr_dereg";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_dereg_mr(mr), EBUSY);
	fake.fail_call = NULL;
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void rereg_mr__each_change(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(c);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, 8, 0);
	char next[16];

	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      next, 16, 0),
			 0);
	assert_int_equal(fake.rereg_what, ROOST_REREG_TRANSLATION);
	assert_ptr_equal(fake.mr_addr, next);
	assert_int_equal(fake.mr_len, 16);
	assert_ptr_equal(mr->addr, next);
	assert_int_equal(mr->length, 16);

	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_WRITE),
			 0);
	assert_int_equal(fake.rereg_what, ROOST_REREG_ACCESS);
	assert_int_equal(fake.mr_access,
			 ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE);
	assert_ptr_equal(mr->addr, next);

	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL,
				      0, 0),
			 0);
	assert_int_equal(fake.rereg_what, ROOST_REREG_PD);
	assert_ptr_equal(mr->pd, other);
	assert_errno(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void rereg_mr__errors_change_nothing(void **state)
{
	static const struct {
		int flags;
		bool addr;
		size_t length;
		int access;
	} rows[] = {
		{ 8, false, 0, 0 },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, false, 8, 0 },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, true, 0, 0 },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, true, 8,
		  IBV_ACCESS_LOCAL_WRITE },
		{ IBV_REREG_MR_CHANGE_PD, false, 0, 0 },
		{ IBV_REREG_MR_CHANGE_ACCESS, false, 0, 1 << 12 },
	};
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, 8, 0);

	for (size_t i = 0; i < NB(rows); i++) {
		errno = 0;
		assert_int_equal(ibv_rereg_mr(mr, rows[i].flags, NULL,
					      rows[i].addr ? buf + 1 : NULL,
					      rows[i].length, rows[i].access),
				 IBV_REREG_MR_ERR_INPUT);
		assert_int_equal(errno, EINVAL);
	}
	fake.fail_call = "roost_mr_rereg";
	fake.fail_rc = -EBUSY;
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      buf + 1, 4, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	assert_ptr_equal(mr->addr, buf);
	assert_int_equal(mr->length, 8);
	assert_int_equal(fake.rereg_what, 0);
	fake.fail_call = NULL;
	ibv_dereg_mr(mr);
}

static void alloc_null_mr__is_of_every_address(void **state)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(pd);

	assert_non_null(mr);
	assert_null(mr->addr);
	assert_true(mr->length == SIZE_MAX);
	assert_int_equal(mr->lkey, 0x1111);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	fake.fail_call = "roost_mr_alloc_null";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_alloc_null_mr(pd), ENOMEM);
}

static void advise_mr__faults_in_what_it_is_told(void **state)
{
	struct ibv_sge sges[2] = { { 0x1000, 16, 5 }, { 0x2000, 32, 6 } };

	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				       IBV_ADVISE_MR_FLAG_FLUSH, sges, 2),
			 0);
	assert_int_equal(fake.nb_prefetched, 2);
	assert_int_equal(fake.nb_for_write, 0);
	assert_true(fake.prefetched[1].addr == 0x2000);
	assert_int_equal(fake.prefetched[1].len_bytes, 32);
	assert_int_equal(fake.prefetched[1].lkey, 6);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       0, sges, 1),
			 0);
	assert_int_equal(fake.nb_for_write, 1);
	assert_int_equal(ibv_advise_mr(pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				       0, sges, 1),
			 0);
	assert_int_equal(fake.nb_prefetched, 3);
}

static void advise_mr__errors(void **state)
{
	struct ibv_sge sge = { 0x1000, 16, 5 };

	assert_errno(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, &sge,
				   1),
		     EINVAL);
	assert_errno(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
				   0),
		     EINVAL);
	assert_errno(ibv_advise_mr(pd, (enum ibv_advise_mr_advice)77, 0, &sge,
				   1),
		     ENOTSUP);
	fake.fail_call = "roost_mr_prefetch";
	fake.fail_rc = -EFAULT;
	assert_errno(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
				   1),
		     EFAULT);
	assert_int_equal(fake.nb_prefetched, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reg_mr__fills_what_the_program_reads),
		TEST(reg_mr__every_entry_point),
		TEST(reg_mr__whole_address_space),
		TEST(reg_mr__errors),
		TEST(dereg_mr__refused_changes_nothing),
		TEST(rereg_mr__each_change),
		TEST(rereg_mr__errors_change_nothing),
		TEST(alloc_null_mr__is_of_every_address),
		TEST(advise_mr__faults_in_what_it_is_told),
		TEST(advise_mr__errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
