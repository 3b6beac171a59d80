/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pd_world.h"

static struct ibv_dm *alloc(size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = {
		.length = length,
		.log_align_req = log_align,
	};

	return ibv_alloc_dm(c, &attr);
}

static void dm__what_is_written_can_be_read(void **state)
{
	struct ibv_dm *dm = alloc(100, 0);
	char got[8] = "xxxxxxx";

	assert_non_null(dm);
	assert_ptr_equal(dm->context, c);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 92, 8), 0);
	assert_memory_equal(got, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(ibv_memcpy_to_dm(dm, 92, "abcdefg", 8), 0);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 96, 4), 0);
	assert_string_equal(got, "efg");
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void dm__nothing_outside(void **state)
{
	static const struct {
		uint64_t offset;
		size_t length;
	} rows[] = {
		{ 93, 8 },         { 101, 0 },          { 0, 101 },
		{ UINT64_MAX, 1 }, { 8, SIZE_MAX - 4 },
	};
	struct ibv_dm *dm = alloc(100, 0);
	char host[128];

	for (size_t i = 0; i < NB(rows); i++) {
		assert_errno(ibv_memcpy_to_dm(dm, rows[i].offset, host,
					      rows[i].length),
			     EFAULT);
		assert_errno(ibv_memcpy_from_dm(host, dm, rows[i].offset,
						rows[i].length),
			     EFAULT);
		assert_null_errno(ibv_reg_dm_mr(pd, dm, rows[i].offset,
						rows[i].length,
						IBV_ACCESS_ZERO_BASED),
				  EINVAL);
	}
	assert_int_equal(ibv_memcpy_to_dm(dm, 100, host, 0), 0);
	ibv_free_dm(dm);
}

static void dm__words_of_four_bytes(void **state)
{
	struct ibv_dm *dm = alloc(100, 0);
	char host[8] = "abcdefg";

	assert_errno(ibv_memcpy_to_dm(dm, 1, host, 4), EINVAL);
	assert_errno(ibv_memcpy_to_dm(dm, 4, host, 2), EINVAL);
	assert_errno(ibv_memcpy_from_dm(host, dm, 2, 4), EINVAL);
	assert_errno(ibv_memcpy_from_dm(host, dm, 4, 3), EINVAL);
	assert_string_equal(host, "abcdefg");
	ibv_free_dm(dm);
}

static void alloc_dm__limits(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 8, .comp_mask = 1 };
	struct ibv_dm *dm;

	assert_null_errno(ibv_alloc_dm(c, &attr), EINVAL);
	assert_null_errno(alloc(0, 0), EINVAL);
	assert_null_errno(alloc(((size_t)256 << 20) + 1, 0), EINVAL);
	assert_null_errno(alloc(8, 22), EINVAL);
	dm = alloc(8, 21);
	assert_non_null(dm);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void reg_dm_mr__counts_from_0(void **state)
{
	struct ibv_dm *dm = alloc(100, 16);
	struct ibv_mr *mr;

	mr = ibv_reg_dm_mr(pd, dm, 40, 60,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, 60);
	assert_int_equal(fake.mr_iova, 0);
	assert_int_equal(((uintptr_t)fake.mr_addr - 40) & 0xffff, 0);
	assert_int_equal(fake.mr_access,
			 ROOST_ACCESS_ZERO_BASED | ROOST_ACCESS_LOCAL_WRITE);
	assert_errno(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void reg_dm_mr__errors_hold_nothing(void **state)
{
	struct ibv_dm *dm = alloc(100, 0);

	assert_null_errno(ibv_reg_dm_mr(pd, dm, 0, 8, IBV_ACCESS_LOCAL_WRITE),
			  EINVAL);
	fake.fail_call = "roost_mr_reg";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_reg_dm_mr(pd, dm, 0, 8, IBV_ACCESS_ZERO_BASED),
			  ENOMEM);
	assert_int_equal(ibv_free_dm(dm), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dm__what_is_written_can_be_read),
		TEST(dm__nothing_outside),
		TEST(dm__words_of_four_bytes),
		TEST(alloc_dm__limits),
		TEST(reg_dm_mr__counts_from_0),
		TEST(reg_dm_mr__errors_hold_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
