/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Each message of connect, accept, reject and disconnect is lost, doubled or
 * late, one at a time. Whatever happens, both ends come to the same state, and
 * each tells its owner the same as on a good link, once.
 */

#include <stdio.h>

#include "tests/sim/cm_world.h"

/* Longer than sixteen tries and every MRA. */
#define LONG_NS (400 * SIM_S)

enum fault {
	FAULT_NONE,
	FAULT_DROP,
	FAULT_DOUBLE,
	FAULT_LATE, /* by more than one try */
	FAULTS,
};

/* What happens in a scenario; each part is given time to settle. */
struct scenario {
	enum cm_policy policy;
	bool slow_owner; /* accepts only after the peer has asked again */
	bool active_ends, passive_ends;
	bool destroys;                        /* instead of disconnecting */
	unsigned int active[12], passive[12]; /* ended by 0, 0 */
};

static struct cm_world *world_of(const struct scenario *s, int side,
				 enum fault fault, unsigned int nth)
{
	struct cm_world *w = cm_world_new();
	struct sim_faults *f = &w->sim->link.faults[side];

	w->policy = s->slow_owner ? CM_LEAVE : s->policy;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	if (fault == FAULT_DROP)
		f->drop_nth = nth;
	if (fault == FAULT_DOUBLE)
		f->dup_nth = nth + 1;
	if (fault == FAULT_LATE) {
		f->late_nth = nth + 1;
		f->late_ns = 10 * SIM_S;
	}
	return w;
}

static void end(struct cm_owner *o, bool destroys)
{
	if (destroys)
		cm_owner_destroy(o);
	else
		roost_cm_disconnect(o->conn, NULL, 0);
}

/* Returns how many frames a side has sent. */
static void play(const struct scenario *s, int side, enum fault fault,
		 unsigned int nth, size_t nb_sent[2])
{
	struct cm_world *w = world_of(s, side, fault, nth);
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_connect(o, 0x4321);
	if (s->slow_owner) {
		sim_run_for(w->sim, 15 * SIM_S);
		p = cm_passive(w, 0);
		assert_non_null(p);
		assert_int_equal(roost_cm_accept(p->conn,
						 &(struct roost_cm_rep_param){
							 .qpn = 0x999 }),
				 0);
	}
	sim_run_for(w->sim, LONG_NS);
	assert_int_equal(cm_nb_passive(w), 1);
	p = cm_passive(w, 0);
	if (s->active_ends)
		end(o, s->destroys);
	if (s->passive_ends)
		end(p, s->destroys);
	sim_run_for(w->sim, LONG_NS);
	cm_expect_(o, s->active);
	cm_expect_(p, s->passive);
	for (int i = 0; i < 2; i++) {
		struct roost_cm_counters c = cm_counters(w, i);

		nb_sent[i] = w->sim->link.nb_log[i];
		assert_int_equal(c.nb_half_open, 0);
		assert_int_equal(c.nb_timewait, 0);
	}
	cm_world_free(w);
}

static void play_all(const struct scenario *s)
{
	size_t clean[2], now[2];

	play(s, SIM_A, FAULT_NONE, 0, clean);
	assert_true(clean[SIM_A] > 0 && clean[SIM_B] > 0);
	for (int side = 0; side < 2; side++)
		for (unsigned int nth = 0; nth < clean[side]; nth++)
			for (enum fault f = FAULT_DROP; f < FAULTS; f++) {
				play(s, side, f, nth, now);
				/* The fault was there to be seen. */
				if (f == FAULT_DROP)
					assert_true(now[SIM_A] + now[SIM_B] >
						    clean[SIM_A] +
							    clean[SIM_B]);
			}
}

#define CONNECTED_ACTIVE ROOST_CM_REP_RECEIVED, 1
#define CONNECTED_PASSIVE ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1

