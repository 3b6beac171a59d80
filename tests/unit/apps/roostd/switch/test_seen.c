/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/seen.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct roost_sw_mad room;
static struct roost_sw_pkt pkt;

static void out(const struct world *w, unsigned int i, const struct maker *m)
{
	struct roost_sw_frame frame = make(m);

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	roost_seen_out(w->seen, w->client[i], &pkt, frame.head);
}

static enum roost_sw_drop in(const struct world *w, unsigned int i,
			     const struct maker *m)
{
	struct roost_sw_frame frame = make(m);

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	return roost_seen_in(w->seen, w->client[i], &pkt);
}

static void active__to_established_and_away(void **state)
{
	struct roost_seen *seen;
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	out(&w, 0, &m);
	out(&w, 0, &m); /* again */
	seen = roost_seen_by_local(w.seen, w.comm[0]);
	assert_non_null(seen);
	assert_int_equal(seen->state, ROOST_SEEN_REQ_OUT);
	assert_int_equal(seen->client, w.client[0]);
	assert_memory_equal(seen->route.peer_mac, m.flow.dst_mac, 6);
	assert_int_equal(w.seen->clients[w.client[0]].nb, 1);
	/* A REP of somebody else changes nothing. */
	m = mad_to(&w, 0, ROOST_CM_REP);
	m.flow.sgid.b[15] ^= 1;
	in(&w, 0, &m);
	assert_int_equal(seen->state, ROOST_SEEN_REQ_OUT);
	m.flow.sgid.b[15] ^= 1;
	in(&w, 0, &m);
	assert_int_equal(seen->state, ROOST_SEEN_REP_IN);
	assert_int_equal(seen->remote_id, m.msg.local_id);
	assert_int_equal(seen->remote_qpn, m.msg.qpn);
	m = mad_of(&w, 0, ROOST_CM_RTU);
	out(&w, 0, &m);
	assert_int_equal(seen->state, ROOST_SEEN_ESTABLISHED);
	assert_int_equal(w.seen->clients[w.client[0]].nb_half_open, 0);
	/* A DREQ may be lost; a DREP of another connection is none. */
	m = mad_of(&w, 0, ROOST_CM_DREQ);
	out(&w, 0, &m);
	m = mad_to(&w, 0, ROOST_CM_DREP);
	m.msg.local_id ^= 1;
	in(&w, 0, &m);
	assert_non_null(roost_seen_by_local(w.seen, w.comm[0]));
	m.msg.local_id ^= 1;
	in(&w, 0, &m);
	assert_null(roost_seen_by_local(w.seen, w.comm[0]));
	assert_int_equal(w.seen->clients[w.client[0]].nb, 0);
	world_fini(&w);
}

static void passive__to_established_and_away(void **state)
{
	struct roost_seen *seen;
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_to(&w, 1, ROOST_CM_REQ);
	assert_int_equal(in(&w, 1, &m), ROOST_SW_OK);
	assert_int_equal(in(&w, 1, &m), ROOST_SW_OK);
	seen = roost_seen_by_peer(w.seen, &gid_peer_v4, m.msg.local_id, false);
	assert_non_null(seen);
	assert_null(
		roost_seen_by_peer(w.seen, &gid_peer_v4, m.msg.local_id, true));
	assert_int_equal(seen->remote_qpn, m.msg.qpn);
	assert_int_equal(w.seen->clients[w.client[1]].nb, 1);
	m = mad_of(&w, 1, ROOST_CM_REP);
	out(&w, 1, &m);
	assert_int_equal(seen->state, ROOST_SEEN_REP_OUT);
	assert_ptr_equal(roost_seen_by_local(w.seen, w.comm[1]), seen);
	m = mad_to(&w, 1, ROOST_CM_RTU);
	in(&w, 1, &m);
	assert_int_equal(seen->state, ROOST_SEEN_ESTABLISHED);
	m = mad_to(&w, 1, ROOST_CM_DREQ);
	in(&w, 1, &m);
	m = mad_of(&w, 1, ROOST_CM_DREP);
	out(&w, 1, &m);
	assert_null(roost_seen_by_local(w.seen, w.comm[1]));
	assert_null(roost_seen_by_peer(w.seen, &gid_peer_v4, 0x9999, false));
	world_fini(&w);
}

