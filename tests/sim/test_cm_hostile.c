/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What must not be believed: messages from elsewhere, of the wrong shape, at
 * the wrong time, too many of them. Each is dropped and counted, and what
 * stands, stands.
 */

#include <string.h>

#include "cm/serve.h"
#include "lib/engine/core/service.h"
#include "lib/engine/transport/gsi.h"
#include "tests/sim/cm_world.h"

/* What SIM_A knows of a connection, and a forger does not. */
struct numbers {
	uint32_t a_id, b_id;
};

/* The numbers, read off the wire: REP has both. */
struct tap {
	struct numbers numbers;
};

static bool listen_in(struct sim *sim, int side, const struct roost_pkt *pkt,
		      void *arg)
{
	struct tap *tap = arg;
	struct roost_cm_msg msg;
	enum roost_cm_drop drop;

	(void)sim;
	if (side == SIM_B && pkt->dest_qpn == ROOST_GSI_QPN &&
	    roost_cm_msg_decode(pkt->payload, pkt->payload_len_bytes, &msg,
				&drop) &&
	    msg.type == ROOST_CM_REP) {
		tap->numbers.a_id = msg.remote_id;
		tap->numbers.b_id = msg.local_id;
	}
	return true;
}

static struct cm_owner *established(struct cm_world *w, struct tap *tap,
				    struct cm_owner **active)
{
	w->sim->link.filter = listen_in;
	w->sim->link.filter_arg = tap;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	*active = cm_owner_new(w);
	return cm_establish(*active, 0x1234);
}

/* A message of each type with the right numbers for SIM_B's conn. */
static struct roost_cm_msg msg_to_b(struct cm_world *w,
				    const struct numbers *numbers,
				    enum roost_cm_msg_type type)
{
	struct roost_cm_msg msg = cm_forged_req(w, numbers->a_id, 0x1234);

	msg.type = type;
	msg.alternate = msg.primary;
	msg.remote_id = numbers->b_id;
	if (type == ROOST_CM_SIDR_REP)
		msg.local_id = numbers->b_id;
	return msg;
}

/* ---- shape ------------------------------------------------------------ */

static void bad__every_length_and_attribute(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg req = cm_forged_req(w, 1, 0x99);
	uint8_t mad[512] = { 0 };
	uint64_t before;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	roost_cm_msg_encode(&req, mad);
	for (size_t len = 0; len <= sizeof(mad); len++) {
		if (len == ROOST_MAD_LEN)
			continue;
		before = cm_counters(w, SIM_B).drops[ROOST_CM_DROP_LENGTH];
		cm_forge(w, SIM_A, mad, len);
		sim_run_for(w->sim, 10 * SIM_US);
		assert_int_equal(
			cm_counters(w, SIM_B).drops[ROOST_CM_DROP_LENGTH],
			before + 1);
	}
	for (unsigned int attr = 0x1b; attr < 0x100; attr++) {
		mad[17] = (uint8_t)attr;
		cm_forge(w, SIM_A, mad, ROOST_MAD_LEN);
		sim_run_for(w->sim, 10 * SIM_US);
	}
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_HEADER],
			 0x100 - 0x1b);
	assert_int_equal(cm_nb_passive(w), 0);
	cm_world_free(w);
}

/* One bit is wrong, each in turn; or many, by chance. No answer but REJ and
 * DREP ever comes, and the connection that stands is not touched by what has
 * other numbers.
 */
