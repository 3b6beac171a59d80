/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What an arming gives an event for. */

#include "tests/real/events/events.h"

static void get_and_ack(struct line *l)
{
	assert_true(readable(l->channel->fd, 1000));
	line_get(l);
	ibv_ack_cq_events(l->cq, 1);
}

static void to_err(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

static void arm__is_one_shot(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	line_arm(&l, 0);
	line_send(&l, false);
	line_send(&l, true);
	get_and_ack(&l);
	assert_quiet(l.channel->fd);
	line_send(&l, true);
	assert_quiet(l.channel->fd);
	line_close(&l);
}

static void arm__twice_is_once(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	line_arm(&l, 0);
	line_arm(&l, 0);
	line_send(&l, false);
	line_send(&l, false);
	get_and_ack(&l);
	assert_quiet(l.channel->fd);
	line_close(&l);
}

/* As with ConnectX: a program that does not poll after arming sleeps no
 * completion away.
 */
static void arm__tells_what_came_before(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_wc wc;

	(void)state;
	line_send(&l, true);
	line_arm(&l, 0);
	get_and_ack(&l);
	/* Once, and nothing of what was polled. */
	line_arm(&l, 0);
	assert_quiet(l.channel->fd);
	assert_int_equal(ibv_poll_cq(l.cq, 1, &wc), 1);
	line_arm(&l, 0);
	assert_quiet(l.channel->fd);
	line_send(&l, false);
	get_and_ack(&l);
	line_close(&l);
}

/* Most programs arm first, and poll then: one event for each completion. */
static void arm__before_the_poll_tells_no_more(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_wc wc;

	(void)state;
	line_arm(&l, 0);
	for (int i = 0; i < 3; i++) {
		line_send(&l, false);
		get_and_ack(&l);
		line_arm(&l, 0);
		assert_quiet(l.channel->fd);
		assert_int_equal(ibv_poll_cq(l.cq, 1, &wc), 1);
	}
	line_close(&l);
}

static void arm__for_solicited_tells_of_those(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	line_send(&l, false);
	line_arm(&l, 1);
	assert_quiet(l.channel->fd);
	line_send(&l, true);
	get_and_ack(&l);
	line_close(&l);
}

static void arm__solicited_only(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	line_arm(&l, 1);
	line_send(&l, false);
	assert_quiet(l.channel->fd);
	line_send(&l, true);
	get_and_ack(&l);
	line_close(&l);
}

static void arm__for_all_is_not_weakened(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	line_arm(&l, 0);
	line_arm(&l, 1);
	line_send(&l, false);
	get_and_ack(&l);
	/* and the other way round it is strengthened */
	line_arm(&l, 1);
	line_arm(&l, 0);
	line_send(&l, false);
	get_and_ack(&l);
	line_close(&l);
}

/* An error at the sender's side: nothing on the wire was solicited. */
static void arm__an_error_is_solicited(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_sge from = tour_sge(tour.buf, 8);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)tour.peer,
			     .rkey = tour.mr->rkey },
	};
	struct tour_pair p;

	(void)state;
	attr.send_cq = l.cq;
	p = tour_pair_connected(attr);
	line_arm(&l, 1);
	tour_post(p.a, &wr);
	assert_int_equal(tour_completion(l.cq).status, IBV_WC_SUCCESS);
	assert_quiet(l.channel->fd);
	wr.wr.rdma.rkey ^= 1;
	tour_post(p.a, &wr);
	assert_int_equal(tour_completion(l.cq).status, IBV_WC_REM_ACCESS_ERR);
	get_and_ack(&l);
	tour_pair_part(p);
	line_close(&l);
}

static void arm__a_flush_is_solicited(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_sge into = tour_sge(tour.peer, RECV_BYTES);

	(void)state;
	tour_receive(l.p.b, &into);
	line_arm(&l, 1);
	to_err(l.p.b);
	get_and_ack(&l);
	assert_int_equal(tour_completion(l.cq).status, IBV_WC_WR_FLUSH_ERR);
	line_close(&l);
}

/* The first was not read when the second came. */
static void arm__two_events_for_one_cq(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	line_ring(&l);
	line_ring(&l);
	get_and_ack(&l);
	get_and_ack(&l);
	assert_quiet(l.channel->fd);
	line_close(&l);
}

/* CQs of one channel tell whose event it was. */
static void arm__two_cqs_of_one_channel(void **state)
{
	struct line one = line_open(NULL), two = line_open(one.channel);

	(void)state;
	line_ring(&two);
	line_ring(&one);
	get_and_ack(&two);
	get_and_ack(&one);
	assert_quiet(one.channel->fd);
	line_hang_up(&one);
	assert_int_equal(ibv_destroy_cq(one.cq), 0);
	line_close(&two);
}

static void srq_send(struct tour_pair p)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	tour_completion(tour.rcq);
}

/* Told once; when it can be read, it is no longer armed. */
static void srq_limit__is_one_shot(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_srq_attr limit = { .srq_limit = 4 };
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_async_event e;
	struct tour_pair p;

	(void)state;
	attr.srq = ibv_create_srq(tour.pd, &srq_attr);
	p = tour_pair_connected(attr);
	for (int i = 0; i < 8; i++)
		assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	assert_int_equal(ibv_modify_srq(attr.srq, &limit, IBV_SRQ_LIMIT), 0);
	for (int i = 0; i < 4; i++)
		srq_send(p);
	assert_quiet(tour.context->async_fd);
	srq_send(p);
	assert_true(readable(tour.context->async_fd, 1000));
	/* before it is read */
	assert_int_equal(ibv_query_srq(attr.srq, &limit), 0);
	assert_int_equal(limit.srq_limit, 0);
	srq_send(p);
	e = tour_event(IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(e.element.srq, attr.srq);
	ibv_ack_async_event(&e);
	assert_quiet(tour.context->async_fd);
	tour_pair_part(p);
	assert_int_equal(ibv_destroy_srq(attr.srq), 0);
}

const struct CMUnitTest events_arming[] = {
	TOUR_TEST(arm__is_one_shot),
	TOUR_TEST(arm__twice_is_once),
	TOUR_TEST(arm__tells_what_came_before),
	TOUR_TEST(arm__before_the_poll_tells_no_more),
	TOUR_TEST(arm__for_solicited_tells_of_those),
	TOUR_TEST(arm__solicited_only),
	TOUR_TEST(arm__for_all_is_not_weakened),
	TOUR_TEST(arm__an_error_is_solicited),
	TOUR_TEST(arm__a_flush_is_solicited),
	TOUR_TEST(arm__two_events_for_one_cq),
	TOUR_TEST(arm__two_cqs_of_one_channel),
	TOUR_TEST(srq_limit__is_one_shot),
	{ 0 },
};
