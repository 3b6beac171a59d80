/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The flight recorder: what it holds after each way to go wrong. */

#include <string.h>

#include "lib/engine/core/service.h"
#include "lib/engine/core/why.h"
#include "tests/sim/raw.h"

#define NO_SUCH_KEY 0x12345678u

struct pair {
	struct sim *sim;
	struct sim_qp *a, *b;
};

static struct pair pair_open(void)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct pair p = { .sim = sim_new() };

	conf.retry_cnt = 2;
	conf.rnr_retry = 3;
	conf.min_rnr_timer = 12;
	sim_pair(p.sim, &conf, &p.a, &p.b);
	/* Time 0 would be none. */
	sim_run_for(p.sim, SIM_US);
	return p;
}

/* All-zero: there is none. */
static struct roost_flight_entry
event_of(const struct sim_qp *qp, enum roost_flight_kind kind, uint8_t arg)
{
	const struct roost_qp_view v = raw_view(qp);

	for (unsigned int i = 0; i < ROOST_FLIGHT_EVENTS; i++)
		if (v.flight.events[i].kind == kind &&
		    v.flight.events[i].arg == arg)
			return v.flight.events[i];
	return (struct roost_flight_entry){ 0 };
}

static void assert_states(const struct sim_qp *qp, unsigned int nb,
			  const uint8_t *states, uint32_t last_by)
{
	const struct roost_qp_view v = raw_view(qp);
	struct roost_flight_entry sorted[ROOST_FLIGHT_STATES];

	assert_int_equal(roost_flight_sort(v.flight.states, ROOST_FLIGHT_STATES,
					   sorted),
			 nb);
	for (unsigned int i = 0; i < nb; i++) {
		assert_int_equal(sorted[i].arg, states[i]);
		assert_int_equal(sorted[i].value,
				 i + 1 < nb ? ROOST_QPE_MODIFIED : last_by);
		assert_true(i == 0 || sorted[i].at_ns > sorted[i - 1].at_ns);
	}
}

static void flight__states_and_who_asked(void **state)
{
	static const uint8_t life[] = { ROOST_QPS_INIT, ROOST_QPS_RTR,
					ROOST_QPS_RTS, ROOST_QPS_ERR,
					ROOST_QPS_RESET };
	static const uint8_t last_six[] = { ROOST_QPS_RTS,   ROOST_QPS_ERR,
					    ROOST_QPS_RESET, ROOST_QPS_INIT,
					    ROOST_QPS_ERR,   ROOST_QPS_RESET };
	struct pair p = pair_open();

	p.sim->link.faults[SIM_A].carrier_off = true;
	sim_send(p.a, 100);
	sim_run(p.sim);
	assert_states(p.a, 4, life, ROOST_QPE_NO_ANSWER);
	assert_states(p.b, 3, life, ROOST_QPE_MODIFIED);
	/* The first timeout, and the two retries. */
	assert_int_equal(event_of(p.a, ROOST_FLIGHT_TIMEOUT, 0).count, 3);
	assert_int_equal(event_of(p.a, ROOST_FLIGHT_TIMEOUT, 0).value,
			 p.a->sq_psn);
	assert_int_equal(sim_qp_to(p.b, ROOST_QPS_ERR), 0);
	assert_int_equal(sim_qp_to(p.b, ROOST_QPS_RESET), 0);
	assert_states(p.b, 5, life, ROOST_QPE_MODIFIED);
	/* A modify that changes no state is none. */
	assert_int_equal(sim_qp_to(p.b, ROOST_QPS_RESET), 0);
	assert_int_equal(sim_qp_to_init(p.b), 0);
	assert_int_equal(sim_qp_to(p.b, ROOST_QPS_ERR), 0);
	assert_int_equal(sim_qp_to(p.b, ROOST_QPS_RESET), 0);
	assert_states(p.b, 6, last_six, ROOST_QPE_MODIFIED);
	sim_free(p.sim);
}

static void flight__naks(void **state)
{
	struct pair p = pair_open();

	sim_send_msg(p.a, &(struct sim_msg){ .opcode = ROOST_WR_WRITE,
					     .flags = ROOST_SEND_SIGNALED,
					     .nb_sges = 1,
					     .sge_len_bytes = { 8 },
					     .remote = 0x1000,
					     .rkey = NO_SUCH_KEY });
	sim_run(p.sim);
	assert_int_equal(event_of(p.a, ROOST_FLIGHT_NAK_RECEIVED,
				  ROOST_NAK_REM_ACCESS)
				 .value,
			 p.a->sq_psn);
	assert_int_equal(event_of(p.b, ROOST_FLIGHT_NAK_SENT,
				  ROOST_NAK_REM_ACCESS)
				 .value,
			 p.a->sq_psn);
	assert_int_equal(raw_view(p.b).error.why, ROOST_WHY_KEY_UNKNOWN);
	sim_free(p.sim);
}