static void bad__flipped_bits(void **state)
{
	struct cm_world *w = cm_world_new();
	struct tap tap;
	struct cm_owner *o, *p = established(w, &tap, &o);
	uint8_t mad[ROOST_MAD_LEN];

	w->policy = CM_DESTROY;
	for (unsigned int t = 0; t < ROOST_CM_MSG_COUNT; t++) {
		struct numbers wrong = { tap.numbers.a_id ^ 0x80000000,
					 tap.numbers.b_id };
		struct roost_cm_msg msg = msg_to_b(w, &wrong, t);

		msg.qpn = 0x4567;
		for (unsigned int i = 0; i < 300; i++) {
			roost_cm_msg_encode(&msg, mad);
			for (unsigned int n = 0; n <= i / 100; n++) {
				/* Not the numbers: they might become right. */
				uint64_t bit = sim_random_below(
					&w->sim->rng, 8 * (ROOST_MAD_LEN - 32));

				mad[32 + bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			cm_forge(w, SIM_A, mad, sizeof(mad));
			sim_run_for(w->sim, SIM_MS);
			w->nb_owners = 2;
		}
	}
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	sim_run_for(w->sim, 20 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 1);
	assert_int_equal(roost_cm_disconnect(o->conn, NULL, 0), 0);
	sim_run_for(w->sim, SIM_S);
	assert_int_equal(p->seen[ROOST_CM_DREQ_RECEIVED], 1);
	cm_world_free(w);
}

/* ---- place ------------------------------------------------------------ */

/* All numbers are right, but it comes from another address. */
static void place__another_address(void **state)
{
	struct cm_world *w = cm_world_new();
	struct tap tap;
	struct cm_owner *o, *p = established(w, &tap, &o);
	struct roost_gid right = w->sim->ends[SIM_A].gid;
	struct roost_cm_counters before;

	w->sim->ends[SIM_A].gid.b[15] = 77;
	for (unsigned int t = 0; t < ROOST_CM_MSG_COUNT; t++) {
		struct roost_cm_msg msg = msg_to_b(w, &tap.numbers, t);

		if (t == ROOST_CM_REQ || t == ROOST_CM_SIDR_REQ)
			continue;
		msg.qpn = 0x21234;
		before = cm_counters(w, SIM_B);
		cm_forge_msg(w, SIM_A, &msg);
		sim_run_for(w->sim, SIM_MS);
		assert_int_equal(
			cm_counters(w, SIM_B).drops[ROOST_CM_DROP_PEER],
			before.drops[ROOST_CM_DROP_PEER] + 1);
	}
	/* A REQ that says it is from somebody else. */
	struct roost_cm_msg req = cm_forged_req(w, 5, 0x77);

	req.primary.local_gid = right;
	before = cm_counters(w, SIM_B);
	cm_forge_msg(w, SIM_A, &req);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_PEER],
			 before.drops[ROOST_CM_DROP_PEER] + 1);
	w->sim->ends[SIM_A].gid = right;
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	assert_int_equal(cm_nb_passive(w), 1);
	cm_world_free(w);
}

/* From addresses that nobody else can have: that of the receiver, and those of
 * no station.
 */
static void place__nobodys_address(void **state)
{
	static const uint8_t v4[][4] = {
		{ 0, 0, 0, 0 },
		{ 127, 0, 0, 1 },
		{ 224, 0, 0, 1 },
		{ 255, 255, 255, 255 },
	};
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg req;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	for (uint32_t i = 0; i < 5; i++) {
		w->sim->ends[SIM_A].gid = i < 4 ? roost_gid_from_v4(v4[i])
						: w->sim->ends[SIM_B].gid;
		req = cm_forged_req(w, 5 + i, 0x77 + i);
		cm_put_ip(w, &req);
		cm_forge_msg(w, SIM_A, &req);
		sim_run_for(w->sim, SIM_MS);
		assert_int_equal(
			sim_counters(w->sim, SIM_B)->drops[ROOST_DROP_SRC_ADDR],
			i + 1);
	}
	assert_int_equal(cm_nb_passive(w), 0);
	assert_int_equal(cm_counters(w, SIM_B).rx[ROOST_CM_REQ], 0);
	cm_world_free(w);
}

/* ---- time ------------------------------------------------------------- */

/* In a connection that stands, these mean nothing. */
static void time__established(void **state)
{
	static const enum roost_cm_msg_type types[] = {
		ROOST_CM_MRA, ROOST_CM_RTU,      ROOST_CM_DREP,
		ROOST_CM_REP, ROOST_CM_SIDR_REP, ROOST_CM_APR,
	};
	struct cm_world *w = cm_world_new();
	struct tap tap;
	struct cm_owner *o, *p = established(w, &tap, &o);

	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct roost_cm_msg msg = msg_to_b(w, &tap.numbers, types[i]);
		uint64_t before = cm_drops(w, SIM_B);

		cm_forge_msg(w, SIM_A, &msg);
		sim_run_for(w->sim, SIM_MS);
		assert_int_equal(cm_drops(w, SIM_B), before + 1);
	}
	/* A DREQ for another QP. */
	struct roost_cm_msg dreq = msg_to_b(w, &tap.numbers, ROOST_CM_DREQ);

	dreq.qpn = 0x4444;
	cm_forge_msg(w, SIM_A, &dreq);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_FIELD], 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	cm_world_free(w);
}

/* A DREQ for what nobody knows is answered, so that the peer gets an end. */
static void time__dreq_of_the_unknown(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg msg = {
		.type = ROOST_CM_DREQ, .local_id = 5, .remote_id = 6, .qpn = 7
	};

	cm_forge_msg(w, SIM_A, &msg);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).tx[ROOST_CM_DREP], 1);
	assert_int_equal(cm_counters(w, SIM_A).rx[ROOST_CM_DREP], 1);
	assert_int_equal(cm_drops(w, SIM_A), 1);
	cm_world_free(w);
}

