/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* How connections end, on a good link. */

#include <errno.h>
#include <string.h>

#include "lib/engine/core/route.h"
#include "lib/engine/core/service.h"
#include "tests/sim/cm_world.h"

static void disconnect__both_leave_timewait(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	assert_int_equal(roost_cm_disconnect(o->conn, NULL, 0), 0);
	sim_run_for(w->sim, 2 * SIM_S);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1, ROOST_CM_DREP_RECEIVED, 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_DREQ_RECEIVED, 1);
	assert_int_equal(cm_counters(w, SIM_A).nb_timewait, 1);
	assert_int_equal(roost_cm_disconnect(o->conn, NULL, 0), -EINVAL);
	/* 4.096 us * 2^19. */
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1, ROOST_CM_DREP_RECEIVED, 1,
		  ROOST_CM_TIMEWAIT_EXIT, 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_DREQ_RECEIVED, 1, ROOST_CM_TIMEWAIT_EXIT, 1);
	assert_int_equal(cm_counters(w, SIM_A).nb_timewait, 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_timewait, 0);
	cm_world_free(w);
}

static void disconnect__at_the_same_time(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	assert_int_equal(roost_cm_disconnect(o->conn, NULL, 0), 0);
	assert_int_equal(roost_cm_disconnect(p->conn, NULL, 0), 0);
	sim_run_for(w->sim, 10 * SIM_S);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1, ROOST_CM_DREQ_RECEIVED, 1,
		  ROOST_CM_TIMEWAIT_EXIT, 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_DREQ_RECEIVED, 1, ROOST_CM_TIMEWAIT_EXIT, 1);
	cm_world_free(w);
}

static void disconnect__waits_for_the_peers_owner(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	w->leave_dreq = true;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	assert_int_equal(roost_cm_disconnect(o->conn, NULL, 0), 0);
	sim_run_for(w->sim, 20 * SIM_S);
	assert_int_equal(o->seen[ROOST_CM_DREP_RECEIVED], 0);
	assert_int_equal(roost_cm_disconnect(p->conn, NULL, 0), 0);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(o->seen[ROOST_CM_DREP_RECEIVED], 1);
	assert_int_equal(p->seen[ROOST_CM_DREQ_RECEIVED], 1);
	cm_world_free(w);
}

/* 16 tries, 6.4 s apart from the active side, 4.3 s apart from the other, as
 * the kernel has it.
 */
static void disconnect__nobody_answers(void **state)
{
	static const uint64_t spent_ms[] = { 16 * 6442, 16 * 4295 };

	for (int side = 0; side < 2; side++) {
		struct cm_world *w = cm_world_new();
		struct cm_owner *ends[2] = { cm_owner_new(w) };

		w->leave_dreq = true;
		cm_listen(w, ROOST_CM_PS_TCP, 10);
		ends[1] = cm_establish(ends[0], 0x1234);
		assert_int_equal(roost_cm_disconnect(ends[side]->conn, NULL, 0),
				 0);
		sim_run_for(w->sim, (spent_ms[side] - 100) * SIM_MS);
		assert_int_equal(ends[side]->seen[ROOST_CM_DREQ_ERROR], 0);
		sim_run_for(w->sim, 200 * SIM_MS);
		assert_int_equal(ends[side]->seen[ROOST_CM_DREQ_ERROR], 1);
		sim_run_for(w->sim, 100 * SIM_S);
		assert_int_equal(ends[side]->seen[ROOST_CM_DREQ_ERROR], 1);
		assert_int_equal(ends[side]->seen[ROOST_CM_TIMEWAIT_EXIT], 1);
		assert_int_equal(ends[side]->last[ROOST_CM_DREQ_ERROR].status,
				 -ETIMEDOUT);
		assert_int_equal(cm_counters(w, side).retries[ROOST_CM_DREQ],
				 15);
		cm_world_free(w);
	}
}

/* Its host says so: all tries are made at once. Another host's word counts for
 * nothing, and a peer that is there answers all the same.
 */