static void flight__rnr_is_one_entry(void **state)
{
	struct pair p = pair_open();
	const uint8_t syndrome = ROOST_AETH_RNR_NAK | 12;

	sim_send(p.a, 100);
	sim_run(p.sim);
	assert_int_equal(
		event_of(p.a, ROOST_FLIGHT_NAK_RECEIVED, syndrome).count, 4);
	assert_int_equal(event_of(p.b, ROOST_FLIGHT_NAK_SENT, syndrome).count,
			 4);
	assert_int_equal(raw_view(p.a).error.code, ROOST_QPE_PEER_NOT_READY);
	sim_free(p.sim);
}

/* Who gets frames that are broken says of whom they were. */
static void flight__icrc_names_the_qp(void **state)
{
	struct pair p = pair_open();
	struct roost_last_drop drops[ROOST_DROPS_MAX];

	p.sim->link.faults[SIM_A].corrupt_ppm = 1000000;
	for (int i = 0; i < 8; i++)
		sim_send(p.a, 1000);
	sim_run(p.sim);
	assert_int_not_equal(
		event_of(p.b, ROOST_FLIGHT_DROP, ROOST_DROP_ICRC).count, 0);
	roost_dev_view_drops(p.b->end->dev, drops);
	assert_int_not_equal(drops[ROOST_DROP_ICRC].at_ns, 0);
	assert_int_equal(raw_view(p.a).error.code, ROOST_QPE_NO_ANSWER);
	assert_int_equal(raw_view(p.a).error.why, ROOST_WHY_NONE);
	sim_free(p.sim);
}

static void flight__pkey_that_came(void **state)
{
	struct pair p = pair_open();
	struct roost_last_drop drops[ROOST_DROPS_MAX];
	struct roost_bth bth = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.migreq = true,
		.pkey = 0x8123,
		.dest_qpn = p.b->qpn,
		.psn = roost_psn(p.a->sq_psn),
	};

	sim_forge(p.b, &bth, "12345678", 8);
	sim_run(p.sim);
	assert_int_equal(
		event_of(p.b, ROOST_FLIGHT_DROP, ROOST_DROP_PKEY).value,
		0x8123);
	roost_dev_view_drops(p.b->end->dev, drops);
	assert_int_equal(drops[ROOST_DROP_PKEY].qpn, p.b->qpn);
	assert_true(roost_gid_eq(&drops[ROOST_DROP_PKEY].sgid, &p.a->end->gid));
	/* A QP that nobody has: the worker alone knows. */
	bth.dest_qpn = p.b->qpn ^ 0x10;
	sim_forge(p.b, &bth, "12345678", 8);
	sim_run(p.sim);
	roost_dev_view_drops(p.b->end->dev, drops);
	assert_int_equal(drops[ROOST_DROP_QPN].qpn, bth.dest_qpn);
	sim_free(p.sim);
}

static void flight__qkey_that_came(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL);
	struct sim_qp *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah = raw_ah(a->end, &b->end->gid);

	raw_send(a,
		 (struct roost_send_wr){ .opcode = ROOST_WR_SEND,
					 .ah = ah,
					 .dest_qpn = b->qpn,
					 .qkey = a->conf.qkey ^ 0x77 },
		 raw_random(sim, 100));
	/* And one that finds no receive. */
	raw_send(a,
		 (struct roost_send_wr){ .opcode = ROOST_WR_SEND,
					 .ah = ah,
					 .dest_qpn = b->qpn,
					 .qkey = b->conf.qkey },
		 raw_random(sim, 100));
	sim_run(sim);
	assert_int_equal(event_of(b, ROOST_FLIGHT_DROP, ROOST_DROP_QKEY).value,
			 a->conf.qkey ^ 0x77);
	assert_int_equal(
		event_of(b, ROOST_FLIGHT_DROP, ROOST_DROP_RNR_WAIT).count, 1);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

