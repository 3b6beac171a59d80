/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;

static int setup(void **state)
{
	c = open_roost0();
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	close_roost0(c);
	return 0;
}

static void pd__alloc_and_dealloc(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(c);

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
	assert_int_equal(fake.pds, 0);
}

static struct ibv_pd *parent_of(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };

	return ibv_alloc_parent_domain(c, &attr);
}

static void parent_domain__stands_for_its_pd(void **state)
{
	struct ibv_pd *first = ibv_alloc_pd(c), *pd = ibv_alloc_pd(c);
	struct ibv_pd *parent = parent_of(pd, NULL);
	struct ibv_pd *grandparent = parent_of(parent, NULL);
	struct roost_pd *engine_pd;
	struct ibv_mr *mr;
	char buf[8];

	mr = ibv_reg_mr(pd, buf, 8, 0);
	engine_pd = fake.last_pd;
	ibv_dereg_mr(mr);

	mr = ibv_reg_mr(parent, buf, 8, 0);
	assert_ptr_equal(mr->pd, parent);
	assert_ptr_equal(fake.last_pd, engine_pd);
	/* the object was made with it */
	assert_errno(ibv_dealloc_pd(parent), EBUSY);
	ibv_dereg_mr(mr);
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	/* one for a parent domain is one for its PD */
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	mr = ibv_reg_mr(grandparent, buf, 8, 0);
	assert_ptr_equal(fake.last_pd, engine_pd);
	ibv_dereg_mr(mr);
	assert_int_equal(ibv_dealloc_pd(grandparent), 0);
	assert_int_equal(fake.pds, 2);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_dealloc_pd(first), 0);
}

static void *never(struct ibv_pd *pd, void *pd_context, size_t size,
		   size_t alignment, uint64_t resource_type)
{
	(void)pd;
	(void)pd_context;
	(void)size;
	(void)alignment;
	(void)resource_type;
	fail_msg("the program's allocator was called");
	return NULL;
}

static void parent_domain__takes_allocators_and_asks_none(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(c), *parent;
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = never,
	};
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_cq_ex *cq;

	parent = ibv_alloc_parent_domain(c, &attr);
	assert_non_null(parent);
	cq_attr.parent_domain = parent;
	cq = ibv_create_cq_ex(c, &cq_attr);
	assert_non_null(cq);
	assert_errno(ibv_dealloc_pd(parent), EBUSY);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	/* a plain PD is none, and neither is nothing */
	cq_attr.parent_domain = pd;
	assert_null_errno(ibv_create_cq_ex(c, &cq_attr), EINVAL);
	cq_attr.parent_domain = NULL;
	assert_null_errno(ibv_create_cq_ex(c, &cq_attr), EINVAL);
	ibv_dealloc_pd(pd);
}

static void parent_domain__errors(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(c);
	struct ibv_parent_domain_init_attr attr = { .pd = NULL };

	assert_null_errno(ibv_alloc_parent_domain(c, &attr), EINVAL);
	attr.pd = pd;
	attr.comp_mask = 4;
	assert_null_errno(ibv_alloc_parent_domain(c, &attr), EINVAL);
	ibv_dealloc_pd(pd);
}

static void td__is_busy_in_a_parent_domain(void **state)
{
	struct ibv_td_init_attr attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(c, &attr);
	struct ibv_pd *pd = ibv_alloc_pd(c), *parent = parent_of(pd, td);

	assert_ptr_equal(td->context, c);
	assert_errno(ibv_dealloc_td(td), EBUSY);
	ibv_dealloc_pd(parent);
	assert_int_equal(ibv_dealloc_td(td), 0);
	ibv_dealloc_pd(pd);
	attr.comp_mask = 1;
	assert_null_errno(ibv_alloc_td(c, &attr), EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pd__alloc_and_dealloc),
		TEST(parent_domain__stands_for_its_pd),
		TEST(parent_domain__takes_allocators_and_asks_none),
		TEST(parent_domain__errors),
		TEST(td__is_busy_in_a_parent_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