/* ---- stale ------------------------------------------------------------ */

/* The peer's QPN is in use: the new request is refused, and the old
 * connection, of which its owner knows nothing any more, is ended.
 */
static void stale__qpn_in_use(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *o2 = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	cm_connect(o2, 0x1234);
	sim_run_for(w->sim, SIM_S);
	assert_int_equal(o2->seen[ROOST_CM_REJ_RECEIVED], 1);
	assert_int_equal(o2->last[ROOST_CM_REJ_RECEIVED].status, 10);
	assert_int_equal(cm_nb_passive(w), 1);
	assert_int_equal(o->seen[ROOST_CM_DREQ_RECEIVED], 1);
	assert_int_equal(p->seen[ROOST_CM_DREP_RECEIVED], 1);
	/* After timewait the QPN is good again. */
	sim_run_for(w->sim, 5 * SIM_S);
	assert_int_equal(p->seen[ROOST_CM_TIMEWAIT_EXIT], 1);
	assert_int_equal(o2->seen[ROOST_CM_TIMEWAIT_EXIT], 1);
	cm_connect(o2, 0x1234);
	sim_run_for(w->sim, SIM_S);
	assert_int_equal(o2->seen[ROOST_CM_REP_RECEIVED], 1);
	cm_world_free(w);
}

static void stale__in_timewait(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *o2 = cm_owner_new(w);

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_establish(o, 0x1234);
	cm_owner_destroy(o);
	sim_run_for(w->sim, SIM_S);
	cm_connect(o2, 0x1234);
	sim_run_for(w->sim, SIM_S / 2);
	assert_int_equal(o2->last[ROOST_CM_REJ_RECEIVED].status, 10);
	assert_int_equal(cm_nb_passive(w), 1);
	cm_world_free(w);
}

/* ---- floods ----------------------------------------------------------- */

static void flood__backlog(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o[3] = { cm_owner_new(w), cm_owner_new(w),
				  cm_owner_new(w) };

	w->keep_backlog = true;
	cm_listen(w, ROOST_CM_PS_TCP, 2);
	for (uint32_t i = 0; i < 3; i++)
		cm_connect(o[i], 0x100 + i);
	sim_run_for(w->sim, SIM_S);
	assert_int_equal(cm_nb_passive(w), 2);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_BACKLOG], 1);
	cm_expect_nothing(o[2]);
	/* Somebody fetches one, and the peer's next try succeeds. */
	roost_cm_conn_fetched(cm_passive(w, 0)->conn);
	sim_run_for(w->sim, 10 * SIM_S);
	cm_expect(o[2], ROOST_CM_REP_RECEIVED, 1);
	cm_world_free(w);
}

static void flood_for(struct cm_world *w, uint32_t from, unsigned int nb)
{
	for (unsigned int i = 0; i < nb; i++) {
		struct roost_cm_msg req =
			cm_forged_req(w, from + i, 2 + (from + i) % 0xfffffe);

		req.service_id += i & 1; /* half of them for nobody */
		cm_forge_msg(w, SIM_A, &req);
		if (i % 300 == 299)
			sim_run_for(w->sim, SIM_MS);
	}
}

/* 300,000 a second: memory is bounded, and so is what goes out. */
static void flood__requests(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_counters c;

	w->policy = CM_DESTROY;
	cm_listen(w, ROOST_CM_PS_TCP, 0);
	for (unsigned int i = 0; i < 334; i++) {
		w->nb_owners = 0;
		flood_for(w, 1 + i * 300, 300);
	}
	c = cm_counters(w, SIM_B);
	assert_true(c.drops[ROOST_CM_DROP_RATE] > 60000);
	assert_true(c.tx[ROOST_CM_REJ] < 40000);
	assert_true(c.nb_conns <= 4096);
	sim_run_for(w->sim, 20 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	w->nb_owners = 0;
	cm_world_free(w);
}

/* 30,000 in 0.1 s, while a thread that waits for events takes every other part
 * of them, with a clock that is ahead of the control thread's.
 */
static void flood__in_two_threads_times(void **state)
{
	struct cm_world *w = cm_world_new();

	(void)state;
	w->policy = CM_DESTROY;
	cm_listen(w, ROOST_CM_PS_TCP, 0);
	sim_run_for(w->sim, SIM_S);
	for (unsigned int i = 0; i < 100; i++) {
		const bool attends = i % 2 == 0;

		w->nb_owners = 0;
		roost_dev_service_attend(attends);
		flood_for(w, 1 + i * 300, 300);
		for (unsigned int k = 0; attends && k < 2; k++)
			roost_cm_serve(w->cm[SIM_B],
				       w->sim->now_ns + 2 * SIM_MS);
		roost_dev_service_attend(false);
	}
	/* A burst is 16,384, and each millisecond brings 60 more. */
	assert_true(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_RATE] > 6000);
	w->nb_owners = 0;
	cm_world_free(w);
}

