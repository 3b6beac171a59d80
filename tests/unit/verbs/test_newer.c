/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "pd_world.h"

#include <unistd.h>

#include "lib/verbs/newer.h"

/* By the names that a program has from a newer verbs.h. */
__typeof__(roost_ibv_reg_mr_ex) reg_mr_ex __asm__("ibv_reg_mr_ex");
__typeof__(roost_ibv_alloc_buf) alloc_buf __asm__("ibv_alloc_buf");
__typeof__(roost_ibv_free_buf) free_buf __asm__("ibv_free_buf");
__typeof__(roost_ibv_reg_buf_mr) reg_buf_mr __asm__("ibv_reg_buf_mr");
__typeof__(roost_ibv_query_port_speed)
	query_port_speed __asm__("ibv_query_port_speed");

#define ADDR ROOST_VERBS_MR_ADDR
#define IOVA ROOST_VERBS_MR_IOVA
#define FD ROOST_VERBS_MR_FD
#define FD_OFFSET ROOST_VERBS_MR_FD_OFFSET
#define DMAH ROOST_VERBS_MR_DMAH
#define BUF ROOST_VERBS_MR_BUF

static char bytes[64];

static void reg_mr_ex__as_the_call_with_the_same_arguments(void **state)
{
	struct roost_verbs_mr_attr attr = {
		.length = sizeof(bytes),
		.access = IBV_ACCESS_LOCAL_WRITE,
		.comp_mask = ADDR,
		.addr = bytes,
		/* not valid */
		.iova = 77,
		.fd = -1,
	};
	struct ibv_mr *mr = reg_mr_ex(pd, &attr);

	assert_non_null(mr);
	assert_ptr_equal(mr->context, c);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, bytes);
	assert_int_equal(mr->length, sizeof(bytes));
	assert_ptr_equal(fake.mr_addr, bytes);
	assert_int_equal(fake.mr_iova, (uintptr_t)bytes);
	assert_int_equal(fake.mr_access, ROOST_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.comp_mask |= IOVA;
	mr = reg_mr_ex(pd, &attr);
	assert_non_null(mr);
	assert_int_equal(fake.mr_iova, 77);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.access = 1 << 30;
	assert_null_errno(reg_mr_ex(pd, &attr), EINVAL);
}

static void reg_mr_ex__masks(void **state)
{
	static const struct {
		uint64_t mask;
		int err;
	} rows[] = {
		{ 0, EINVAL },
		{ IOVA, EINVAL },
		{ FD, EINVAL },
		{ FD | FD_OFFSET, EINVAL },
		{ FD | IOVA, EINVAL },
		{ FD_OFFSET | IOVA, EINVAL },
		{ ADDR | FD, EINVAL },
		{ ADDR | FD_OFFSET, EINVAL },
		{ ADDR | FD | FD_OFFSET | IOVA, EINVAL },
		{ ADDR | DMAH, EOPNOTSUPP },
		{ ADDR | UINT64_C(1) << 6, EOPNOTSUPP },
		{ ADDR | UINT64_C(1) << 40, EOPNOTSUPP },
	};
	struct roost_verbs_mr_attr attr = { .length = sizeof(bytes),
					    .addr = bytes,
					    .fd = -1 };

	for (size_t i = 0; i < NB(rows); i++) {
		attr.comp_mask = rows[i].mask;
		assert_null_errno(reg_mr_ex(pd, &attr), rows[i].err);
	}
	assert_int_equal(fake.mrs, 0);
}

/* A region of a descriptor is what ibv_reg_dmabuf_mr() makes of it. */
static void reg_mr_ex__of_a_descriptor(void **state)
{
	const struct roost_verbs_mr_attr attr = {
		.length = 4096,
		.comp_mask = FD | FD_OFFSET | IOVA,
		.fd = -1,
	};
	struct ibv_mr *mr;
	int err;

	mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0);
	err = errno;
	assert_null(mr);
	assert_null_errno(reg_mr_ex(pd, &attr), err);
}

