/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * One table: what happens, which events it makes, of which object, how often.
 * Events of ports and devices, and of migrating paths, are caused from outside
 * or take two ports; they are not in here.
 */

#include "tests/real/events/events.h"

#define TYPES_MAX 3

/* What an event may be of. */
struct scene {
	struct tour_pair p; /* traffic goes from a to b */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_xrcd *xrcd;
};

enum of {
	OF_A,
	OF_B,
	OF_CQ,
	OF_SRQ,
	OF_WQ
};

struct cause {
	const char *name;
	void (*happen)(struct scene *s);
	struct {
		enum ibv_event_type type;
		enum of of;
		unsigned int count;
	} events[TYPES_MAX];
};

static enum ibv_wc_status send_one(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	return tour_done(qp, &wr);
}

static void receive_one(struct ibv_qp *qp)
{
	struct ibv_sge into = tour_sge(tour.peer, RECV_BYTES);

	tour_receive(qp, &into);
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

/* ---- QPs -------------------------------------------------------------------
 */

static void write_not_allowed(struct scene *s)
{
	s->p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	modify(s->p.b, (struct ibv_qp_attr){ .qp_access_flags = 0 },
	       IBV_QP_ACCESS_FLAGS);
	assert_int_equal(tour_write8(s->p.a, (uintptr_t)tour.peer,
				     tour.mr->rkey),
			 IBV_WC_REM_INV_REQ_ERR);
}

static void write_with_a_bad_key(struct scene *s)
{
	s->p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	assert_int_equal(tour_write8(s->p.a, (uintptr_t)tour.peer,
				     tour.mr->rkey ^ 1),
			 IBV_WC_REM_ACCESS_ERR);
}

/* The receiving end stays in RTR, and is told of its first packet only. */
static void traffic_in_rtr(struct scene *s)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_qp_init_attr_ex attr_b = attr;

	s->p.a = ibv_create_qp_ex(tour.context, &attr);
	s->p.b = ibv_create_qp_ex(tour.context, &attr_b);
	tour_connect(s->p.a, s->p.b->qp_num);
	tour_to_rtr(s->p.b, s->p.a->qp_num);
	for (int i = 0; i < 3; i++) {
		receive_one(s->p.b);
		assert_int_equal(send_one(s->p.a), IBV_WC_SUCCESS);
	}
	tour_to_rts(s->p.b);
	receive_one(s->p.b);
	assert_int_equal(send_one(s->p.a), IBV_WC_SUCCESS);
}

/* What was not begun by then waits for RTS. */
static void drain_with_notice(struct scene *s)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	s->p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	tour_post(s->p.a, &wr);
	modify(s->p.a,
	       (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD,
				     .en_sqd_async_notify = 1 },
	       IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	assert_true(readable(tour.context->async_fd, 5000));
	modify(s->p.a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS },
	       IBV_QP_STATE);
	assert_int_equal(tour_completion(tour.scq).status, IBV_WC_SUCCESS);
}

static void drain_without_notice(struct scene *s)
{
	s->p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	modify(s->p.a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD },
	       IBV_QP_STATE);
}

/* Asked for, so no event says that it failed. */
static void err_asked_for(struct scene *s)
{
	s->p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	modify(s->p.b, (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR },
	       IBV_QP_STATE);
}

/* ---- SRQs ------------------------------------------------------------------
 */

static void on_an_srq(struct scene *s, unsigned int nb_recvs)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_recv_wr recv = { 0 }, *bad;

	s->srq = ibv_create_srq(tour.pd, &srq_attr);
	attr.srq = s->srq;
	s->p = tour_pair_connected(attr);
	while (nb_recvs-- > 0)
		assert_int_equal(ibv_post_srq_recv(s->srq, &recv, &bad), 0);
}

static void err_on_an_srq(struct scene *s)
{
	on_an_srq(s, 2);
	modify(s->p.b, (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR },
	       IBV_QP_STATE);
}

static void below_the_limit(struct scene *s)
{
	struct ibv_srq_attr limit = { .srq_limit = 3 };

	on_an_srq(s, 4);
	assert_int_equal(ibv_modify_srq(s->srq, &limit, IBV_SRQ_LIMIT), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(send_one(s->p.a), IBV_WC_SUCCESS);
}

static struct ibv_xrcd *open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(tour.context, &attr);
}