static void disconnect__the_peer_is_gone(void **state)
{
	static const struct {
		int refuser;
		bool silent;
		unsigned int errors, dreqs;
	} cases[] = {
		{ SIM_B, true, 1, 16 },
		{ SIM_A, true, 0, 1 },
		{ SIM_B, false, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cm_world *w = cm_world_new();
		struct sim_end *ends = w->sim->ends;
		struct cm_owner *o = cm_owner_new(w);

		w->leave_dreq = cases[i].silent;
		cm_listen(w, ROOST_CM_PS_TCP, 10);
		cm_establish(o, 0x1234);
		/* Before the end it changes nothing. */
		roost_dev_refused(ends[SIM_A].dev, &ends[SIM_B].gid);
		sim_run_for(w->sim, SIM_MS);
		assert_int_equal(roost_cm_disconnect(o->conn, NULL, 0), 0);
		sim_run_for(w->sim, SIM_MS);
		for (int again = 0; again < 3; again++)
			roost_dev_refused(ends[SIM_A].dev,
					  &ends[cases[i].refuser].gid);
		sim_run_for(w->sim, 2 * SIM_S);
		assert_int_equal(o->seen[ROOST_CM_DREQ_ERROR], cases[i].errors);
		assert_int_equal(o->seen[ROOST_CM_DREP_RECEIVED],
				 !cases[i].silent);
		assert_int_equal(cm_counters(w, SIM_A).tx[ROOST_CM_DREQ],
				 cases[i].dreqs);
		cm_world_free(w);
	}
}

static void destroy__says_dreq_and_leaves_nothing(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	cm_owner_destroy(o);
	sim_run_for(w->sim, 10 * SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_DREQ_RECEIVED, 1, ROOST_CM_TIMEWAIT_EXIT, 1);
	assert_int_equal(cm_counters(w, SIM_A).nb_conns, 0);
	cm_owner_destroy(p);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	cm_world_free(w);
}

static void reject__reason_and_data(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	uint8_t data[149];

	sim_random_fill(&w->sim->rng, data, sizeof(data));
	w->policy = CM_REJECT;
	w->data = data;
	w->data_len_bytes = 148;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
	assert_int_equal(o->last[ROOST_CM_REJ_RECEIVED].status, 28);
	assert_int_equal(o->last[ROOST_CM_REJ_RECEIVED].data_len_bytes, 148);
	assert_memory_equal(o->data[ROOST_CM_REJ_RECEIVED], data, 148);
	assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 0);
	/* The passive one is over: it cannot be accepted any more. */
	assert_int_equal(roost_cm_accept(cm_passive(w, 0)->conn,
					 &(struct roost_cm_rep_param){
						 .qpn = 5 }),
			 -EINVAL);
	assert_int_equal(roost_cm_reject(cm_passive(w, 0)->conn, 28, NULL, 0,
					 data, 149),
			 -EINVAL);
	cm_world_free(w);
}

/* The last REJ on the wire. */
static bool note_rej(struct sim *sim, int side, const struct roost_pkt *pkt,
		     void *arg)
{
	struct roost_cm_msg *rej = arg, msg;
	enum roost_cm_drop drop;

	(void)sim;
	(void)side;
	if (pkt->dest_qpn == 1 &&
	    roost_cm_msg_decode(pkt->payload, pkt->payload_len_bytes, &msg,
				&drop) &&
	    msg.type == ROOST_CM_REJ)
		*rej = msg;
	return true;
}

/* It says which message it answers: IBA 12.6.7.1, as Linux. */
static void reject__names_what_it_answers(void **state)
{
	static const struct {
		bool passive, sends_rep;
		uint8_t about;
	} rows[] = {
		{ true, false, ROOST_CM_ABOUT_REQ },
		{ false, true, ROOST_CM_ABOUT_REP },
		{ true, true, ROOST_CM_ABOUT_OTHER },
		{ false, false, ROOST_CM_ABOUT_OTHER },
	};

	for (unsigned int i = 0; i < 4; i++) {
		struct cm_world *w = cm_world_new();
		struct cm_owner *o = cm_owner_new(w), *p;
		struct roost_cm_msg rej = { .about = 9 };

		w->sim->link.filter = note_rej;
		w->sim->link.filter_arg = &rej;
		w->policy = rows[i].sends_rep ? CM_ACCEPT : CM_LEAVE;
		w->leave_rep = true;
		cm_listen(w, ROOST_CM_PS_TCP, 10);
		cm_connect(o, 0x1234);
		sim_run_for(w->sim, SIM_MS);
		p = rows[i].passive ? cm_passive(w, 0) : o;
		assert_int_equal(roost_cm_reject(p->conn, 28, NULL, 0, NULL, 0),
				 0);
		sim_run_for(w->sim, SIM_MS);
		assert_int_equal(rej.about, rows[i].about);
		cm_world_free(w);
	}
}

