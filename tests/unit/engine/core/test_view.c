/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <unistd.h>

#include <roost/srq.h>
#include "lib/engine/core/view.h"
#include "tests/unit/engine/fixture.h"

static struct {
	struct roost_qp_view qps[8];
	struct roost_cq_view cqs[8];
	struct roost_srq_view srqs[8];
	struct roost_channel_view channels[8];
	unsigned int nb;
} seen;

static void see_qp(void *arg, const struct roost_qp_view *qp)
{
	(void)arg;
	seen.qps[seen.nb++] = *qp;
}

static void see_cq(void *arg, const struct roost_cq_view *cq)
{
	(void)arg;
	seen.cqs[seen.nb++] = *cq;
}

static void see_srq(void *arg, const struct roost_srq_view *srq)
{
	(void)arg;
	seen.srqs[seen.nb++] = *srq;
}

static void see_channel(void *arg, const struct roost_channel_view *c)
{
	(void)arg;
	seen.channels[seen.nb++] = *c;
}

static void look_at_qps(struct fixture *f)
{
	seen.nb = 0;
	roost_dev_view_qps(f->dev, see_qp, NULL);
}

static void look_at_cqs(struct fixture *f)
{
	seen.nb = 0;
	roost_dev_view_cqs(f->dev, see_cq, NULL);
}

static void view_qps__what_they_are(void **state)
{
	struct fixture *f = *state;
	struct roost_recv_wr wr = { .wr_id = 1 };
	struct roost_qp *qp, *fresh;

	look_at_qps(f);
	assert_int_equal(seen.nb, 0);
	qp = fixture_qp_in_rts(f, 4);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	fresh = fixture_qp(f, 4);
	look_at_qps(f);
	assert_int_equal(seen.nb, 2);
	assert_int_equal(seen.qps[0].qpn, roost_qp_num(fresh)); /* newest */
	assert_int_equal(seen.qps[0].state, ROOST_QPS_RESET);
	assert_int_equal(seen.qps[0].port_num, 0);
	assert_int_equal(seen.qps[1].qpn, roost_qp_num(qp));
	assert_int_equal(seen.qps[1].state, ROOST_QPS_RTS);
	assert_int_equal(seen.qps[1].type, ROOST_QPT_RC);
	assert_int_equal(seen.qps[1].dest_qpn, 0x123456);
	assert_true(roost_gid_eq(&seen.qps[1].sgid, &f->gid));
	assert_true(roost_gid_eq(&seen.qps[1].dgid, &f->peer));
	assert_int_equal(seen.qps[1].mtu_bytes, 1024);
	assert_int_equal(seen.qps[1].pkey, 0xffff);
	assert_int_equal(seen.qps[1].next_psn, 200);
	assert_int_equal(seen.qps[1].expected_psn, 100);
	assert_int_equal(seen.qps[1].recvs_posted, 1);
	assert_int_equal(seen.qps[1].sends_posted, 0);
	assert_int_equal(seen.qps[1].send_cq, seen.qps[1].recv_cq);
	assert_int_equal(roost_qp_destroy(fresh, NULL), 0);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	look_at_qps(f);
	assert_int_equal(seen.nb, 0);
}

static void view_cqs__armed_and_waiting(void **state)
{
	struct fixture *f = *state;
	struct roost_recv_wr wr = { .wr_id = 1 };
	struct roost_channel *channel;
	struct roost_cq *cq, *silent;
	struct roost_qp *qp;

	assert_int_equal(roost_channel_create(16, &channel), 0);
	silent = f->cq;
	assert_int_equal(roost_cq_create(f->ctx, 16, channel, NULL, &cq), 0);
	f->cq = cq;
	qp = fixture_qp_in_rts(f, 4);
	f->cq = silent;
	roost_cq_arm(cq, true);
	look_at_cqs(f);
	assert_int_equal(seen.nb, 2);
	assert_int_equal(seen.cqs[0].armed, ROOST_ARMED_SOLICITED);
	assert_int_equal(seen.cqs[0].users, 2);
	assert_int_equal(seen.cqs[0].entries, 16);
	assert_int_equal(seen.cqs[0].comp.fd, roost_channel_fd(channel));
	assert_int_equal(seen.cqs[1].comp.fd, -1);
	assert_int_not_equal(seen.cqs[0].handle, seen.cqs[1].handle);
	seen.nb = 0;
	roost_dev_view_channels(f->dev, see_channel, NULL);
	assert_int_equal(seen.nb, 2);
	assert_true(seen.channels[0].is_async);
	assert_false(seen.channels[1].is_async);
	assert_int_equal(seen.channels[1].fd, roost_channel_fd(channel));
	assert_int_equal(seen.channels[1].cqs, 1);
	assert_int_equal(seen.channels[1].armed, 1);
	assert_int_equal(seen.channels[1].waiting, 0);
	/* A flush is a completion, an event, and unarmed. */
	assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
	look_at_cqs(f);
	assert_int_equal(seen.cqs[0].armed, ROOST_ARMED_NOT);
	assert_int_equal(seen.cqs[0].waiting, 1);
	seen.nb = 0;
	roost_dev_view_channels(f->dev, see_channel, NULL);
	assert_int_equal(seen.channels[1].waiting, 1);
	assert_int_equal(seen.channels[1].armed, 0);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_int_equal(roost_cq_destroy(cq, NULL, NULL), 0);
	roost_channel_destroy(channel);
}

