/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/steer.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct roost_sw_mad room;
static struct roost_sw_pkt pkt;
static struct roost_steer way;

static const struct roost_steer *from_port(const struct world *w,
					   const struct maker *m)
{
	struct roost_sw_frame frame = make(m);
	enum roost_sw_drop parsed = roost_sw_parse(&frame, &room, &pkt);

	roost_steer_from_port(w->lease, &w->port, w->seen, &pkt, parsed, &way);
	return &way;
}

static const struct roost_steer *from_client(const struct world *w,
					     const struct maker *m)
{
	struct roost_sw_frame frame = make(m);

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	roost_steer_from_client(w->lease, w->seen, &pkt, &way);
	return &way;
}

static void assert_client(const struct roost_steer *is, uint16_t client)
{
	assert_int_equal(is->to, ROOST_STEER_CLIENT);
	assert_int_equal(is->client, client);
}

static void assert_dropped(const struct roost_steer *is, enum roost_sw_drop why)
{
	assert_int_equal(is->to, ROOST_STEER_DROP);
	assert_int_equal(is->drop, why);
}

/* ---- data ---------------------------------------------------------------- */

static void port__by_qpn(void **state)
{
	struct maker m;
	struct world w;

	world_init(&w);
	for (unsigned int i = 0; i < NB_CLIENTS; i++) {
		m = rc_to(&w, i);
		assert_client(from_port(&w, &m), w.client[i]);
		m.opcode = ROOST_OPCODE_UD_SEND_ONLY;
		assert_client(from_port(&w, &m), w.client[i]);
	}
	m.dest_qpn = 4711;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_QP);
	/* A QPN of a client with another address. */
	m = rc_to(&w, 2);
	m.flow.dgid = gid_v4;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_QP);
	m = rc_to(&w, 0);
	m.flow.dgid = gid_own;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_QP);
	m.flow.dgid.b[15] = 77;
	assert_dropped(from_port(&w, &m), ROOST_SW_NOT_OURS);
	/* Nobody outside has our address. */
	m = rc_to(&w, 0);
	m.flow.sgid = gid_v4;
	assert_dropped(from_port(&w, &m), ROOST_SW_SRC_ADDR);
	world_fini(&w);
}

static void port__rest_is_the_hosts(void **state)
{
	struct roost_sw_frame frame;
	struct maker m;
	struct world w;

	world_init(&w);
	m = rc_to(&w, 0);
	m.flow.tagged = true;
	m.flow.vlan_tci = 7;
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_HOST);
	/* What is broken on another VLAN, and frames with two tags, too. */
	frame = make(&m);
	bytes_of(&frame)[28] ^= 1; /* checksum */
	roost_steer_from_port(w.lease, &w.port, w.seen, &pkt,
			      roost_sw_parse(&frame, &room, &pkt), &way);
	assert_int_equal(way.to, ROOST_STEER_HOST);
	m = rc_to(&w, 0);
	frame = make(&m);
	bytes_of(&frame)[12] = 0x88;
	bytes_of(&frame)[13] = 0xa8;
	roost_steer_from_port(w.lease, &w.port, w.seen, &pkt,
			      roost_sw_parse(&frame, &room, &pkt), &way);
	assert_int_equal(way.to, ROOST_STEER_HOST);
	m = rc_to(&w, 0);
	frame = make(&m);
	bytes_of(&frame)[12] = 8;
	bytes_of(&frame)[13] = 6; /* ARP */
	roost_steer_from_port(w.lease, &w.port, w.seen, &pkt,
			      roost_sw_parse(&frame, &room, &pkt), &way);
	assert_int_equal(way.to, ROOST_STEER_HOST);
	/* But not what is broken. */
	frame = make(&m);
	bytes_of(&frame)[24] ^= 1; /* checksum */
	roost_steer_from_port(w.lease, &w.port, w.seen, &pkt,
			      roost_sw_parse(&frame, &room, &pkt), &way);
	assert_dropped(&way, ROOST_SW_MALFORMED);
	world_fini(&w);
}

static void client__port_or_neighbour(void **state)
{
	struct maker m;
	struct world w;

	world_init(&w);
	m = rc_of(&w, 0);
	assert_int_equal(from_client(&w, &m)->to, ROOST_STEER_PORT);
	m.flow.dgid = gid_v4;
	m.dest_qpn = w.qpn[1];
	assert_client(from_client(&w, &m), w.client[1]);
	/* To itself, as an HCA loops it back. */
	m.dest_qpn = w.qpn[0];
	assert_client(from_client(&w, &m), w.client[0]);
	m.flow.dgid = gid_own;
	m.dest_qpn = w.qpn[2];
	assert_client(from_client(&w, &m), w.client[2]);
	m.dest_qpn = w.qpn[1];
	assert_dropped(from_client(&w, &m), ROOST_SW_NO_QP);
	world_fini(&w);
}

