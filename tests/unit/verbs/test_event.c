/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_comp_channel *ch;
static struct ibv_cq *cq;
static struct ibv_pd *pd;
static struct ibv_qp *qp;
static int cq_context;

static int setup(void **state)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	c = open_roost0();
	ch = ibv_create_comp_channel(c);
	assert_non_null(ch);
	cq = ibv_create_cq(c, 1, &cq_context, ch, 0);
	pd = ibv_alloc_pd(c);
	qp = ibv_create_qp(pd, &attr);
	fake.expects = 0;
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	ibv_destroy_qp(qp);
	ibv_dealloc_pd(pd);
	ibv_destroy_cq(cq);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
	close_roost0(c);
	return 0;
}

static void comp_channel__is_busy_while_a_cq_refers_to_it(void **state)
{
	assert_ptr_equal(ch->context, c);
	assert_int_equal(ch->fd, 1002);
	assert_int_equal(ch->refcnt, 1);
	assert_ptr_equal(cq->channel, ch);
	assert_non_null(fake.cq_channel);
	assert_errno(ibv_destroy_comp_channel(ch), EBUSY);
}

static void comp_channel__no_descriptor_left(void **state)
{
	fake.fail_call = "roost_channel_create";
	fake.fail_rc = -EMFILE;
	assert_null_errno(ibv_create_comp_channel(c), EMFILE);
}

static void get_cq_event__gives_cq_and_context(void **state)
{
	struct ibv_cq *got = NULL;
	void *got_context = NULL;

	fake.event = (struct roost_event){ .source = &fake.cq_comp };
	assert_int_equal(ibv_get_cq_event(ch, &got, &got_context), 0);
	assert_ptr_equal(got, cq);
	assert_ptr_equal(got_context, &cq_context);
	assert_int_equal(fake.expects, 1);

	ibv_ack_cq_events(cq, 0);
	assert_null(fake.acked_source);
	ibv_ack_cq_events(cq, 3);
	assert_ptr_equal(fake.acked_source, &fake.cq_comp);
	assert_int_equal(fake.acked, 3);
	assert_int_equal(cq->comp_events_completed, 3);
	assert_int_equal(cq->async_events_completed, 0);
}

static void get_event__says_why_not(void **state)
{
	struct ibv_async_event event;
	struct ibv_cq *got;
	void *ctx;

	fake.fail_call = "roost_channel_read";
	fake.fail_rc = -EAGAIN;
	assert_minus_one_errno(ibv_get_cq_event(ch, &got, &ctx), EAGAIN);
	assert_minus_one_errno(ibv_get_async_event(c, &event), EAGAIN);
	fake.fail_rc = -EINTR;
	assert_minus_one_errno(ibv_get_cq_event(ch, &got, &ctx), EINTR);
	assert_minus_one_errno(ibv_get_async_event(c, &event), EINTR);
}

static void async_event__of_a_qp(void **state)
{
	struct ibv_async_event event;

	fake.event = (struct roost_event){
		.source = &fake.qp_async,
		.type = ROOST_EVENT_QP_FATAL,
	};
	assert_int_equal(ibv_get_async_event(c, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(event.element.qp, qp);
	ibv_ack_async_event(&event);
	assert_ptr_equal(fake.acked_source, &fake.qp_async);
	assert_int_equal(fake.acked, 1);
	assert_int_equal(qp->events_completed, 1);
}

static void async_event__of_a_cq(void **state)
{
	struct ibv_async_event event;

	fake.event = (struct roost_event){
		.source = &fake.cq_async,
		.type = ROOST_EVENT_CQ_ERR,
	};
	assert_int_equal(ibv_get_async_event(c, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, cq);
	ibv_ack_async_event(&event);
	assert_ptr_equal(fake.acked_source, &fake.cq_async);
	assert_int_equal(cq->async_events_completed, 1);
	assert_int_equal(cq->comp_events_completed, 0);
}

static void async_event__of_an_srq(void **state)
{
	static const struct {
		uint32_t engine;
		enum ibv_event_type type;
	} rows[] = {
		{ ROOST_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED },
		{ ROOST_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR },
	};
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	struct ibv_async_event event;

	for (uint32_t i = 0; i < NB(rows); i++) {
		fake.event = (struct roost_event){
			.source = &fake.srq_async,
			.type = rows[i].engine,
		};
		assert_int_equal(ibv_get_async_event(c, &event), 0);
		assert_int_equal(event.event_type, rows[i].type);
		assert_ptr_equal(event.element.srq, srq);
		ibv_ack_async_event(&event);
		assert_ptr_equal(fake.acked_source, &fake.srq_async);
		assert_int_equal(fake.acked, i + 1);
		assert_int_equal(srq->events_completed, i + 1);
	}
	ibv_destroy_srq(srq);
}

static void async_event__of_a_port_needs_no_object(void **state)
{
	struct ibv_async_event event;

	fake.event = (struct roost_event){
		.source = &fake.port_async,
		.type = ROOST_EVENT_GID_CHANGE,
		.arg = 1,
	};
	assert_int_equal(ibv_get_async_event(c, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_GID_CHANGE);
	assert_int_equal(event.element.port_num, 1);
	ibv_ack_async_event(&event);
	assert_int_equal(fake.acked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(comp_channel__is_busy_while_a_cq_refers_to_it),
		TEST(comp_channel__no_descriptor_left),
		TEST(get_cq_event__gives_cq_and_context),
		TEST(get_event__says_why_not),
		TEST(async_event__of_a_qp),
		TEST(async_event__of_a_cq),
		TEST(async_event__of_an_srq),
		TEST(async_event__of_a_port_needs_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
