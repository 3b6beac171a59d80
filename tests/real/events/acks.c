/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Destroys: what is not read goes, what is read waits for its ack. */

#include "tests/real/events/events.h"

/* Its receiving end fails, which raises an async event for it. */
static void break_line(struct line *l)
{
	assert_int_equal(tour_write8(l->p.a, (uintptr_t)tour.peer,
				     tour.mr->rkey ^ 1),
			 IBV_WC_REM_ACCESS_ERR);
}

static void cq__waits_for_exactly_its_acks(void **state)
{
	struct line l = line_open(NULL);
	struct destroyer d;

	(void)state;
	for (int i = 0; i < 3; i++)
		line_ring(&l);
	for (int i = 0; i < 3; i++)
		line_get(&l);
	line_hang_up(&l);
	destroy_begin(&d, destroy_cq, l.cq);
	destroy_assert_waits(&d);
	ibv_ack_cq_events(l.cq, 2);
	destroy_assert_waits(&d);
	ibv_ack_cq_events(l.cq, 1);
	destroy_end(&d);
	assert_int_equal(ibv_destroy_comp_channel(l.channel), 0);
}

static void cq__acked_in_one_go(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	for (int i = 0; i < 5; i++) {
		line_ring(&l);
		line_get(&l);
	}
	ibv_ack_cq_events(l.cq, 5);
	line_close(&l);
}

/* Of one channel: what one CQ waits for is nothing to the other. */
static void cq__no_other_waits(void **state)
{
	struct line one = line_open(NULL), two = line_open(one.channel);
	struct destroyer d;

	(void)state;
	line_ring(&one);
	line_get(&one);
	line_hang_up(&one);
	destroy_begin(&d, destroy_cq, one.cq);
	destroy_assert_waits(&d);
	/* and it is still in use */
	line_ring(&two);
	line_get(&two);
	ibv_ack_cq_events(two.cq, 1);
	line_hang_up(&two);
	assert_int_equal(ibv_destroy_cq(two.cq), 0);
	destroy_assert_waits(&d);
	ibv_ack_cq_events(one.cq, 1);
	destroy_end(&d);
	assert_int_equal(ibv_destroy_comp_channel(one.channel), 0);
}

