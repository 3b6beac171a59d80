/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_xrcd *xrcd, *other;
static struct ibv_qp *qp; /* the handle that created the target */

static int setup(void **state)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	c = open_roost0();
	xrcd = open_xrcd(c);
	other = open_xrcd(c);
	attr.xrcd = xrcd;
	qp = ibv_create_qp_ex(c, &attr);
	assert_non_null(qp);
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	assert_int_equal(fake.qps, 0);
	assert_int_equal(ibv_close_xrcd(other), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	close_roost0(c);
	return 0;
}

static struct ibv_qp_open_attr open_attr(void)
{
	return (struct ibv_qp_open_attr){
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE | IBV_QP_OPEN_ATTR_CONTEXT,
		.qp_num = 0x123456,
		.xrcd = xrcd,
		.qp_context = &xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
}

static void open_qp__is_a_handle_of_the_same_qp(void **state)
{
	struct ibv_qp_open_attr attr = open_attr();
	struct ibv_qp *handle = ibv_open_qp(c, &attr);
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_ERR };

	assert_non_null(handle);
	assert_ptr_not_equal(handle, qp);
	assert_ptr_equal(handle->context, c);
	assert_ptr_equal(handle->qp_context, &xrcd);
	assert_int_equal(handle->qp_num, 0x123456);
	assert_int_equal(handle->qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(handle->state, IBV_QPS_UNKNOWN);
	assert_null(handle->pd);
	assert_int_equal(ibv_modify_qp(handle, &qp_attr, IBV_QP_STATE), 0);
	assert_int_equal(fake.qp_attr.state, ROOST_QPS_ERR);
	/* the domain is in use by it */
	assert_errno(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_qp(handle), 0);
	assert_int_equal(fake.qps, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void open_qp__target_lives_until_its_last_handle(void **state)
{
	struct ibv_qp_open_attr attr = open_attr();
	struct ibv_qp *a = ibv_open_qp(c, &attr), *b;

	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(fake.qps, 1);
	b = ibv_open_qp(c, &attr);
	assert_non_null(b);
	assert_int_equal(ibv_destroy_qp(a), 0);
	assert_int_equal(fake.qps, 1);
	fake.fail_call = "roost_qp_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_qp(b), EBUSY);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_qp(b), 0);
	assert_int_equal(fake.qps, 0);
	assert_null_errno(ibv_open_qp(c, &attr), EINVAL);
}

/* An event goes to who created the target; when that is gone, to nobody. */
static void open_qp__events(void **state)
{
	struct ibv_qp_open_attr attr = open_attr();
	struct ibv_qp *handle = ibv_open_qp(c, &attr);
	struct ibv_async_event event;

	fake.event = (struct roost_event){
		.source = &fake.qp_async,
		.type = ROOST_EVENT_QP_FATAL,
	};
	assert_int_equal(ibv_get_async_event(c, &event), 0);
	assert_ptr_equal(event.element.qp, qp);
	ibv_ack_async_event(&event);
	assert_int_equal(fake.acked, 1);

	assert_int_equal(ibv_destroy_qp(qp), 0);
	fake.events[0] = fake.event;
	fake.events[1] = (struct roost_event){
		.source = &fake.port_async,
		.type = ROOST_EVENT_GID_CHANGE,
		.arg = 1,
	};
	fake.nb_events = 2;
	assert_int_equal(ibv_get_async_event(c, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_GID_CHANGE);
	assert_ptr_equal(fake.acked_source, &fake.qp_async);
	assert_int_equal(fake.acked, 2);
	ibv_destroy_qp(handle);
}

static void open_qp__errors(void **state)
{
	struct ibv_qp_open_attr attr;

	for (uint32_t bit = 1; bit < IBV_QP_OPEN_ATTR_RESERVED; bit <<= 1) {
		if (bit == IBV_QP_OPEN_ATTR_CONTEXT)
			continue;
		attr = open_attr();
		attr.comp_mask &= ~bit;
		assert_null_errno(ibv_open_qp(c, &attr), EINVAL);
	}
	attr = open_attr();
	attr.comp_mask |= IBV_QP_OPEN_ATTR_RESERVED;
	assert_null_errno(ibv_open_qp(c, &attr), EOPNOTSUPP);
	attr = open_attr();
	attr.qp_type = IBV_QPT_RC;
	assert_null_errno(ibv_open_qp(c, &attr), EINVAL);
	attr = open_attr();
	attr.qp_num = 5;
	assert_null_errno(ibv_open_qp(c, &attr), EINVAL);
	attr = open_attr();
	attr.xrcd = other;
	assert_null_errno(ibv_open_qp(c, &attr), EINVAL);
	ibv_destroy_qp(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open_qp__is_a_handle_of_the_same_qp),
		TEST(open_qp__target_lives_until_its_last_handle),
		TEST(open_qp__events),
		TEST(open_qp__errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