static void group__members(void **state)
{
	struct maker m;
	struct world w;
	bool first;

	world_init(&w);
	m = rc_to(&w, 0);
	m.opcode = ROOST_OPCODE_UD_SEND_ONLY;
	m.flow.dgid = gid_group;
	m.dest_qpn = 0xffffff;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_MEMBER);
	assert_int_equal(roost_group_join(w.lease, w.client[1], &gid_group,
					  &first),
			 0);
	assert_int_equal(roost_group_join(w.lease, w.client[2], &gid_group,
					  &first),
			 0);
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_GROUP);
	assert_int_equal(way.group->nb_members, 2);
	/* Datagrams only. */
	m.dest_qpn = w.qpn[1];
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_MEMBER);
	m.dest_qpn = 0xffffff;
	m.opcode = ROOST_OPCODE_RC_SEND_ONLY;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_MEMBER);
	m = ud_of(&w, 0);
	m.flow.dgid = gid_group;
	m.dest_qpn = 0xffffff;
	assert_int_equal(from_client(&w, &m)->to, ROOST_STEER_GROUP);
	assert_int_equal(way.group->nb_members, 2);
	m.flow.dgid.b[15]++;
	assert_int_equal(from_client(&w, &m)->to, ROOST_STEER_GROUP);
	assert_null(way.group);
	world_fini(&w);
}

/* ---- MADs ---------------------------------------------------------------- */

static void listen_for(const struct world *w, unsigned int i)
{
	struct roost_claim claim = {
		.service_id = (uint64_t)ROOST_CM_PS_TCP << 16 | 7471,
		.listens = true,
	};

	assert_int_equal(roost_lease_claim(w->lease, w->client[i], &claim, 0),
			 0);
}

static void unlisten(const struct world *w, unsigned int i)
{
	roost_lease_unclaim_all(w->lease, w->client[i]);
}

static void mad__by_id(void **state)
{
	static const enum roost_cm_msg_type types[] = {
		ROOST_CM_MRA, ROOST_CM_REJ,  ROOST_CM_REP,
		ROOST_CM_RTU, ROOST_CM_DREQ, ROOST_CM_DREP,
		ROOST_CM_LAP, ROOST_CM_APR,  ROOST_CM_SIDR_REP,
	};
	struct maker m;
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		m = mad_to(&w, 1, types[i]);
		if (types[i] == ROOST_CM_SIDR_REP)
			m.msg.local_id = w.comm[1];
		assert_client(from_port(&w, &m), w.client[1]);
		m = mad_to(&w, 2, types[i]);
		if (types[i] == ROOST_CM_SIDR_REP)
			m.msg.local_id = w.comm[2];
		assert_client(from_port(&w, &m), w.client[2]);
		/* Of a client with another address. */
		m.flow.dgid = gid_v4;
		assert_dropped(from_port(&w, &m), ROOST_SW_NO_CONN);
	}
	world_fini(&w);
}

/* What QP1 of the port would not take is not answered. */
static void mad__of_another_partition(void **state)
{
	static const struct {
		uint16_t pkey;
		bool taken;
	} rows[] = {
		{ 0xffff, true }, { 0x7fff, true },  { 0x8001, true },
		{ 0x0001, true }, { 0x8002, false }, { 0, false },
	};
	struct maker m;
	struct world w;

	world_init(&w);
	m = mad_to(&w, 0, ROOST_CM_REQ);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		m.pkey = rows[i].pkey;
		if (rows[i].taken)
			assert_int_equal(from_port(&w, &m)->to,
					 ROOST_STEER_ANSWER);
		else
			assert_dropped(from_port(&w, &m), ROOST_SW_PKEY);
	}
	/* Two limited members of a partition do not talk. */
	w.port.pkeys[1] = 0x0001;
	m.pkey = 0x0001;
	assert_dropped(from_port(&w, &m), ROOST_SW_PKEY);
	world_fini(&w);
}