/* The fd is readable for what is left, and for no more. */
static void cq__unread_events_go_with_it(void **state)
{
	struct line one = line_open(NULL), two = line_open(one.channel);
	struct ibv_cq *cq;
	void *context;

	(void)state;
	for (int i = 0; i < 3; i++) {
		line_ring(&one);
		line_ring(&two);
	}
	line_hang_up(&one);
	assert_int_equal(ibv_destroy_cq(one.cq), 0);
	set_nonblock(two.channel->fd);
	for (int i = 0; i < 3; i++) {
		assert_true(readable(two.channel->fd, 0));
		line_get(&two);
	}
	assert_quiet(two.channel->fd);
	assert_int_equal(ibv_get_cq_event(two.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	ibv_ack_cq_events(two.cq, 3);
	line_close(&two);
}

/* With nothing left to read the fd is quiet at once. */
static void cq__unread_events_leave_nothing(void **state)
{
	struct line l = line_open(NULL);

	(void)state;
	for (int i = 0; i < 3; i++)
		line_ring(&l);
	line_hang_up(&l);
	assert_int_equal(ibv_destroy_cq(l.cq), 0);
	assert_quiet(l.channel->fd);
	assert_int_equal(ibv_destroy_comp_channel(l.channel), 0);
}

static void qp__waits_for_its_ack(void **state)
{
	struct line one = line_open(NULL), two = line_open(NULL);
	struct ibv_async_event e;
	struct destroyer d;

	(void)state;
	break_line(&one);
	e = tour_event(IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(e.element.qp, one.p.b);
	destroy_begin(&d, destroy_qp, one.p.b);
	destroy_assert_waits(&d);
	/* nothing else does: its peer, another connection, another CQ */
	assert_int_equal(ibv_destroy_qp(one.p.a), 0);
	line_close(&two);
	destroy_assert_waits(&d);
	ibv_ack_async_event(&e);
	destroy_end(&d);
	assert_int_equal(ibv_destroy_cq(one.cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(one.channel), 0);
}

static void qp__unread_events_go_with_it(void **state)
{
	struct line one = line_open(NULL), two = line_open(NULL);
	struct ibv_async_event e;

	(void)state;
	break_line(&one);
	break_line(&two);
	line_close(&one);
	e = tour_event(IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(e.element.qp, two.p.b);
	ibv_ack_async_event(&e);
	assert_quiet(tour.context->async_fd);
	line_close(&two);
}

static void srq__waits_for_its_ack(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_srq_attr limit = { .srq_limit = 8 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_async_event e;
	struct destroyer d;
	struct tour_pair p;

	(void)state;
	attr.srq = ibv_create_srq(tour.pd, &srq_attr);
	p = tour_pair_connected(attr);
	assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	assert_int_equal(ibv_modify_srq(attr.srq, &limit, IBV_SRQ_LIMIT), 0);
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	e = tour_event(IBV_EVENT_SRQ_LIMIT_REACHED);
	tour_pair_part(p);
	destroy_begin(&d, destroy_srq, attr.srq);
	destroy_assert_waits(&d);
	ibv_ack_async_event(&e);
	destroy_end(&d);
}

static void wq__waits_for_its_ack(void **state)
{
	struct ibv_wq *wq = wq_new(tour.rcq, 4);
	struct ibv_rwq_ind_table *table = wq_table(&wq, 0);
	struct ibv_qp *qp = wq_qp(table, 0);
	struct ibv_async_event e;
	struct destroyer d;

	(void)state;
	wq_receive(wq, 1, tour.peer, tour.mr->lkey ^ 1);
	wq_datagram(qp->qp_num, 0, "x", 1);
	assert_int_equal(tour_completion(tour.rcq).status, IBV_WC_LOC_PROT_ERR);
	e = tour_event(IBV_EVENT_WQ_FATAL);
	assert_ptr_equal(e.element.wq, wq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	destroy_begin(&d, destroy_wq, wq);
	destroy_assert_waits(&d);
	ibv_ack_async_event(&e);
	destroy_end(&d);
}

/* Its async events and its completion events are two accounts. */
static void cq__waits_for_both_kinds(void **state)
{
	struct ibv_comp_channel *channel =
		ibv_create_comp_channel(tour.context);
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_cq *cq = ibv_create_cq(tour.context, 1, NULL, channel, 0);
	struct ibv_sge into = tour_sge(tour.peer, RECV_BYTES);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_async_event e, fatal;
	struct ibv_cq *event_cq;
	struct destroyer d;
	struct tour_pair p;
	void *context;

	(void)state;
	attr.recv_cq = cq;
	p = tour_pair_connected(attr);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	for (int i = 0; i <= cq->cqe; i++) {
		tour_receive(p.b, &into);
		tour_done(p.a, &wr);
	}
	assert_int_equal(ibv_get_cq_event(channel, &event_cq, &context), 0);
	e = tour_event(IBV_EVENT_CQ_ERR);
	assert_ptr_equal(e.element.cq, cq);
	fatal = tour_event(IBV_EVENT_QP_FATAL);
	ibv_ack_async_event(&fatal);
	tour_pair_part(p);
	destroy_begin(&d, destroy_cq, cq);
	destroy_assert_waits(&d);
	ibv_ack_async_event(&e);
	destroy_assert_waits(&d);
	ibv_ack_cq_events(cq, 1);
	destroy_end(&d);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

const struct CMUnitTest events_acks[] = {
	TOUR_TEST(cq__waits_for_exactly_its_acks),
	TOUR_TEST(cq__acked_in_one_go),
	TOUR_TEST(cq__no_other_waits),
	TOUR_TEST(cq__unread_events_go_with_it),
	TOUR_TEST(cq__unread_events_leave_nothing),
	TOUR_TEST(cq__waits_for_both_kinds),
	TOUR_TEST(qp__waits_for_its_ack),
	TOUR_TEST(qp__unread_events_go_with_it),
	TOUR_TEST(srq__waits_for_its_ack),
	TOUR_TEST(wq__waits_for_its_ack),
	{ 0 },
};
