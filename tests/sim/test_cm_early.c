/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A request that comes before its listener: it waits while the CM is young, as
 * its program may be about to listen, and is refused then.
 */

#include "cm/serve.h"
#include "lib/engine/core/service.h"
#include "tests/sim/cm_world.h"

#define YOUNG (250 * SIM_MS)

static void ask(struct cm_owner *o)
{
	const struct roost_cm_sidr_req_param param = {
		.path = cm_path(o->world, SIM_A, false),
		.service_id = roost_cm_service_id(ROOST_CM_PS_UDP, CM_PORT),
		.ip = &cm_ip,
	};

	assert_int_equal(roost_cm_sidr_request(o->conn, &param), 0);
}

static void early__waits_for_its_listener(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_connect(o, 0x1234);
	sim_run_for(w->sim, YOUNG / 2);
	cm_expect_nothing(o);
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	sim_run_for(w->sim, SIM_MS);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	p = cm_passive(w, 0);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	assert_int_equal(cm_nb_passive(w), 1);
	assert_int_equal(cm_drops(w, SIM_B), 0);
	cm_world_free(w);
}

static void early__of_a_datagram_service(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	w->policy = CM_LEAVE;
	ask(o);
	sim_run_for(w->sim, YOUNG / 2);
	cm_listen(w, ROOST_CM_PS_UDP, 10);
	sim_run_for(w->sim, SIM_MS);
	cm_expect(cm_passive(w, 0), ROOST_CM_SIDR_REQ_RECEIVED, 1);
	cm_world_free(w);
}

/* Another service is none. */
static void early__is_refused_in_the_end(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *s = cm_owner_new(w);
	const struct roost_cm_listen_param other = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, CM_PORT + 1),
	};

	cm_connect(o, 0x1234);
	ask(s);
	assert_int_equal(roost_cm_listen(w->cm[SIM_B], &other, NULL, NULL,
					 &w->listener),
			 0);
	sim_run_for(w->sim, YOUNG / 2);
	cm_expect_nothing(o);
	sim_run_for(w->sim, YOUNG);
	cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
	assert_int_equal(o->last[ROOST_CM_REJ_RECEIVED].status,
			 ROOST_CM_REJ_INVALID_SERVICE_ID);
	cm_expect(s, ROOST_CM_SIDR_REP_RECEIVED, 1);
	assert_int_equal(s->last[ROOST_CM_SIDR_REP_RECEIVED].status,
			 ROOST_CM_SIDR_UNSUPPORTED);
	cm_world_free(w);
}

static void early__is_over(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	sim_run_for(w->sim, 2 * YOUNG);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
	cm_world_free(w);
}

/* Each request once, however often it comes, and as many as have room; the
 * others hear at once.
 */
static void early__bounded(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg req;

	for (uint32_t i = 0; i < 64; i++) {
		req = cm_forged_req(w, 0x100 + i, 0x1000 + i);
		cm_forge_msg(w, SIM_A, &req);
		cm_forge_msg(w, SIM_A, &req);
	}
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).tx[ROOST_CM_REJ], 0);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_STATE], 64);
	req = cm_forged_req(w, 0x200, 0x2000);
	cm_forge_msg(w, SIM_A, &req);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).tx[ROOST_CM_REJ], 1);
	/* The others are freed with the CM. */
	cm_world_free(w);
}

/* The next hop back is not known, and a thread of the program serves just when
 * their listener is there: it loses none.
 */
static void early__of_strangers(void **state)
{
	struct cm_world *w = cm_world_new();
	struct sim_end *b = &w->sim->ends[SIM_B];
	_Atomic uint64_t *mac_gen = &b->ports[0].neigh.mac_gen;
	struct roost_cm_msg req;
	uint64_t known;

	w->policy = CM_LEAVE;
	for (uint32_t i = 0; i < 3; i++) {
		req = cm_forged_req(w, 1 + i, 0x1000 + i);
		cm_forge_msg(w, SIM_A, &req);
	}
	sim_run_for(w->sim, SIM_MS);
	known = atomic_exchange(mac_gen, 0);
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	roost_cm_serve(w->cm[SIM_B], w->sim->now_ns);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(b->neigh_refs, 3);
	atomic_store(mac_gen, known);
	roost_dev_service_wake(b->dev);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 3);
	assert_int_equal(cm_counters(w, SIM_B).rx[ROOST_CM_REQ], 3);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early__waits_for_its_listener),
		cmocka_unit_test(early__of_a_datagram_service),
		cmocka_unit_test(early__is_refused_in_the_end),
		cmocka_unit_test(early__is_over),
		cmocka_unit_test(early__bounded),
		cmocka_unit_test(early__of_strangers),
	};

	return sim_main(argc, argv, "cm_early", tests,
			sizeof(tests) / sizeof(tests[0]));
}