static void loss__connect_and_disconnect(void **state)
{
	const struct scenario s = {
		.policy = CM_ACCEPT,
		.active_ends = true,
		.active = { CONNECTED_ACTIVE, ROOST_CM_DREP_RECEIVED, 1,
			    ROOST_CM_TIMEWAIT_EXIT, 1 },
		.passive = { CONNECTED_PASSIVE, ROOST_CM_DREQ_RECEIVED, 1,
			     ROOST_CM_TIMEWAIT_EXIT, 1 },
	};

	play_all(&s);
}

static void loss__passive_disconnects(void **state)
{
	const struct scenario s = {
		.policy = CM_ACCEPT,
		.passive_ends = true,
		.active = { CONNECTED_ACTIVE, ROOST_CM_DREQ_RECEIVED, 1,
			    ROOST_CM_TIMEWAIT_EXIT, 1 },
		.passive = { CONNECTED_PASSIVE, ROOST_CM_DREP_RECEIVED, 1,
			     ROOST_CM_TIMEWAIT_EXIT, 1 },
	};

	play_all(&s);
}

/* An owner that takes its time is asked again, and answers with MRA. */
static void loss__slow_owner(void **state)
{
	const struct scenario s = {
		.slow_owner = true,
		.active_ends = true,
		.active = { ROOST_CM_MRA_RECEIVED, 1, CONNECTED_ACTIVE,
			    ROOST_CM_DREP_RECEIVED, 1, ROOST_CM_TIMEWAIT_EXIT,
			    1 },
		.passive = { CONNECTED_PASSIVE, ROOST_CM_DREQ_RECEIVED, 1,
			     ROOST_CM_TIMEWAIT_EXIT, 1 },
	};
	size_t sent[2];

	play(&s, SIM_A, FAULT_NONE, 0, sent);
	/* The frames are REQ, REQ, RTU, DREQ and MRA, REP, DREP: a REQ or the
	 * MRA that is lost or late comes to the same.
	 */
	for (unsigned int nth = 2; nth < sent[SIM_A]; nth++)
		for (enum fault f = FAULT_DROP; f < FAULTS; f++)
			play(&s, SIM_A, f, nth, sent);
	for (unsigned int nth = 1; nth < 3; nth++)
		for (enum fault f = FAULT_DROP; f < FAULTS; f++)
			play(&s, SIM_B, f, nth, sent);
}

/* A REJ is not repeated by itself: its loss is mended by the REQ, which finds
 * the answer that was kept, also when its connection is gone.
 */
static void loss__reject(void **state)
{
	struct cm_world *w;
	struct cm_owner *o;

	for (int side = 0; side < 2; side++)
		for (unsigned int i = 0; i < 2 * FAULTS; i++) {
			const struct scenario s = {
				.policy = i < FAULTS ? CM_REJECT : CM_DESTROY,
			};

			w = world_of(&s, side, i % FAULTS, 0);
			o = cm_owner_new(w);
			cm_connect(o, 0x4321);
			sim_run_for(w->sim, LONG_NS);
			cm_expect(o, ROOST_CM_REJ_RECEIVED, 1);
			assert_int_equal(o->last[ROOST_CM_REJ_RECEIVED].status,
					 28);
			assert_int_equal(cm_nb_passive(w), 1);
			assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 0);
			assert_int_equal(cm_counters(w, SIM_B).nb_conns,
					 i < FAULTS);
			cm_world_free(w);
		}
}

