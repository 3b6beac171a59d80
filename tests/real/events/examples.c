/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The examples of the manual pages with declarations around them. They stand
 * in files of their own as they stand there (*.inc): of ibv_get_async_event(3)
 * and ibv_get_cq_event(3) by Dotan Barak, rdma-core, under its BSD license, and
 * a function of NAKAMURA Minoru's pages on the same calls. None of the four
 * needs librdmacm.
 */

#include <stdio.h>
#include <stdlib.h>

#include "tests/real/events/events.h"

/* ibv_get_async_event(3): events in non-blocking mode. */
static int example_async(struct ibv_context *ctx, int ms_timeout,
			 struct ibv_async_event *seen)
{
	struct ibv_async_event async_event;
	struct pollfd my_pollfd;
	int flags, rc;

#include "man_get_async_event.inc"

	*seen = async_event;
	return 0;
}

/* The same mode, set by a function. */
#include "page_blocking_mode.inc"

/* ibv_get_cq_event(3): stage I, then stage II; in between what the three dots
 * stand for.
 */
static int example_cq(struct ibv_context *ctx, struct ibv_comp_channel *channel,
		      void *ev_ctx, struct ibv_cq **made,
		      void (*dots)(struct ibv_cq *cq), struct ibv_wc *last)
{
	struct ibv_cq *cq, *ev_cq;
	struct ibv_wc wc = { 0 };
	int ne;

#include "man_get_cq_event_1.inc"

	*made = cq;
	dots(cq);

#include "man_get_cq_event_2.inc"

	*last = wc;
	return 0;
}

/* ibv_get_cq_event(3): completion events in non-blocking mode. */
static int example_cq_poll(struct ibv_comp_channel *channel, struct ibv_cq *cq,
			   int ms_timeout, struct ibv_cq **seen)
{
	struct pollfd my_pollfd;
	struct ibv_cq *ev_cq;
	void *ev_ctx;
	int flags, rc;

#include "man_get_cq_event_poll.inc"

	*seen = ev_cq;
	return 0;
}

static void *break_later(void *line)
{
	usleep(QUIET_MS * 1000);
	tour_write8(((struct line *)line)->p.a, (uintptr_t)tour.peer,
		    tour.mr->rkey ^ 1);
	return NULL;
}

static void examples__async_event(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_async_event e;
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, break_later, &l);
	assert_int_equal(example_async(tour.context, QUIET_MS / 5, &e), 0);
	pthread_join(thread, NULL);
	assert_int_equal(e.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(e.element.qp, l.p.b);
	line_close(&l);
}

static void examples__blocking_mode(void **state)
{
	struct ibv_async_event e;

	(void)state;
	async_change_blocking_mode(tour.context);
	errno = 0;
	assert_int_equal(ibv_get_async_event(tour.context, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

static struct tour_pair example_pair;

static void one_message(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_sge into = tour_sge(tour.peer, RECV_BYTES);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	attr.recv_cq = cq;
	example_pair = tour_pair_connected(attr);
	tour_receive(example_pair.b, &into);
	assert_int_equal(tour_done(example_pair.a, &wr), IBV_WC_SUCCESS);
}

static void examples__cq_event(void **state)
{
	struct ibv_comp_channel *channel =
		ibv_create_comp_channel(tour.context);
	struct ibv_cq *cq = NULL;
	struct ibv_wc last;

	(void)state;
	assert_int_equal(example_cq(tour.context, channel, &tour, &cq,
				    one_message, &last),
			 0);
	assert_int_equal(last.opcode, IBV_WC_RECV);
	assert_int_equal(last.qp_num, example_pair.b->qp_num);
	tour_pair_part(example_pair);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void *ring_later(void *line)
{
	usleep(QUIET_MS * 1000);
	line_ring(line);
	return NULL;
}

static void examples__cq_event_by_poll(void **state)
{
	struct line l = line_open(NULL);
	struct ibv_cq *seen;
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, ring_later, &l);
	assert_int_equal(example_cq_poll(l.channel, l.cq, QUIET_MS / 5, &seen),
			 0);
	pthread_join(thread, NULL);
	assert_ptr_equal(seen, l.cq);
	line_close(&l);
}

const struct CMUnitTest events_examples[] = {
	TOUR_TEST(examples__async_event),
	TOUR_TEST(examples__blocking_mode),
	TOUR_TEST(examples__cq_event),
	TOUR_TEST(examples__cq_event_by_poll),
	{ 0 },
};