static void view_srqs__posted_and_limit(void **state)
{
	struct fixture *f = *state;
	struct roost_srq_init init = { .max_wr = 8, .max_sge = 1 };
	struct roost_dev_view view;
	struct roost_srq *srq;

	assert_int_equal(roost_srq_create(f->pd, &init, &srq), 0);
	assert_int_equal(roost_srq_set_limit(srq, 3), 0);
	seen.nb = 0;
	roost_dev_view_srqs(f->dev, see_srq, NULL);
	assert_int_equal(seen.nb, 1);
	assert_int_equal(seen.srqs[0].max_wr, 8);
	assert_int_equal(seen.srqs[0].limit, 3);
	assert_int_equal(seen.srqs[0].posted, 0);
	assert_int_equal(seen.srqs[0].number, 0);
	roost_dev_view(f->dev, &view);
	assert_int_equal(view.srqs, 1);
	assert_int_equal(view.cqs, 1);
	assert_int_equal(view.qps, 0);
	assert_int_equal(view.mrs, 0);
	assert_int_equal(view.contexts, 1);
	assert_false(view.removed);
	assert_int_equal(roost_srq_destroy(srq, NULL), 0);
}

static void *destroy_qp(void *arg)
{
	assert_int_equal(roost_qp_destroy(arg, NULL), 0);
	return NULL;
}

/* Which object waits, and for how many acks. */
static void view_qps__a_destroy_that_waits(void **state)
{
	struct fixture *f = *state;
	struct roost_event event;
	struct roost_qp *qp;
	pthread_t thread;

	qp = fixture_qp_in_rts(f, 4);
	for (int i = 0; i < 2; i++)
		roost_event_raise(roost_qp_async_source(qp),
				  ROOST_EVENT_COMM_EST);
	for (int i = 0; i < 2; i++)
		assert_int_equal(roost_channel_read(roost_ctx_async_channel(
							    f->ctx),
						    &event),
				 0);
	look_at_qps(f);
	assert_int_equal(seen.qps[0].async.unacked, 2);
	assert_false(seen.qps[0].async.finishing);
	pthread_create(&thread, NULL, destroy_qp, qp);
	do {
		usleep(1000);
		look_at_qps(f);
		assert_int_equal(seen.nb, 1);
	} while (!seen.qps[0].async.finishing);
	assert_int_equal(seen.qps[0].async.unacked, 2);
	roost_event_ack(roost_qp_async_source(qp), 1);
	look_at_qps(f);
	assert_int_equal(seen.qps[0].async.unacked, 1);
	/* A removal meanwhile passes over it. */
	roost_port_remove(f->dev, 1);
	roost_event_ack(roost_qp_async_source(qp), 1);
	pthread_join(thread, NULL);
	look_at_qps(f);
	assert_int_equal(seen.nb, 0);
}

/* Also when what the QP keeps of the time has begun again. */
static void view_qps__changes_of_state(void **state)
{
	const uint64_t late_ns = (1ull << 56) - 1;
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp(f, 1);
	struct roost_flight_entry sorted[ROOST_FLIGHT_STATES];
	const struct roost_flight *flight = &seen.qps[0].flight;

	fixture_iterate(f, late_ns);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	fixture_iterate(f, late_ns + 1000);
	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
	seen.nb = 0;
	roost_dev_view_qps(f->dev, see_qp, NULL);
	assert_int_equal(seen.nb, 1);
	assert_int_equal(roost_flight_sort(flight->states, ROOST_FLIGHT_STATES,
					   sorted),
			 3);
	assert_int_equal(sorted[0].at_ns, late_ns);
	assert_int_equal(sorted[0].arg, ROOST_QPS_INIT);
	assert_true(sorted[1].at_ns > late_ns);
	assert_int_equal(sorted[1].arg, ROOST_QPS_RESET);
	assert_int_equal(sorted[2].at_ns, late_ns + 1000);
	assert_int_equal(sorted[2].arg, ROOST_QPS_ERR);
	assert_int_equal(sorted[2].value, ROOST_QPE_MODIFIED);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(view_qps__what_they_are),
		FIXTURE_TEST(view_cqs__armed_and_waiting),
		FIXTURE_TEST(view_srqs__posted_and_limit),
		FIXTURE_TEST(view_qps__a_destroy_that_waits),
		FIXTURE_TEST(view_qps__changes_of_state),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