static void buf__is_registered_and_freed(void **state)
{
	struct roost_verbs_buf *buf;
	uint8_t *memory = alloc_buf(pd, 5000, &buf);
	struct ibv_mr *mr;

	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % (size_t)sysconf(_SC_PAGESIZE), 0);
	memset(memory, 1, 5000);
	mr = reg_buf_mr(pd, buf, memory + 4000, 1000, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, memory + 4000);
	assert_int_equal(fake.mr_len, 1000);
	assert_int_equal(fake.mr_iova, (uintptr_t)memory + 4000);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free_buf(buf);
	assert_null_errno(alloc_buf(pd, 0, &buf), EINVAL);
	assert_null_errno(alloc_buf(pd, SIZE_MAX, &buf), EINVAL);
	assert_null_errno(alloc_buf(pd, SIZE_MAX / 2, &buf), ENOMEM);
	assert_null_errno(alloc_buf(pd, 1, NULL), EINVAL);
}

static void buf__nothing_outside_and_of_its_pd(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(c);
	struct roost_verbs_buf *buf;
	uint8_t *memory = alloc_buf(pd, 100, &buf);
	struct roost_verbs_mr_attr attr = {
		.length = 100, .addr = memory, .buf = buf, .comp_mask = BUF
	};

	assert_null_errno(reg_buf_mr(other, buf, memory, 100, 0), EINVAL);
	assert_null_errno(reg_buf_mr(pd, buf, memory - 1, 1, 0), EINVAL);
	assert_null_errno(reg_buf_mr(pd, buf, memory, 101, 0), EINVAL);
	assert_null_errno(reg_buf_mr(pd, buf, memory + 1, 100, 0), EINVAL);
	assert_null_errno(reg_buf_mr(pd, buf, memory + 1, SIZE_MAX, 0), EINVAL);
	assert_null_errno(reg_buf_mr(pd, buf, memory + 101, 0, 0), EINVAL);
	assert_null_errno(reg_mr_ex(pd, &attr), EINVAL);
	attr.comp_mask = BUF | ADDR | FD;
	assert_null_errno(reg_mr_ex(pd, &attr), EINVAL);
	attr.comp_mask = BUF | FD | FD_OFFSET | IOVA;
	assert_null_errno(reg_mr_ex(pd, &attr), EINVAL);
	attr.comp_mask = BUF | ADDR | IOVA;
	attr.iova = 5;
	assert_int_equal(ibv_dereg_mr(reg_mr_ex(pd, &attr)), 0);
	assert_int_equal(fake.mr_iova, 5);
	free_buf(buf);
	ibv_dealloc_pd(other);
}

static void query_port_speed__in_100_mbps(void **state)
{
	uint64_t speed = 1;

	fake.port.speed_mbps = 100000;
	assert_int_equal(query_port_speed(c, 1, &speed), 0);
	assert_int_equal(speed, 1000);
	/* No code of width and speed says 37.5 Gb/s. */
	fake.port.speed_mbps = 37500;
	assert_int_equal(query_port_speed(c, 1, &speed), 0);
	assert_int_equal(speed, 375);
	/* As width and speed say: 2.5 Gb/s. */
	fake.port.speed_mbps = 0;
	assert_int_equal(query_port_speed(c, 1, &speed), 0);
	assert_int_equal(speed, 25);
	assert_errno(query_port_speed(c, 0, &speed), EINVAL);
	assert_errno(query_port_speed(c, 2, &speed), EINVAL);
	assert_errno(query_port_speed(c, 257, &speed), EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(reg_mr_ex__as_the_call_with_the_same_arguments),
		TEST(reg_mr_ex__masks),
		TEST(reg_mr_ex__of_a_descriptor),
		TEST(buf__is_registered_and_freed),
		TEST(buf__nothing_outside_and_of_its_pd),
		TEST(query_port_speed__in_100_mbps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