static void flight__port_down(void **state)
{
	struct pair p = pair_open();

	roost_port_set_link(p.a->end->dev, 1, ROOST_PORT_DOWN, 1500, 0);
	p.sim->link.faults[SIM_A].carrier_off = true;
	sim_send(p.a, 100);
	sim_run(p.sim);
	/* It is up again when somebody asks. */
	roost_port_set_link(p.a->end->dev, 1, ROOST_PORT_ACTIVE, 1500, 1000);
	assert_int_equal(raw_view(p.a).error.why, ROOST_WHY_PORT_DOWN);
	assert_int_equal(event_of(p.a, ROOST_FLIGHT_PORT_DOWN, 1).count, 3);
	sim_free(p.sim);
}

static void flight__path_mtu(void **state)
{
	static const uint8_t payload[512];
	struct pair p = pair_open();
	struct roost_bth bth = {
		.opcode = ROOST_OPCODE_RC_SEND_FIRST,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = p.b->qpn,
		.psn = roost_psn(p.a->sq_psn),
	};

	sim_recv(p.b, 3000);
	sim_forge(p.b, &bth, payload, sizeof(payload));
	sim_run(p.sim);
	assert_int_equal(raw_view(p.b).error.why, ROOST_WHY_PATH_MTU);
	assert_int_equal(raw_view(p.b).error.payload_bytes, sizeof(payload));
	sim_free(p.sim);
}

/* ---- keys -----------------------------------------------------------------
 */

static enum roost_why why_after(struct pair *p, uint64_t va, uint32_t key)
{
	enum roost_why why;

	sim_send_msg(p->a, &(struct sim_msg){ .opcode = ROOST_WR_WRITE,
					      .flags = ROOST_SEND_SIGNALED,
					      .nb_sges = 1,
					      .sge_len_bytes = { 64 },
					      .remote = va,
					      .rkey = key });
	sim_run(p->sim);
	assert_int_equal(raw_view(p->b).error.code, ROOST_QPE_REMOTE_KEY);
	why = raw_view(p->b).error.why;
	sim_free(p->sim);
	return why;
}

static struct roost_mr *region(struct pair *p, uint32_t access,
			       struct sim_slice *s)
{
	struct roost_mr *mr;

	*s = sim_arena_take(p->sim, 4096);
	assert_int_equal(roost_mr_reg(p->b->end->pd, s->data, 4096,
				      (uintptr_t)s->data, access, &mr),
			 0);
	return mr;
}

static void flight__why_a_region(void **state)
{
	struct pair p = pair_open();
	struct sim_slice s;
	struct roost_mr *mr = region(&p, ROOST_ACCESS_LOCAL_WRITE, &s);
	uint32_t key = roost_mr_rkey(mr);

	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_int_equal(why_after(&p, (uintptr_t)s.data, key),
			 ROOST_WHY_KEY_DEREGISTERED);

	p = pair_open();
	assert_int_equal(why_after(&p, 1, roost_mr_rkey(p.b->end->mr)),
			 ROOST_WHY_KEY_RANGE);
}

static uint32_t bind_window(struct pair *p, struct roost_mw *mw,
			    struct sim_slice mem)
{
	uint32_t rkey = roost_mw_rkey(mw) + 1;

	raw_send(p->b,
		 (struct roost_send_wr){
			 .opcode = ROOST_WR_BIND_MW,
			 .bind = { .mw = mw,
				   .mr = p->b->end->mr,
				   .addr = (uintptr_t)mem.data,
				   .len_bytes = 1000,
				   .access = ROOST_ACCESS_REMOTE_WRITE,
				   .rkey = rkey },
		 },
		 (struct sim_slice){ 0 });
	sim_turn(p->sim);
	return rkey;
}

static void write_in(struct pair *p, uint64_t va, uint32_t rkey)
{
	raw_send(p->a,
		 (struct roost_send_wr){ .opcode = ROOST_WR_WRITE,
					 .remote_addr = va,
					 .rkey = rkey },
		 raw_random(p->sim, 64));
	sim_run(p->sim);
}

/* What the program does to a window of type 2 before its peer comes. */
enum fate {
	DEALLOCATED,
	INVALIDATED,
	INVALIDATED_AND_BOUND,
};

static enum roost_why why_window(enum fate fate)
{
	struct pair p = pair_open();
	struct roost_mw *mw;
	struct sim_slice mem;
	enum roost_why why;
	uint32_t rkey;

