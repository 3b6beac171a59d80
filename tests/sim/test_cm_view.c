/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What roost explain and roost ctl show see of connections and listeners. */

#include <errno.h>
#include <string.h>

#include "lib/engine/core/conn_view.h"
#include "tests/sim/cm_world.h"

#define TRY_MS 6442u

/* ---- looking ------------------------------------------------------------- */

static struct {
	struct roost_conn_view conn; /* the newest */
	struct roost_listener_view listener;
	unsigned int nb_conns, nb_listeners;
	uint64_t retries_req, drops_backlog;
} seen;

static void see_conn(void *arg, const struct roost_conn_view *conn)
{
	if (seen.nb_conns++ == 0)
		seen.conn = *conn;
}

static void see_listener(void *arg, const struct roost_listener_view *listener)
{
	seen.nb_listeners++;
	seen.listener = *listener;
}

static void see_counter(void *arg, const char *name, uint64_t value)
{
	if (strcmp(name, "retries_REQ") == 0)
		seen.retries_req = value;
	if (strcmp(name, "drops_backlog") == 0)
		seen.drops_backlog = value;
}

static void look(struct cm_world *w, int side)
{
	const struct roost_conn_viewer viewer = {
		.conn = see_conn,
		.listener = see_listener,
		.counter = see_counter,
	};

	memset(&seen, 0, sizeof(seen));
	roost_dev_view_conns(w->sim->ends[side].dev, w->sim->now_ns, &viewer);
}

static const struct roost_conn_step *last_step(void)
{
	assert_true(seen.conn.nb_steps > 0);
	return &seen.conn.steps[seen.conn.nb_steps - 1];
}

/* ---- tests --------------------------------------------------------------- */

static void view__a_request_without_an_answer(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	uint64_t asked_ns;

	look(w, SIM_A);
	assert_string_equal(seen.conn.state, "IDLE");
	assert_int_equal(seen.conn.phase, ROOST_CONN_IDLE);
	assert_int_equal(seen.conn.nb_steps, 0);
	w->sim->link.faults[SIM_A].carrier_off = true;
	asked_ns = w->sim->now_ns;
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, (3 * TRY_MS + 1000) * SIM_MS);
	look(w, SIM_A);
	assert_string_equal(seen.conn.state, "REQ_SENT");
	assert_int_equal(seen.conn.phase, ROOST_CONN_WAITS_PEER);
	assert_string_equal(seen.conn.message, "REQ");
	assert_true(seen.conn.repeats);
	assert_int_equal(seen.conn.resent, 3);
	assert_int_equal(seen.conn.resent_max, 15);
	assert_int_equal(seen.retries_req, 3);
	assert_string_equal(seen.conn.service.port_space, "TCP");
	assert_int_equal(seen.conn.service.port, CM_PORT);
	assert_int_equal(seen.conn.qpn, 0x1234);
	/* Of the next try, and of the call. */
	assert_true(seen.conn.deadline_ns >
		    w->sim->now_ns + (TRY_MS - 1100) * SIM_MS);
	assert_true(seen.conn.deadline_ns <
		    w->sim->now_ns + (TRY_MS - 900) * SIM_MS);
	assert_int_equal(seen.conn.nb_steps, 1);
	assert_true(last_step()->at_ns >= asked_ns &&
		    last_step()->at_ns < asked_ns + SIM_S);
	assert_int_equal(seen.conn.since_ns, last_step()->at_ns);
	sim_run_for(w->sim, 16 * TRY_MS * SIM_MS);
	assert_int_equal(o->seen[ROOST_CM_REQ_ERROR], 1);
	look(w, SIM_A);
	assert_string_equal(seen.conn.state, "IDLE");
	assert_int_equal(seen.conn.deadline_ns, 0);
	assert_int_equal(last_step()->kind, ROOST_CONN_UNANSWERED);
	assert_string_equal(last_step()->code_text, "REQ");
	cm_world_free(w);
}

/* More steps than are kept; equal ones in a row are one. */
static void view__the_last_steps(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_S);
	p = cm_passive(w, 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(roost_cm_mra(p->conn, 20, NULL, 0), 0);
		assert_int_equal(roost_cm_mra(p->conn, 20, NULL, 0), 0);
		sim_run_for(w->sim, 2 * TRY_MS * SIM_MS);
	}
	look(w, SIM_B);
	assert_string_equal(seen.conn.state, "REQ_RCVD");
	assert_int_equal(seen.conn.phase, ROOST_CONN_WAITS_PROGRAM);
	assert_true(seen.conn.passive);
	assert_true(seen.conn.nb_steps <= ROOST_CONN_STEPS);
	assert_true(seen.conn.since_ns < seen.conn.steps[0].at_ns ||
		    seen.conn.nb_steps < ROOST_CONN_STEPS);
	for (unsigned int i = 1; i < seen.conn.nb_steps; i++) {
		const struct roost_conn_step *step = &seen.conn.steps[i];

		assert_true(step->at_ns >= step[-1].at_ns);
		assert_string_not_equal(step->what, step[-1].what);
	}
	cm_world_free(w);
}

static void view__a_refusal_at_both_ends(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	w->policy = CM_REJECT;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(o->seen[ROOST_CM_REJ_RECEIVED], 1);
	look(w, SIM_A);
	assert_int_equal(last_step()->kind, ROOST_CONN_REFUSED);
	assert_int_equal(last_step()->code,
			 o->last[ROOST_CM_REJ_RECEIVED].status);
	look(w, SIM_B);
	assert_string_equal(seen.conn.state, "REJ_SENT");
	assert_int_equal(seen.conn.phase, ROOST_CONN_LINGERS);
	assert_int_equal(last_step()->kind, ROOST_CONN_REFUSED_HERE);
	assert_true(seen.conn.deadline_ns > w->sim->now_ns);
	cm_world_free(w);
}

static void view__a_listener_whose_backlog_is_full(void **state)
{
	struct cm_world *w = cm_world_new();

	w->policy = CM_LEAVE;
	w->keep_backlog = true;
	cm_listen(w, ROOST_CM_PS_TCP, 2);
	look(w, SIM_B);
	assert_int_equal(seen.nb_listeners, 1);
	assert_int_equal(seen.listener.waiting, 0);
	for (uint32_t i = 0; i < 3; i++)
		cm_connect(cm_owner_new(w), 0x1234 + i);
	sim_run_for(w->sim, SIM_S);
	look(w, SIM_B);
	assert_int_equal(seen.nb_conns, 2);
	assert_int_equal(seen.listener.backlog, 2);
	assert_int_equal(seen.listener.waiting, 2);
	assert_int_equal(seen.listener.requests, 2);
	assert_int_equal(seen.listener.dropped, 1);
	assert_int_equal(seen.drops_backlog, 1);
	assert_true(seen.listener.dropped_at_ns != 0);
	assert_int_equal(seen.listener.service.port, CM_PORT);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(view__a_request_without_an_answer),
		cmocka_unit_test(view__the_last_steps),
		cmocka_unit_test(view__a_refusal_at_both_ends),
		cmocka_unit_test(view__a_listener_whose_backlog_is_full),
	};

	return sim_main(argc, argv, "cm_view", tests,
			sizeof(tests) / sizeof(tests[0]));
}