struct asked {
	struct roost_gid by;
	unsigned int nb, nb_others;
};

static void on_asked(void *arg, struct roost_cm_conn *conn,
		     const struct roost_cm_event *event)
{
	struct asked *asked = arg;
	struct roost_cm_path path;

	if (event->type != ROOST_CM_REQ_RECEIVED)
		return;
	assert_true(roost_cm_conn_path(conn, &path));
	if (roost_gid_eq(&path.dgid, &asked->by))
		asked->nb++;
	else
		asked->nb_others++;
	roost_cm_conn_fetched(conn);
}

/* All that a peer asks is taken and none of it answered: it fills what is for
 * requests in doubt by half at most, its oldest make room for its newest, and
 * another one still gets through.
 */
static void flood__one_peer_leaves_room(void **state)
{
	struct cm_world *w = cm_world_new();
	struct asked asked = { .by = w->sim->ends[SIM_A].gid };
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, CM_PORT),
	};
	struct roost_cm_listener *listener;
	struct roost_cm_msg req;

	assert_int_equal(roost_cm_listen(w->cm[SIM_B], &param, on_asked, &asked,
					 &listener),
			 0);
	w->sim->ends[SIM_A].gid.b[15] = 77;
	for (uint32_t i = 0; i < 15000; i++) {
		req = cm_forged_req(w, 1 + i, 2 + i);
		cm_forge_msg(w, SIM_A, &req);
		if (i % 100 == 99)
			sim_run_for(w->sim, SIM_MS);
	}
	assert_int_equal(asked.nb_others, 15000);
	assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 10240);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_HALF_OPEN],
			 15000 - 10240);
	w->sim->ends[SIM_A].gid = asked.by;
	cm_connect(cm_owner_new(w), 0x1234);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(asked.nb, 1);
	roost_cm_listener_destroy(listener);
	cm_world_free(w);
}

/* More at once than the worker has room for: what does not go now goes soon,
 * and not with the next try.
 */
static void flood__of_our_own(void **state)
{
	struct cm_world *w = cm_world_new();
	const unsigned int nb = 1500;

	cm_listen(w, ROOST_CM_PS_TCP, 0);
	for (uint32_t i = 0; i < nb; i++)
		cm_connect(cm_owner_new(w), 0x100 + i);
	sim_run_for(w->sim, SIM_S);
	assert_int_equal(cm_nb_passive(w), nb);
	for (uint32_t i = 0; i < nb; i++)
		cm_expect(&w->owners[i], ROOST_CM_REP_RECEIVED, 1);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	/* And all of them disconnect at once, too; then all the others. */
	w->leave_dreq = true;
	for (uint32_t i = 0; i < nb; i++)
		roost_cm_disconnect(w->owners[i].conn, NULL, 0);
	sim_run_for(w->sim, SIM_S);
	for (uint32_t i = 0; i < nb; i++)
		roost_cm_disconnect(cm_passive(w, i)->conn, NULL, 0);
	sim_run_for(w->sim, SIM_S);
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(w->owners[i].seen[ROOST_CM_DREP_RECEIVED], 1);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_DREQ], 0);
	sim_run_for(w->sim, 5 * SIM_S);
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(w->owners[i].seen[ROOST_CM_TIMEWAIT_EXIT], 1);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad__every_length_and_attribute),
		cmocka_unit_test(bad__flipped_bits),
		cmocka_unit_test(place__another_address),
		cmocka_unit_test(place__nobodys_address),
		cmocka_unit_test(time__established),
		cmocka_unit_test(time__dreq_of_the_unknown),
		cmocka_unit_test(stale__qpn_in_use),
		cmocka_unit_test(stale__in_timewait),
		cmocka_unit_test(flood__backlog),
		cmocka_unit_test(flood__requests),
		cmocka_unit_test(flood__in_two_threads_times),
		cmocka_unit_test(flood__one_peer_leaves_room),
		cmocka_unit_test(flood__of_our_own),
	};

	return sim_main(argc, argv, "cm_hostile", tests,
			sizeof(tests) / sizeof(tests[0]));
}