static void rejected__is_away(void **state)
{
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_to(&w, 0, ROOST_CM_REQ);
	in(&w, 0, &m);
	m = mad_of(&w, 0, ROOST_CM_REJ);
	m.msg.local_id = 0;
	/* Another client cannot end it. */
	out(&w, 1, &m);
	assert_int_equal(w.seen->clients[w.client[0]].nb, 1);
	out(&w, 0, &m);
	assert_int_equal(w.seen->clients[w.client[0]].nb, 0);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	out(&w, 0, &m);
	m = mad_to(&w, 0, ROOST_CM_REJ);
	in(&w, 0, &m);
	assert_int_equal(w.seen->clients[w.client[0]].nb, 0);
	world_fini(&w);
}

static uint32_t nb_of(const struct world *w)
{
	return w->seen->clients[w->client[0]].nb;
}

static void rej_of(struct maker *m, uint8_t about, uint32_t remote_id)
{
	m->msg.about = about;
	m->msg.remote_id = remote_id;
}

/* What the peer does not end for stays counted. */
static void own_word__does_not_end_it(void **state)
{
	struct world w;
	struct maker m, rej, drep;

	world_init(&w);
	rej = mad_of(&w, 0, ROOST_CM_REJ);
	rej_of(&rej, ROOST_CM_ABOUT_OTHER, 0);
	drep = mad_of(&w, 0, ROOST_CM_DREP);
	/* Active end: asked, answered, established. */
	m = mad_of(&w, 0, ROOST_CM_REQ);
	out(&w, 0, &m);
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 1);
	m = mad_to(&w, 0, ROOST_CM_REP);
	in(&w, 0, &m);
	out(&w, 0, &rej);
	out(&w, 0, &drep);
	assert_int_equal(nb_of(&w), 1);
	m = mad_of(&w, 0, ROOST_CM_RTU);
	out(&w, 0, &m);
	out(&w, 0, &rej);
	rej.msg.remote_id = 0x9999;
	out(&w, 0, &rej);
	out(&w, 0, &drep);
	assert_int_equal(nb_of(&w), 1);
	/* Its own DREQ is no answer. */
	m = mad_of(&w, 0, ROOST_CM_DREQ);
	out(&w, 0, &m);
	out(&w, 0, &drep);
	assert_int_equal(nb_of(&w), 1);
	/* Both ask at once. */
	m = mad_to(&w, 0, ROOST_CM_DREQ);
	in(&w, 0, &m);
	out(&w, 0, &drep);
	assert_int_equal(nb_of(&w), 0);
	world_fini(&w);
}

static void own_reject__of_a_reply(void **state)
{
	struct world w;
	struct maker m, rej;

	world_init(&w);
	rej = mad_of(&w, 0, ROOST_CM_REJ);
	/* Active end. */
	m = mad_of(&w, 0, ROOST_CM_REQ);
	out(&w, 0, &m);
	m = mad_to(&w, 0, ROOST_CM_REP);
	in(&w, 0, &m);
	rej_of(&rej, ROOST_CM_ABOUT_REP, 0x9999);
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 0);
	/* Passive end, whose reply nobody confirmed. */
	m = mad_to(&w, 0, ROOST_CM_REQ);
	in(&w, 0, &m);
	m = mad_of(&w, 0, ROOST_CM_REP);
	out(&w, 0, &m);
	rej_of(&rej, ROOST_CM_ABOUT_OTHER, 0);
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 1);
	rej_of(&rej, ROOST_CM_ABOUT_OTHER, 0x9999);
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 0);
	world_fini(&w);
}