static void on_an_xrc_srq(struct scene *s)
{
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 64, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = tour.pd,
	};
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_XRC_SEND);

	s->xrcd = open_xrcd();
	s->cq = ibv_create_cq(tour.context, 1, NULL, NULL, 0);
	srq_attr.xrcd = s->xrcd;
	srq_attr.cq = s->cq;
	s->srq = ibv_create_srq_ex(tour.context, &srq_attr);
	assert_non_null(s->srq);
	s->p.a = ibv_create_qp_ex(tour.context, &attr);
	attr = tour_init_attr(IBV_QPT_XRC_RECV);
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = s->xrcd;
	s->p.b = ibv_create_qp_ex(tour.context, &attr);
	tour_connect(s->p.b, s->p.a->qp_num);
	tour_connect(s->p.a, s->p.b->qp_num);
}

/* An XRC SRQ has a CQ of its own, and ends with it. */
static void overrun_of_an_srq(struct scene *s)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { 0 }, *bad;

	on_an_xrc_srq(s);
	assert_int_equal(ibv_get_srq_num(s->srq, &wr.qp_type.xrc.remote_srqn),
			 0);
	for (int i = 0; i <= s->cq->cqe; i++) {
		assert_int_equal(ibv_post_srq_recv(s->srq, &recv, &bad), 0);
		assert_int_equal(tour_done(s->p.a, &wr), IBV_WC_SUCCESS);
	}
}

/* ---- CQs and WQs -----------------------------------------------------------
 */

/* Only b receives to it: a stays out of this. */
static void overrun_of_a_qp(struct scene *s)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);

	s->p.a = ibv_create_qp_ex(tour.context, &attr);
	s->cq = ibv_create_cq(tour.context, 1, NULL, NULL, 0);
	attr = tour_init_attr(IBV_QPT_RC);
	attr.recv_cq = s->cq;
	s->p.b = ibv_create_qp_ex(tour.context, &attr);
	tour_connect(s->p.a, s->p.b->qp_num);
	tour_connect(s->p.b, s->p.a->qp_num);
	for (int i = 0; i <= s->cq->cqe; i++) {
		receive_one(s->p.b);
		send_one(s->p.a);
	}
}

static void on_a_wq(struct scene *s, int cqe)
{
	s->cq = ibv_create_cq(tour.context, cqe, NULL, NULL, 0);
	s->wq = wq_new(s->cq, 8);
	s->table = wq_table(&s->wq, 0);
	s->p.b = wq_qp(s->table, 0);
}

static void overrun_of_a_wq(struct scene *s)
{
	on_a_wq(s, 1);
	for (int i = 0; i <= s->cq->cqe; i++) {
		wq_receive(s->wq, 1, tour.peer, tour.mr->lkey);
		wq_datagram(s->p.b->qp_num, 0, "x", 1);
	}
}

static void bad_key_on_a_wq(struct scene *s)
{
	on_a_wq(s, 8);
	wq_receive(s->wq, 1, tour.peer, tour.mr->lkey ^ 1);
	wq_datagram(s->p.b->qp_num, 0, "x", 1);
}

/* ---- the table -------------------------------------------------------------
 */