	p.sim->nobody_polls = true;
	mem = raw_blank(p.sim, 1000);
	assert_int_equal(roost_mw_alloc(p.b->end->pd, 2, &mw), 0);
	rkey = bind_window(&p, mw, mem);
	write_in(&p, (uintptr_t)mem.data, rkey);
	assert_int_equal(raw_view(p.b).error.code, ROOST_QPE_NONE);
	if (fate == DEALLOCATED) {
		assert_int_equal(roost_mw_dealloc(mw), 0);
	} else {
		raw_send(p.b,
			 (struct roost_send_wr){ .opcode = ROOST_WR_LOCAL_INV,
						 .imm_be = rkey },
			 (struct sim_slice){ 0 });
		sim_turn(p.sim);
	}
	if (fate == INVALIDATED_AND_BOUND)
		bind_window(&p, mw, mem);
	write_in(&p, (uintptr_t)mem.data, rkey);
	assert_int_equal(raw_view(p.b).error.code, ROOST_QPE_REMOTE_KEY);
	why = raw_view(p.b).error.why;
	if (fate != DEALLOCATED)
		assert_int_equal(roost_mw_dealloc(mw), 0);
	sim_free(p.sim);
	return why;
}

static void flight__why_a_window(void **state)
{
	assert_int_equal(why_window(DEALLOCATED), ROOST_WHY_KEY_DEALLOCATED);
	assert_int_equal(why_window(INVALIDATED), ROOST_WHY_KEY_INVALIDATED);
	assert_int_equal(why_window(INVALIDATED_AND_BOUND),
			 ROOST_WHY_KEY_INVALIDATED);
}

/* ---- failures -------------------------------------------------------------
 */

/* Failures behind those that are kept. */
#define EXTRA 3u

struct seen {
	unsigned int nb, lost;
	uint32_t qpn;
	uint8_t code;
};

static void see(void *arg, const struct roost_qp_view *qp, unsigned int lost)
{
	struct seen *seen = arg;

	seen->nb++;
	seen->lost += lost;
	seen->qpn = qp->qpn;
	seen->code = qp->error.code;
}

/* The QP may be gone before anybody is told, and that its program moved it is
 * no failure.
 */
static void flight__failures_are_told(void **state)
{
	struct pair p = pair_open();
	struct seen seen = { 0 };
	uint32_t qpn = p.a->qpn;
	struct sim_qp *c, *d;

	assert_int_equal(roost_dev_watch_failures(p.a->end->dev, see, &seen),
			 0);
	p.sim->link.faults[SIM_A].carrier_off = true;
	sim_send(p.a, 100);
	sim_run(p.sim);
	sim_qp_destroy(p.a);
	roost_dev_service_run_all(p.sim->ends[SIM_A].dev, p.sim->now_ns);
	assert_int_equal(seen.nb, 1);
	assert_int_equal(seen.lost, 0);
	assert_int_equal(seen.qpn, qpn);
	assert_int_equal(seen.code, ROOST_QPE_NO_ANSWER);
	for (unsigned int i = 0; i <= ROOST_FAILURES_MAX + EXTRA; i++)
		sim_pair(p.sim, NULL, &c, &d);
	/* More than there is room for, and one that its program moved. */
	assert_int_equal(sim_qp_to(c, ROOST_QPS_ERR), 0);
	roost_port_remove(p.sim->ends[SIM_A].dev, 1);
	roost_port_remove(p.sim->ends[SIM_A].dev, 2);
	roost_dev_service_run_all(p.sim->ends[SIM_A].dev, p.sim->now_ns);
	assert_int_equal(seen.nb, 1 + ROOST_FAILURES_MAX);
	assert_int_equal(seen.code, ROOST_QPE_REMOVED);
	assert_int_equal(seen.lost, EXTRA);
	roost_dev_unwatch_failures(p.sim->ends[SIM_A].dev);
	sim_free(p.sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(flight__states_and_who_asked),
	cmocka_unit_test(flight__naks),
	cmocka_unit_test(flight__rnr_is_one_entry),
	cmocka_unit_test(flight__icrc_names_the_qp),
	cmocka_unit_test(flight__pkey_that_came),
	cmocka_unit_test(flight__qkey_that_came),
	cmocka_unit_test(flight__port_down),
	cmocka_unit_test(flight__path_mtu),
	cmocka_unit_test(flight__why_a_region),
	cmocka_unit_test(flight__why_a_window),
	cmocka_unit_test(flight__failures_are_told),
};

SIM_MAIN("sim-flight", tests)