/* A request that nobody answers is taken back, by the number of the device. */
static void own_timeout__ends_a_request(void **state)
{
	struct world w;
	struct maker m, rej;

	world_init(&w);
	rej = mad_of(&w, 0, ROOST_CM_REJ);
	rej_of(&rej, ROOST_CM_ABOUT_OTHER, 0);
	rej.msg.reason = ROOST_CM_REJ_TIMEOUT;
	rej.msg.info_len_bytes = 8;
	rej.msg.info[0] = 0x77;
	m = mad_of(&w, 0, ROOST_CM_REQ);
	m.msg.ca_guid = UINT64_C(0x78) << 56;
	out(&w, 0, &m);
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 1);
	rej.msg.info[0] = 0x78;
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 0);
	/* The client did not get the reply. */
	out(&w, 0, &m);
	m = mad_to(&w, 0, ROOST_CM_REP);
	in(&w, 0, &m);
	out(&w, 0, &rej);
	assert_int_equal(nb_of(&w), 0);
	world_fini(&w);
}

/* Of somebody else at the peer's address, who guesses the client's number. */
static void request__is_not_ended_by_a_guess(void **state)
{
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	out(&w, 0, &m);
	m = mad_to(&w, 0, ROOST_CM_REJ);
	m.msg.about = ROOST_CM_ABOUT_OTHER;
	in(&w, 0, &m);
	m.msg.about = ROOST_CM_ABOUT_REP;
	in(&w, 0, &m);
	m = mad_to(&w, 0, ROOST_CM_DREP);
	in(&w, 0, &m);
	assert_int_equal(nb_of(&w), 1);
	m = mad_to(&w, 0, ROOST_CM_REJ);
	m.flow.sgid.b[15] ^= 1;
	in(&w, 0, &m);
	assert_int_equal(nb_of(&w), 1);
	m.flow.sgid.b[15] ^= 1;
	in(&w, 0, &m);
	assert_int_equal(nb_of(&w), 0);
	world_fini(&w);
}

static void flood__of_requests_costs_the_oldest(void **state)
{
	struct roost_seen_client *c;
	struct world w;
	struct maker m;

	world_init(&w);
	c = &w.seen->clients[w.client[0]];
	/* Another client's request stays. */
	m = mad_to(&w, 1, ROOST_CM_REQ);
	m.msg.local_id = 1;
	in(&w, 1, &m);
	m = mad_to(&w, 0, ROOST_CM_REQ);
	for (uint32_t i = 100; i < 1100; i++) {
		m.msg.local_id = i;
		assert_int_equal(in(&w, 0, &m), ROOST_SW_OK);
		assert_true(c->nb_half_open <= 16);
	}
	assert_int_equal(c->nb, 16);
	assert_null(roost_seen_by_peer(w.seen, &gid_peer_v4, 1083, false));
	assert_non_null(roost_seen_by_peer(w.seen, &gid_peer_v4, 1084, false));
	assert_non_null(roost_seen_by_peer(w.seen, &gid_peer_v4, 1, false));
	world_fini(&w);
}

static void established__have_a_limit(void **state)
{
	struct world w;
	struct maker m;

	world_init(&w);
	for (uint32_t i = 0; i < 64; i++) {
		m = mad_to(&w, 0, ROOST_CM_REQ);
		m.msg.local_id = 100 + i;
		assert_int_equal(in(&w, 0, &m), ROOST_SW_OK);
		m = mad_of(&w, 0, ROOST_CM_REP);
		m.msg.local_id = w.comm[0] + i;
		m.msg.remote_id = 100 + i;
		out(&w, 0, &m);
		m = mad_to(&w, 0, ROOST_CM_RTU);
		m.msg.local_id = 100 + i;
		m.msg.remote_id = w.comm[0] + i;
		in(&w, 0, &m);
	}
	assert_int_equal(w.seen->clients[w.client[0]].nb, 64);
	assert_int_equal(w.seen->clients[w.client[0]].nb_half_open, 0);
	m = mad_to(&w, 0, ROOST_CM_REQ);
	m.msg.local_id = 99;
	assert_int_equal(in(&w, 0, &m), ROOST_SW_MAD_CONNS);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	m.msg.local_id = w.comm[0] + 1000;
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, 0),
			 ROOST_SW_MAD_CONNS);
	assert_int_equal(roost_seen_admit(w.seen, w.client[1], &m.msg, 0),
			 ROOST_SW_OK);
	world_fini(&w);
}