static void reject__nobody_listens(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
	assert_int_equal(o->last[ROOST_CM_REJ_RECEIVED].status, 8);
	cm_world_free(w);
}

static void reject__destroyed_before_accept(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	w->policy = CM_DESTROY; /* in the callback itself */
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
	assert_int_equal(o->last[ROOST_CM_REJ_RECEIVED].status, 28);
	sim_run_for(w->sim, 10 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	cm_world_free(w);
}

static void reject__the_sender_is_gone(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_S);
	p = cm_passive(w, 0);
	cm_owner_destroy(o);
	sim_run_for(w->sim, SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_REJ_RECEIVED, 1);
	assert_int_equal(p->last[ROOST_CM_REJ_RECEIVED].status, 4);
	assert_int_equal(roost_cm_accept(p->conn,
					 &(struct roost_cm_rep_param){
						 .qpn = 5 }),
			 -EINVAL);
	cm_world_free(w);
}

static void connect__unreachable(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	w->sim->link.faults[SIM_A].carrier_off = true;
	cm_connect(o, 0x1234);
	/* Sixteen tries, each 2 * 4.096 us * 2^18 + 4.096 us * 2^20. */
	sim_run_for(w->sim, 103 * SIM_S);
	cm_expect_nothing(o);
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REQ_ERROR, 1);
	assert_int_equal(o->last[ROOST_CM_REQ_ERROR].status, -ETIMEDOUT);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 15);
	cm_world_free(w);
}

static void connect__to_ourselves(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	struct roost_cm_req_param param = cm_req_param(w, 0x55, NULL);

	assert_int_equal(roost_cm_route(w->cm[SIM_A], NULL,
					&w->sim->ends[SIM_A].gid, &param.path),
			 0);
	assert_int_equal(roost_cm_connect(o->conn, &param), 0);
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
	assert_int_equal(sim_counters(w->sim, SIM_A)->loopback_pkts, 2);
	cm_world_free(w);
}

/* rdma_notify, and rdma_disconnect before the CM ran: the DREQ is lost, and
 * sent again.
 */
static void comm_est__then_disconnect(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	w->leave_rep = true;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	w->sim->link.faults[SIM_B].drop_nth =
		(int64_t)w->sim->link.nb_log[SIM_B];
	assert_int_equal(roost_cm_conn_comm_est(p->conn), 0);
	assert_int_equal(roost_cm_disconnect(p->conn, NULL, 0), 0);
	sim_run_for(w->sim, 5 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_B).retries[ROOST_CM_DREQ], 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_ESTABLISHED, 1,
		  ROOST_CM_DREP_RECEIVED, 1);
	cm_world_free(w);
}

static void comm_est__stands_for_rtu(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	w->leave_rep = true;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_S);
	p = cm_passive(w, 0);
	assert_int_equal(roost_cm_conn_comm_est(o->conn), -EINVAL);
	assert_int_equal(roost_cm_conn_comm_est(p->conn), 0);
	assert_int_equal(roost_cm_conn_comm_est(p->conn), 0);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(roost_cm_establish(o->conn, NULL, 0), 0);
	sim_run_for(w->sim, 20 * SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_ESTABLISHED, 1);
	cm_world_free(w);
}

static void flush__tells_all_peers(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	roost_dev_service_flush(w->sim->ends[SIM_A].dev);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(p->seen[ROOST_CM_DREQ_RECEIVED], 1);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disconnect__both_leave_timewait),
		cmocka_unit_test(disconnect__at_the_same_time),
		cmocka_unit_test(disconnect__waits_for_the_peers_owner),
		cmocka_unit_test(disconnect__nobody_answers),
		cmocka_unit_test(disconnect__the_peer_is_gone),
		cmocka_unit_test(destroy__says_dreq_and_leaves_nothing),
		cmocka_unit_test(reject__reason_and_data),
		cmocka_unit_test(reject__names_what_it_answers),
		cmocka_unit_test(reject__nobody_listens),
		cmocka_unit_test(reject__destroyed_before_accept),
		cmocka_unit_test(reject__the_sender_is_gone),
		cmocka_unit_test(connect__unreachable),
		cmocka_unit_test(connect__to_ourselves),
		cmocka_unit_test(comm_est__stands_for_rtu),
		cmocka_unit_test(comm_est__then_disconnect),
		cmocka_unit_test(flush__tells_all_peers),
	};

	return sim_main(argc, argv, "cm_end", tests,
			sizeof(tests) / sizeof(tests[0]));
}
