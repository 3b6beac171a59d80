/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Owners learn that a next hop has another MAC. */

#include "tests/sim/cm_world.h"

#define NB_CONNS 100

static struct roost_neigh *neigh_of(struct cm_world *w, int side)
{
	return &w->sim->ends[side].ports[0].neigh;
}

static void move_neigh(struct cm_world *w, int side)
{
	/* Another MAC, and its generation. */
	atomic_fetch_add(&neigh_of(w, side)->mac_gen, (1 << 16) + 1);
}

static void hop__all_connections_are_told_once(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *os[NB_CONNS];

	for (unsigned int i = 0; i < NB_CONNS; i++) {
		os[i] = cm_owner_new(w);
		assert_int_equal(roost_cm_resolve_now(os[i]->conn, NULL,
						      &w->sim->ends[SIM_B].gid,
						      2000),
				 1);
	}
	sim_run_for(w->sim, 3 * SIM_S);
	for (unsigned int change = 1; change <= 3; change++) {
		move_neigh(w, SIM_A);
		sim_run_for(w->sim, 3 * SIM_S);
		for (unsigned int i = 0; i < NB_CONNS; i++)
			cm_expect(os[i], ROOST_CM_ADDR_CHANGE, change);
		/* The generation alone: the port's MAC is another one. */
		atomic_fetch_add(&neigh_of(w, SIM_A)->mac_gen, 1);
		sim_run_for(w->sim, 3 * SIM_S);
	}
	for (unsigned int i = 0; i < NB_CONNS; i++)
		cm_expect(os[i], ROOST_CM_ADDR_CHANGE, 3);
	cm_world_free(w);
}

/* Also of a change that comes before anybody has looked at the hop. */
static void hop__a_change_right_after_the_start_is_told(void **state)
{
	struct cm_world *w = cm_world_new();
	const uint64_t mac_gen = neigh_of(w, SIM_B)->mac_gen;
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	move_neigh(w, SIM_B);
	sim_run_for(w->sim, 3 * SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_ADDR_CHANGE, 1);
	/* It ends with a DREQ to the right place. */
	atomic_store(&neigh_of(w, SIM_B)->mac_gen, mac_gen);
	cm_world_free(w);
}

/* ---- owners that go ----------------------------------------------------- */

static unsigned int nb_told;

static void go(void *arg, struct roost_cm_conn *conn,
	       const struct roost_cm_event *event)
{
	struct roost_cm_conn **mine = arg;

	assert_int_equal(event->type, ROOST_CM_ADDR_CHANGE);
	nb_told++;
	*mine = NULL;
	roost_cm_conn_destroy(conn);
}

/* Every second one destroys its connection when it is told; in the end the hop
 * is gone with the last one.
 */
static void hop__connections_may_go_when_they_are_told(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_conn *conns[NB_CONNS];
	struct cm_owner *os[NB_CONNS];

	nb_told = 0;
	for (unsigned int i = 0; i < NB_CONNS; i++) {
		assert_int_equal(roost_cm_conn_create(w->cm[SIM_A], go,
						      &conns[i], &conns[i]),
				 0);
		os[i] = cm_owner_new(w);
		assert_int_equal(roost_cm_resolve_now(conns[i], NULL,
						      &w->sim->ends[SIM_B].gid,
						      2000),
				 1);
		assert_int_equal(roost_cm_resolve_now(os[i]->conn, NULL,
						      &w->sim->ends[SIM_B].gid,
						      2000),
				 1);
	}
	move_neigh(w, SIM_A);
	sim_run_for(w->sim, 3 * SIM_S);
	assert_int_equal(nb_told, NB_CONNS);
	for (unsigned int i = 0; i < NB_CONNS; i++) {
		assert_null(conns[i]);
		cm_expect(os[i], ROOST_CM_ADDR_CHANGE, 1);
		cm_owner_destroy(os[i]);
	}
	move_neigh(w, SIM_A);
	sim_run_for(w->sim, 3 * SIM_S);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hop__all_connections_are_told_once),
		cmocka_unit_test(hop__a_change_right_after_the_start_is_told),
		cmocka_unit_test(hop__connections_may_go_when_they_are_told),
	};

	return sim_main(argc, argv, "cm_hop", tests,
			sizeof(tests) / sizeof(tests[0]));
}