static void mad__of_nobody(void **state)
{
	struct maker m;
	struct world w;

	world_init(&w);
	m = mad_to(&w, 0, ROOST_CM_DREQ);
	m.msg.remote_id = 0x77777777;
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_ANSWER);
	assert_int_equal(way.answer.type, ROOST_CM_DREP);
	assert_int_equal(way.answer.local_id, 0x77777777);
	assert_int_equal(way.answer.remote_id, m.msg.local_id);
	assert_int_equal(way.answer.tid, m.msg.tid);
	m.msg.type = ROOST_CM_REP;
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_ANSWER);
	assert_int_equal(way.answer.type, ROOST_CM_REJ);
	assert_int_equal(way.answer.reason, ROOST_CM_REJ_INVALID_COMM_ID);
	assert_int_equal(way.answer.about, ROOST_CM_ABOUT_REP);
	m.msg.type = ROOST_CM_RTU;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_CONN);
	m.msg.type = ROOST_CM_DREP;
	assert_dropped(from_port(&w, &m), ROOST_SW_NO_CONN);
	world_fini(&w);
}

/* The receiver may be a client that comes back. */
static void mad__while_clients_are_away(void **state)
{
	static const uint8_t types[] = { ROOST_CM_REQ, ROOST_CM_SIDR_REQ,
					 ROOST_CM_REP, ROOST_CM_DREQ };
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < sizeof(types); i++) {
		struct maker m = mad_to(&w, 0, types[i]);

		m.msg.remote_id = 0x77777777;
		w.lease->nb_away = 1;
		assert_dropped(from_port(&w, &m), ROOST_SW_NO_CONN);
		w.lease->nb_away = 0;
		assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_ANSWER);
	}
	world_fini(&w);
}

static void request__by_listener(void **state)
{
	struct maker m;
	struct world w;

	world_init(&w);
	m = mad_to(&w, 0, ROOST_CM_REQ);
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_ANSWER);
	assert_int_equal(way.answer.type, ROOST_CM_REJ);
	assert_int_equal(way.answer.reason, ROOST_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(way.answer.about, ROOST_CM_ABOUT_REQ);
	assert_int_equal(way.answer.remote_id, m.msg.local_id);
	listen_for(&w, 1);
	assert_client(from_port(&w, &m), w.client[1]);
	m = mad_to(&w, 0, ROOST_CM_SIDR_REQ);
	assert_client(from_port(&w, &m), w.client[1]);
	m.msg.service_id++;
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_ANSWER);
	assert_int_equal(way.answer.type, ROOST_CM_SIDR_REP);
	assert_int_equal(way.answer.status, ROOST_CM_SIDR_UNSUPPORTED);
	assert_int_equal(way.answer.local_id, m.msg.local_id);
	assert_int_equal(way.answer.service_id, m.msg.service_id);
	/* From a client to its neighbour. */
	m = mad_of(&w, 0, ROOST_CM_REQ);
	m.flow.dgid = m.msg.primary.remote_gid = gid_v4;
	assert_client(from_client(&w, &m), w.client[1]);
	/* A client with an address of its own gets what is sent there. */
	m = mad_to(&w, 2, ROOST_CM_REQ);
	assert_int_equal(from_port(&w, &m)->to, ROOST_STEER_ANSWER);
	listen_for(&w, 2);
	assert_client(from_port(&w, &m), w.client[2]);
	world_fini(&w);
}

static void request__again_to_the_same(void **state)
{
	struct maker m, rej;
	struct world w;

	world_init(&w);
	m = mad_to(&w, 0, ROOST_CM_REQ);
	rej = mad_to(&w, 0, ROOST_CM_REJ);
	rej.msg.remote_id = 0;
	rej.msg.local_id = m.msg.local_id;
	assert_dropped(from_port(&w, &rej), ROOST_SW_NO_CONN);
	listen_for(&w, 0);
	assert_client(from_port(&w, &m), w.client[0]);
	assert_int_equal(roost_seen_in(w.seen, w.client[0], &pkt), ROOST_SW_OK);
	unlisten(&w, 0);
	listen_for(&w, 1);
	assert_client(from_port(&w, &m), w.client[0]);
	/* Nobody answered, and the peer gives up: it knows its number only. */
	assert_client(from_port(&w, &rej), w.client[0]);
	assert_int_equal(roost_seen_in(w.seen, w.client[0], &pkt), ROOST_SW_OK);
	/* That request has ended, and this is another one. */
	assert_client(from_port(&w, &m), w.client[1]);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port__by_qpn),
		cmocka_unit_test(port__rest_is_the_hosts),
		cmocka_unit_test(client__port_or_neighbour),
		cmocka_unit_test(group__members),
		cmocka_unit_test(mad__by_id),
		cmocka_unit_test(mad__of_another_partition),
		cmocka_unit_test(mad__of_nobody),
		cmocka_unit_test(mad__while_clients_are_away),
		cmocka_unit_test(request__by_listener),
		cmocka_unit_test(request__again_to_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
