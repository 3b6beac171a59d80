/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Datagram services: who asks for one is told QPN and Q_Key, once. */

#include <errno.h>

#include "tests/sim/cm_world.h"

static void ask(struct cm_owner *o, const void *data, size_t len)
{
	struct cm_world *w = o->world;
	const struct roost_cm_sidr_req_param param = {
		.path = cm_path(w, SIM_A, false),
		.service_id = roost_cm_service_id(ROOST_CM_PS_UDP, CM_PORT),
		.ip = &cm_ip,
		.data = data,
		.data_len_bytes = len,
	};

	assert_int_equal(roost_cm_sidr_request(o->conn, &param), 0);
}

static void answer(struct cm_owner *p, uint8_t status, const void *data,
		   size_t len)
{
	const struct roost_cm_sidr_rep_param rep = {
		.status = status,
		.qpn = 0xabcdef,
		.qkey = 0x01234567,
		.data = data,
		.data_len_bytes = len,
	};

	assert_int_equal(roost_cm_sidr_reply(p->conn, &rep), 0);
}

static struct cm_world *world(void)
{
	struct cm_world *w = cm_world_new();

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_UDP, 10);
	return w;
}

static void sidr__qpn_and_data(void **state)
{
	struct cm_world *w = world();
	struct cm_owner *o = cm_owner_new(w), *p;
	const struct roost_cm_event *event;
	struct roost_cm_sidr_rep_param rep = { .data_len_bytes = 137 };
	uint8_t data[181];

	sim_random_fill(&w->sim->rng, data, sizeof(data));
	ask(o, data, 180);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	cm_expect(p, ROOST_CM_SIDR_REQ_RECEIVED, 1);
	event = &p->last[ROOST_CM_SIDR_REQ_RECEIVED];
	assert_int_equal(event->data_len_bytes, 180);
	assert_memory_equal(p->data[ROOST_CM_SIDR_REQ_RECEIVED], data, 180);
	assert_memory_equal(&event->ip, &cm_ip, sizeof(cm_ip));
	rep.data = data;
	assert_int_equal(roost_cm_sidr_reply(p->conn, &rep), -EINVAL);
	answer(p, ROOST_CM_SIDR_SUCCESS, data, 136);
	rep.data_len_bytes = 0;
	assert_int_equal(roost_cm_sidr_reply(p->conn, &rep), -EINVAL);
	sim_run_for(w->sim, SIM_MS);
	cm_expect(o, ROOST_CM_SIDR_REP_RECEIVED, 1);
	event = &o->last[ROOST_CM_SIDR_REP_RECEIVED];
	assert_int_equal(event->status, 0);
	assert_int_equal(event->qpn, 0xabcdef);
	assert_int_equal(event->qkey, 0x01234567);
	assert_int_equal(event->data_len_bytes, 136);
	assert_memory_equal(o->data[ROOST_CM_SIDR_REP_RECEIVED], data, 136);
	cm_world_free(w);
}

static void sidr__nobody_listens(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	/* The CM is no longer young (test_cm_early.c). */
	sim_run_for(w->sim, SIM_S);
	ask(o, NULL, 0);
	sim_run_for(w->sim, SIM_MS);
	cm_expect(o, ROOST_CM_SIDR_REP_RECEIVED, 1);
	assert_int_equal(o->last[ROOST_CM_SIDR_REP_RECEIVED].status, 1);
	cm_world_free(w);
}

static void sidr__rejected_and_destroyed(void **state)
{
	struct cm_world *w = world();
	struct cm_owner *o = cm_owner_new(w), *o2 = cm_owner_new(w);
	uint8_t data[136];

	sim_random_fill(&w->sim->rng, data, sizeof(data));
	ask(o, NULL, 0);
	ask(o2, NULL, 0);
	sim_run_for(w->sim, SIM_MS);
	answer(cm_passive(w, 0), ROOST_CM_SIDR_REJECT, data, 136);
	cm_owner_destroy(cm_passive(w, 1));
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(o->last[ROOST_CM_SIDR_REP_RECEIVED].status, 2);
	assert_memory_equal(o->data[ROOST_CM_SIDR_REP_RECEIVED], data, 136);
	assert_int_equal(o2->last[ROOST_CM_SIDR_REP_RECEIVED].status, 2);
	cm_world_free(w);
}

/* The answer that was lost comes again, and no second request is told. */
static void sidr__lost_doubled_late(void **state)
{
	for (int side = 0; side < 2; side++)
		for (int fault = 0; fault < 3; fault++) {
			struct cm_world *w = world();
			struct sim_faults *f = &w->sim->link.faults[side];
			struct cm_owner *o = cm_owner_new(w), *p;

			if (fault == 0)
				f->drop_nth = 0;
			else if (fault == 1)
				f->dup_nth = 1;
			else
				f->late_nth = 1;
			f->late_ns = 6 * SIM_S;
			ask(o, NULL, 0);
			sim_run_for(w->sim, 5 * SIM_S);
			p = cm_passive(w, 0);
			assert_non_null(p);
			answer(p, 0, NULL, 0);
			cm_owner_destroy(p);
			sim_run_for(w->sim, 30 * SIM_S);
			assert_int_equal(cm_nb_passive(w), 1);
			cm_expect(o, ROOST_CM_SIDR_REP_RECEIVED, 1);
			/* Nothing is kept for ever. */
			assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
			cm_world_free(w);
		}
}

static void sidr__unreachable(void **state)
{
	struct cm_world *w = world();
	struct cm_owner *o = cm_owner_new(w);

	w->sim->link.faults[SIM_A].carrier_off = true;
	ask(o, NULL, 0);
	sim_run_for(w->sim, 100 * SIM_S);
	cm_expect(o, ROOST_CM_SIDR_REQ_ERROR, 1);
	assert_int_equal(o->last[ROOST_CM_SIDR_REQ_ERROR].status, -ETIMEDOUT);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sidr__qpn_and_data),
		cmocka_unit_test(sidr__nobody_listens),
		cmocka_unit_test(sidr__rejected_and_destroyed),
		cmocka_unit_test(sidr__lost_doubled_late),
		cmocka_unit_test(sidr__unreachable),
	};

	return sim_main(argc, argv, "cm_sidr", tests,
			sizeof(tests) / sizeof(tests[0]));
}