/* Connections that the client ends, with peers that went without a word. */
static void established__end_without_an_answer(void **state)
{
	struct world w;
	struct maker m;
	uint32_t qpn;

	world_init(&w);
	w.seen->now_ns = SECOND;
	for (uint32_t i = 0; i < 64; i++) {
		m = mad_to(&w, 0, ROOST_CM_REQ);
		m.msg.local_id = 100 + i;
		assert_int_equal(in(&w, 0, &m), ROOST_SW_OK);
		qpn = m.msg.qpn;
		m = mad_of(&w, 0, ROOST_CM_REP);
		m.msg.local_id = w.comm[0] + i;
		m.msg.remote_id = 100 + i;
		out(&w, 0, &m);
		m.msg.type = ROOST_CM_DREQ;
		/* The last ones are none that the peer would answer. */
		m.msg.qpn = i < 62 ? qpn : qpn + 1;
		out(&w, 0, &m);
		out(&w, 0, &m); /* again */
	}
	assert_int_equal(nb_of(&w), 64);
	/* An answer ends it. */
	m = mad_to(&w, 0, ROOST_CM_DREP);
	m.msg.local_id = 161;
	m.msg.remote_id = w.comm[0] + 61;
	in(&w, 0, &m);
	assert_int_equal(nb_of(&w), 63);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	m.msg.local_id = w.comm[0] + 1000;
	out(&w, 0, &m);
	m.msg.local_id++;
	w.seen->now_ns += ROOST_SEEN_ENDING_NS - 1;
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, 0),
			 ROOST_SW_MAD_CONNS);
	w.seen->now_ns++;
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, 0),
			 ROOST_SW_OK);
	assert_int_equal(nb_of(&w), 3);
	world_fini(&w);
}

static void admit__half_open_and_rate(void **state)
{
	uint64_t now_ns = SECOND, nb = 0;
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	for (uint32_t i = 0; i < 16; i++) {
		m.msg.local_id = w.comm[0] + i;
		assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg,
						  now_ns),
				 ROOST_SW_OK);
		out(&w, 0, &m);
	}
	/* Repeats pass. */
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, now_ns),
			 ROOST_SW_OK);
	m.msg.local_id = w.comm[0] + 16;
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, now_ns),
			 ROOST_SW_MAD_HALF_OPEN);
	m.msg.type = ROOST_CM_SIDR_REQ;
	while (roost_seen_admit(w.seen, w.client[0], &m.msg, now_ns) ==
	       ROOST_SW_OK)
		nb++;
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, now_ns),
			 ROOST_SW_MAD_RATE);
	assert_in_range(nb, 16000, 16384);
	/* A message that asks for nothing counts as a quarter. */
	m.msg.type = ROOST_CM_RTU;
	now_ns += 50000;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg,
						  now_ns),
				 ROOST_SW_OK);
	assert_int_equal(roost_seen_admit(w.seen, w.client[0], &m.msg, now_ns),
			 ROOST_SW_MAD_RATE);
	m.msg.type = ROOST_CM_SIDR_REQ;
	/* 20,000 in each second, after that. */
	nb = 0;
	for (unsigned int ms = 0; ms < 1000; ms++) {
		now_ns += SECOND / 1000;
		while (roost_seen_admit(w.seen, w.client[0], &m.msg, now_ns) ==
		       ROOST_SW_OK)
			nb++;
	}
	assert_in_range(nb, 19990, 20010);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(active__to_established_and_away),
		cmocka_unit_test(passive__to_established_and_away),
		cmocka_unit_test(rejected__is_away),
		cmocka_unit_test(own_word__does_not_end_it),
		cmocka_unit_test(own_reject__of_a_reply),
		cmocka_unit_test(own_timeout__ends_a_request),
		cmocka_unit_test(request__is_not_ended_by_a_guess),
		cmocka_unit_test(flood__of_requests_costs_the_oldest),
		cmocka_unit_test(established__have_a_limit),
		cmocka_unit_test(established__end_without_an_answer),
		cmocka_unit_test(admit__half_open_and_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
