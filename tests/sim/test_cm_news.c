/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What becomes of the device under connections. */

#include <errno.h>
#include <string.h>

#include "cm/serve.h"
#include "cm/watch.h"
#include "lib/engine/core/service.h"
#include "tests/sim/cm_world.h"

static struct {
	unsigned int seen[2]; /* enum roost_cm_news */
	struct roost_cm_watch watch;
} watched;

static void told(void *arg, enum roost_cm_news news)
{
	assert_ptr_equal(arg, &watched);
	watched.seen[news]++;
}

static void watch(struct cm_world *w, int side)
{
	memset(&watched, 0, sizeof(watched));
	watched.watch.told = told;
	watched.watch.arg = &watched;
	roost_cm_watch_add(w->cm[side], &watched.watch);
}

static void remove_device(struct cm_world *w, int side)
{
	struct roost_dev *dev = w->sim->ends[side].dev;

	for (unsigned int port = 1; port <= roost_dev_nb_ports(dev); port++) {
		assert_false(roost_dev_failed(dev));
		roost_port_remove(dev, (uint8_t)port);
	}
	assert_true(roost_dev_failed(dev));
}

static void removal__ends_connections_in_silence(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *stands = cm_owner_new(w), *ends = cm_owner_new(w);
	struct cm_owner *asks = cm_owner_new(w), *destroyed = cm_owner_new(w);
	struct cm_owner *p;
	struct roost_cm_counters before, after;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(stands, 0x1234);
	cm_establish(ends, 0x1235);
	cm_establish(destroyed, 0x1236);
	roost_cm_disconnect(ends->conn, NULL, 0);
	cm_owner_destroy(destroyed);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_A).nb_timewait, 2);
	w->policy = CM_LEAVE;
	cm_connect(asks, 0x1237);
	watch(w, SIM_A);
	before = cm_counters(w, SIM_A);

	remove_device(w, SIM_A);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_REMOVED], 0);
	sim_run_for(w->sim, 300 * SIM_S);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_REMOVED], 1);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_ADDRS], 0);
	/* Not a word, neither to owners nor to peers; no timer is left. */
	cm_expect(stands, ROOST_CM_REP_RECEIVED, 1);
	cm_expect(ends, ROOST_CM_REP_RECEIVED, 1, ROOST_CM_DREP_RECEIVED, 1);
	cm_expect_nothing(asks);
	after = cm_counters(w, SIM_A);
	assert_memory_equal(before.tx, after.tx, sizeof(after.tx));
	assert_int_equal(after.nb_timewait, 0);
	assert_int_equal(after.nb_conns, 3);
	/* The peer hears nothing, and finds out when it says something. */
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	cm_owner_destroy(stands);
	cm_owner_destroy(ends);
	cm_owner_destroy(asks);
	assert_int_equal(cm_counters(w, SIM_A).nb_conns, 0);
	after = cm_counters(w, SIM_A);
	assert_memory_equal(before.tx, after.tx, sizeof(after.tx));
	cm_world_free(w);
}

static void removal__of_the_passive_side(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *late = cm_owner_new(w);
	const struct roost_cm_rep_param rep = { .qpn = 0x99 };
	struct cm_owner *p;

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1);
	assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 1);
	remove_device(w, SIM_B);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 0);
	assert_int_equal(roost_cm_accept(p->conn, &rep), -EINVAL);
	/* A listener does not hear any more. */
	cm_connect(late, 0x1235);
	sim_run_for(w->sim, 300 * SIM_S);
	assert_int_equal(cm_nb_passive(w), 1);
	assert_int_equal(late->seen[ROOST_CM_REQ_ERROR], 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1);
	cm_world_free(w);
}

static void removal__fails_who_asks_for_an_address(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	atomic_store(&w->sim->ends[SIM_A].ports[0].neigh.mac_gen, 0);
	assert_int_equal(roost_cm_resolve(o->conn, NULL,
					  &w->sim->ends[SIM_B].gid, 2000),
			 0);
	remove_device(w, SIM_A);
	sim_run_for(w->sim, 10 * SIM_S);
	cm_expect(o, ROOST_CM_ADDR_ERROR, 1);
	assert_int_equal(o->last[ROOST_CM_ADDR_ERROR].status, -ENODEV);
	cm_world_free(w);
}

static void removal__lets_nothing_begin(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	const struct roost_cm_req_param req = cm_req_param(w, 0x12, &cm_ip);
	const struct roost_cm_sidr_req_param sidr = {
		.path = req.path,
		.service_id = req.service_id,
	};
	const struct roost_cm_listen_param listen = { .service_id = 5 };
	struct roost_cm_listener *listener;
	struct roost_cm_path path;

	remove_device(w, SIM_A);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(roost_cm_route(w->cm[SIM_A], NULL, &req.path.dgid,
					&path),
			 -ENETUNREACH);
	assert_int_equal(roost_cm_connect(o->conn, &req), -ENODEV);
	assert_int_equal(roost_cm_sidr_request(o->conn, &sidr), -ENODEV);
	assert_int_equal(roost_cm_listen(w->cm[SIM_A], &listen, NULL, NULL,
					 &listener),
			 -ENODEV);
	sim_run_for(w->sim, 300 * SIM_S);
	cm_expect_nothing(o);
	cm_world_free(w);
}

/* A thread that waits for events is there before the control thread, and finds
 * a message of the peer, too.
 */
static void removal__is_told_first_by_who_serves(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	watch(w, SIM_A);
	roost_dev_service_attend(true);
	assert_int_equal(roost_cm_disconnect(p->conn, NULL, 0), 0);
	sim_run_for(w->sim, SIM_MS);
	roost_dev_service_attend(false);
	remove_device(w, SIM_A);
	roost_cm_serve(w->cm[SIM_A], w->sim->now_ns);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_REMOVED], 1);
	sim_run_for(w->sim, 300 * SIM_S);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_REMOVED], 1);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	cm_world_free(w);
}

/* ---- addresses ----------------------------------------------------------- */

static void addresses__a_change_is_told_and_changes_nothing(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	struct roost_dev *dev = w->sim->ends[SIM_A].dev;
	const struct roost_gid other = { { 0xfd, [15] = 7 } }, none = { { 0 } };

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	watch(w, SIM_A);
	sim_run_for(w->sim, SIM_S);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_ADDRS], 0);
	assert_int_equal(roost_port_set_gid(dev, 1, 5, &other), 0);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_ADDRS], 1);
	/* To what it was. */
	assert_int_equal(roost_port_set_gid(dev, 1, 5, &other), 0);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_ADDRS], 1);
	assert_int_equal(roost_port_set_gid(dev, 1, 0, &none), 0);
	sim_run_for(w->sim, 10 * SIM_S);
	assert_int_equal(watched.seen[ROOST_CM_NEWS_ADDRS], 2);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removal__ends_connections_in_silence),
		cmocka_unit_test(removal__of_the_passive_side),
		cmocka_unit_test(removal__fails_who_asks_for_an_address),
		cmocka_unit_test(removal__lets_nothing_begin),
		cmocka_unit_test(removal__is_told_first_by_who_serves),
		cmocka_unit_test(
			addresses__a_change_is_told_and_changes_nothing),
	};

	return sim_main(argc, argv, "cm_news", tests,
			sizeof(tests) / sizeof(tests[0]));
}