static const struct cause causes[] = {
	{ "a CQ overruns, and the QP on it",
	  overrun_of_a_qp,
	  { { IBV_EVENT_CQ_ERR, OF_CQ, 1 }, { IBV_EVENT_QP_FATAL, OF_B, 1 } } },
	{ "a WRITE to a QP that allows none",
	  write_not_allowed,
	  { { IBV_EVENT_QP_REQ_ERR, OF_B, 1 } } },
	{ "a WRITE with a bad key",
	  write_with_a_bad_key,
	  { { IBV_EVENT_QP_ACCESS_ERR, OF_B, 1 } } },
	{ "packets in RTR",
	  traffic_in_rtr,
	  { { IBV_EVENT_COMM_EST, OF_B, 1 } } },
	{ "SQD with notice",
	  drain_with_notice,
	  { { IBV_EVENT_SQ_DRAINED, OF_A, 1 } } },
	{ "SQD without notice", drain_without_notice, { { 0 } } },
	{ "ERR that was asked for", err_asked_for, { { 0 } } },
	{ "ERR of a QP on an SRQ",
	  err_on_an_srq,
	  { { IBV_EVENT_QP_LAST_WQE_REACHED, OF_B, 1 } } },
	{ "an SRQ falls below its limit",
	  below_the_limit,
	  { { IBV_EVENT_SRQ_LIMIT_REACHED, OF_SRQ, 1 } } },
	{ "a CQ overruns, and the XRC SRQ on it, in use",
	  overrun_of_an_srq,
	  { { IBV_EVENT_CQ_ERR, OF_CQ, 1 },
	    { IBV_EVENT_SRQ_ERR, OF_SRQ, 1 },
	    { IBV_EVENT_QP_FATAL, OF_B, 1 } } },
	{ "a CQ overruns, and the WQ on it",
	  overrun_of_a_wq,
	  { { IBV_EVENT_CQ_ERR, OF_CQ, 1 },
	    { IBV_EVENT_WQ_FATAL, OF_WQ, 1 } } },
	{ "a receive of a WQ with a bad key",
	  bad_key_on_a_wq,
	  { { IBV_EVENT_WQ_FATAL, OF_WQ, 1 } } },
};

static const void *element(const struct scene *s, enum of of)
{
	switch (of) {
	case OF_A:
		return s->p.a;
	case OF_B:
		return s->p.b;
	case OF_CQ:
		return s->cq;
	case OF_SRQ:
		return s->srq;
	case OF_WQ:
		return s->wq;
	}
	return NULL;
}

/* All members of the union that are pointers are in the same place. */
static void count_event(const struct cause *cause, const struct scene *s,
			const struct ibv_async_event *e,
			unsigned int counts[TYPES_MAX])
{
	for (unsigned int i = 0; i < TYPES_MAX; i++)
		if (cause->events[i].count != 0 &&
		    cause->events[i].type == e->event_type) {
			assert_ptr_equal(e->element.qp,
					 element(s, cause->events[i].of));
			counts[i]++;
			return;
		}
	fail_msg("%s: %s", cause->name, ibv_event_type_str(e->event_type));
}

static void check(const struct cause *cause)
{
	unsigned int counts[TYPES_MAX] = { 0 }, missing = 0;
	struct scene s = { 0 };
	struct ibv_async_event e;
	struct ibv_wc wc;

	cause->happen(&s);
	for (unsigned int i = 0; i < TYPES_MAX; i++)
		missing += cause->events[i].count;
	/* More than there should be would come at once. */
	while (readable(tour.context->async_fd, missing ? 5000 : QUIET_MS)) {
		assert_int_equal(ibv_get_async_event(tour.context, &e), 0);
		count_event(cause, &s, &e, counts);
		ibv_ack_async_event(&e);
		missing -= missing > 0;
	}
	for (unsigned int i = 0; i < TYPES_MAX; i++)
		if (counts[i] != cause->events[i].count)
			fail_msg("%s: %s: %u times", cause->name,
				 ibv_event_type_str(cause->events[i].type),
				 counts[i]);
	if (s.p.a)
		assert_int_equal(ibv_destroy_qp(s.p.a), 0);
	assert_int_equal(ibv_destroy_qp(s.p.b), 0);
	if (s.table)
		assert_int_equal(ibv_destroy_rwq_ind_table(s.table), 0);
	if (s.wq)
		assert_int_equal(ibv_destroy_wq(s.wq), 0);
	if (s.srq)
		assert_int_equal(ibv_destroy_srq(s.srq), 0);
	if (s.xrcd)
		assert_int_equal(ibv_close_xrcd(s.xrcd), 0);
	if (s.cq)
		assert_int_equal(ibv_destroy_cq(s.cq), 0);
	while (ibv_poll_cq(tour.scq, 1, &wc) > 0 ||
	       ibv_poll_cq(tour.rcq, 1, &wc) > 0)
		;
}

static void causes__each_event_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		print_message("%s\n", causes[i].name);
		check(&causes[i]);
	}
}

const struct CMUnitTest events_causes[] = {
	TOUR_TEST(causes__each_event_of_its_own),
	{ 0 },
};