/* Anything may be lost, doubled or overtaken, again and again. */
static void loss__much_of_everything(void **state)
{
	for (unsigned int i = 0; i < 40; i++) {
		struct cm_world *w = cm_world_new();
		struct sim_faults f = {
			.drop_ppm = 300000,
			.dup_ppm = 300000,
			.corrupt_ppm = 50000,
			.delay_ns = SIM_MS,
			.jitter_ns = 9 * SIM_S,
			.drop_nth = -1,
		};
		struct cm_owner *o, *p;

		w->sim->rng.state ^= i;
		sim_set_faults(w->sim, &f);
		cm_listen(w, ROOST_CM_PS_TCP, 10);
		o = cm_owner_new(w);
		cm_connect(o, 0x4321);
		sim_run_for(w->sim, LONG_NS);
		p = cm_passive(w, 0);
		assert_int_equal(cm_nb_passive(w), 1);
		roost_cm_disconnect(o->conn, NULL, 0);
		sim_run_for(w->sim, LONG_NS);
		assert_int_equal(o->seen[ROOST_CM_REP_RECEIVED], 1);
		assert_int_equal(o->seen[ROOST_CM_DREP_RECEIVED], 1);
		assert_int_equal(o->seen[ROOST_CM_TIMEWAIT_EXIT], 1);
		assert_int_equal(p->seen[ROOST_CM_REQ_RECEIVED], 1);
		assert_int_equal(p->seen[ROOST_CM_RTU_RECEIVED], 1);
		assert_int_equal(p->seen[ROOST_CM_DREQ_RECEIVED], 1);
		assert_int_equal(p->seen[ROOST_CM_TIMEWAIT_EXIT], 1);
		cm_world_free(w);
	}
}

/* The device of a side stands still, or goes on. */
static void set_still(struct cm_world *w, int side, bool is_still)
{
	w->sim->link.faults[side].takes_none = is_still;
	for (uint8_t port_num = 1; port_num <= 2; port_num++)
		roost_port_set_still(w->sim->ends[side].dev, port_num, is_still,
				     w->sim->now_ns);
}

/* Somebody listens, and a request leaves while the link is down. */
static struct cm_owner *ask_in_vain(struct cm_world *w)
{
	struct cm_owner *o;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	w->sim->link.faults[SIM_A].carrier_off = true;
	o = cm_owner_new(w);
	cm_connect(o, 0x4321);
	return o;
}

/* A request is lost, and the device stands still for longer than all its tries
 * take: when it goes on, the request is sent again at once.
 */
static void loss__none_while_it_stands_still(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = ask_in_vain(w);

	sim_run_for(w->sim, SIM_MS);
	set_still(w, SIM_A, true);
	sim_run_for(w->sim, LONG_NS);
	cm_expect_nothing(o);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	w->sim->link.faults[SIM_A].carrier_off = false;
	set_still(w, SIM_A, false);
	sim_run_for(w->sim, 100 * SIM_MS);
	assert_int_equal(cm_nb_passive(w), 1);
	assert_int_equal(o->seen[ROOST_CM_REP_RECEIVED], 1);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	roost_cm_disconnect(o->conn, NULL, 0);
	sim_run_for(w->sim, LONG_NS);
	assert_int_equal(o->seen[ROOST_CM_TIMEWAIT_EXIT], 1);
	cm_world_free(w);
}

/* A request leaves while the link is down: it is sent again when that is up,
 * and soon once more if the peer was not ready then.
 */
static void loss__ends_with_the_link_that_was_down(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = ask_in_vain(w);

	sim_run_for(w->sim, SIM_S);
	assert_int_equal(cm_nb_passive(w), 0);
	w->sim->link.faults[SIM_A].carrier_off = false;
	roost_port_carrier_up(w->sim->ends[SIM_A].dev);
	sim_run_for(w->sim, 50 * SIM_MS);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	o = cm_owner_new(w);
	w->sim->link.faults[SIM_A].carrier_off = true;
	cm_connect(o, 0x4322);
	roost_port_carrier_up(w->sim->ends[SIM_A].dev);
	sim_run_for(w->sim, 500 * SIM_MS);
	cm_expect_nothing(o);
	w->sim->link.faults[SIM_A].carrier_off = false;
	sim_run_for(w->sim, SIM_S);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss__connect_and_disconnect),
		cmocka_unit_test(loss__passive_disconnects),
		cmocka_unit_test(loss__slow_owner),
		cmocka_unit_test(loss__reject),
		cmocka_unit_test(loss__much_of_everything),
		cmocka_unit_test(loss__none_while_it_stands_still),
		cmocka_unit_test(loss__ends_with_the_link_that_was_down),
	};

	return sim_main(argc, argv, "cm_loss", tests,
			sizeof(tests) / sizeof(tests[0]));
}
