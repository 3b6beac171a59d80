/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/net.h"

static struct net net;

/* ---- data ---------------------------------------------------------------- */

static void client__to_the_port(void **state)
{
	struct roost_sw_frame frame;
	struct maker m;

	net_init(&net);
	m = rc_of(&net.w, 0);
	m.payload_bytes = 1000;
	frame = make(&m);
	frame.head_len_bytes = ROOST_SW_HEAD_MAX;
	frame.payload = frame.head + ROOST_SW_HEAD_MAX;
	assert_true(
		roost_switch_from_client(net.sw, net.w.client[0], &frame, 0));
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net.port.len_bytes, frame.len_bytes);
	assert_memory_equal(net.port.bytes, frame.head, frame.len_bytes);
	assert_int_equal(
		roost_switch_counters(net.sw, net.w.client[0]).tx_bytes,
		frame.len_bytes);
	net_fini(&net);
}

static void client__refused(void **state)
{
	struct maker m;

	net_init(&net);
	m = ud_of(&net.w, 0);
	m.src_qpn = net.w.qpn[1];
	assert_true(net_from(&net, 0, &m, 0));
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 0);
	assert_int_equal(net_drops(&net, net.w.client[0], ROOST_SW_SRC_QPN), 1);
	assert_int_equal(net_drops(&net, net.w.client[1], ROOST_SW_SRC_QPN), 0);
	net_fini(&net);
}

static void client__waits_for_a_full_port(void **state)
{
	struct maker m, local;

	net_init(&net);
	net.port.room = 0;
	m = rc_of(&net.w, 0);
	for (uint32_t i = 0; i < ROOST_FAIR_QUEUE_LEN; i++)
		assert_true(net_from(&net, 0, &m, 0));
	assert_false(net_from(&net, 0, &m, 0));
	net_send(&net, 0);
	assert_false(net_from(&net, 0, &m, 0));
	/* Nobody else does, and not for what stays here. */
	local = m;
	local.flow.dgid = gid_v4;
	local.dest_qpn = net.w.qpn[1];
	assert_true(net_from(&net, 0, &local, 0));
	assert_int_equal(net.client[1].nb, 1);
	m = rc_of(&net.w, 1);
	assert_true(net_from(&net, 1, &m, 0));
	net.port.room = 1000;
	net_send(&net, 0);
	assert_int_equal(net.port.nb, ROOST_FAIR_QUEUE_LEN + 1);
	assert_int_equal(
		roost_switch_counters(net.sw, net.w.client[0]).tx_frames,
		ROOST_FAIR_QUEUE_LEN + 1);
	net_fini(&net);
}

static void client__to_its_neighbour(void **state)
{
	struct maker m;

	net_init(&net);
	m = rc_of(&net.w, 0);
	m.flow.dgid = gid_v4;
	m.dest_qpn = net.w.qpn[1];
	net.client[1].room = 1;
	assert_true(net_from(&net, 0, &m, 0));
	assert_true(net.client[1].looped);
	/* It does not read: it loses. */
	assert_true(net_from(&net, 0, &m, 0));
	assert_int_equal(net.client[1].nb, 1);
	assert_int_equal(net_drops(&net, net.w.client[1], ROOST_SW_CLIENT_FULL),
			 1);
	assert_int_equal(net_drops(&net, net.w.client[0], ROOST_SW_CLIENT_FULL),
			 0);
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 0);
	/* To its own other QP. */
	m.dest_qpn = net.w.qpn[0];
	assert_true(net_from(&net, 0, &m, 0));
	assert_int_equal(net.client[0].nb, 1);
	/* To nobody. */
	m.dest_qpn = 4711;
	assert_true(net_from(&net, 0, &m, 0));
	assert_int_equal(net_drops(&net, net.w.client[0], ROOST_SW_NO_QP), 1);
	net_fini(&net);
}

/* The receiver reads, and its ring is full at the moment. */
static void client__waits_for_its_neighbour(void **state)
{
	struct maker m;

	net_init(&net);
	net.waits = true;
	m = mad_of(&net.w, 0, ROOST_CM_DREQ);
	m.flow.dgid = gid_v4;
	m.msg.remote_id = net.w.comm[1];
	assert_false(net_from(&net, 0, &m, 0));
	assert_int_equal(net.client[1].nb, 0);
	assert_int_equal(
		roost_switch_counters(net.sw, net.w.client[0]).tx_frames, 0);
	/* Nobody waits for a frame that is refused, or for the port. */
	m = rc_of(&net.w, 0);
	m.flow.dgid = gid_v4;
	m.dest_qpn = 4711;
	assert_true(net_from(&net, 0, &m, 0));
	m = rc_of(&net.w, 0);
	assert_true(net_from(&net, 0, &m, 0));
	net.waits = false;
	m.flow.dgid = gid_v4;
	m.dest_qpn = net.w.qpn[1];
	assert_true(net_from(&net, 0, &m, 0));
	assert_int_equal(net.client[1].nb, 1);
	net_fini(&net);
}

static void port__to_its_client_or_host(void **state)
{
	struct roost_sw_frame frame;
	struct maker m;

	net_init(&net);
	for (unsigned int i = 0; i < NB_CLIENTS; i++) {
		m = rc_to(&net.w, i);
		net_from_port(&net, &m);
		assert_int_equal(net.client[i].nb, 1);
		assert_false(net.client[i].looped);
	}
	m.dest_qpn = 4711;
	net_from_port(&net, &m);
	assert_int_equal(net_drops(&net, ROOST_SWITCH_SELF, ROOST_SW_NO_QP), 1);
	frame = make(&m);
	bytes_of(&frame)[23] = 1; /* ICMP */
	roost_switch_from_port(net.sw, &frame);
	assert_int_equal(net.host.nb, 1);
	assert_int_equal(net.client[0].nb + net.client[1].nb + net.client[2].nb,
			 3);
	net_fini(&net);
}

static void group__members_and_port(void **state)
{
	struct maker m;
	bool first;

	net_init(&net);
	for (unsigned int i = 0; i < NB_CLIENTS; i++)
		assert_int_equal(roost_group_join(net.w.lease, net.w.client[i],
						  &gid_group, &first),
				 0);
	m = ud_of(&net.w, 0);
	m.flow.dgid = gid_group;
	m.dest_qpn = 0xffffff;
	assert_true(net_from(&net, 0, &m, 0));
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net.client[0].nb, 0);
	assert_int_equal(net.client[1].nb, 1);
	assert_int_equal(net.client[2].nb, 1);
	assert_true(net.client[2].looped);
	m.flow.sgid = gid_peer_v4;
	net_from_port(&net, &m);
	assert_int_equal(net.client[0].nb, 1);
	assert_int_equal(net.client[1].nb, 2);
	assert_int_equal(net.client[2].nb, 2);
	assert_false(net.client[2].looped);
	net_fini(&net);
}

/* ---- connections --------------------------------------------------------- */

static void listen_for(unsigned int i)
{
	struct roost_claim claim = {
		.service_id = (uint64_t)ROOST_CM_PS_TCP << 16 | 7471,
		.listens = true,
	};

	assert_int_equal(roost_lease_claim(net.w.lease, net.w.client[i], &claim,
					   0),
			 0);
}

/* A MAD whose payload changes after it was checked. */
static void mad__goes_on_as_checked(void **state)
{
	uint8_t head[ROOST_SW_HEAD_MAX];
	struct roost_sw_frame frame;
	struct maker m;

	net_init(&net);
	m = mad_of(&net.w, 0, ROOST_CM_REQ);
	frame = make(&m);
	memcpy(head, frame.head, sizeof(head));
	frame.payload = frame.head + sizeof(head);
	frame.head = head;
	frame.head_len_bytes = sizeof(head);
	assert_true(
		roost_switch_from_client(net.sw, net.w.client[0], &frame, 0));
	memset((uint8_t *)(uintptr_t)frame.payload, 0xee,
	       frame.len_bytes - sizeof(head));
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net_msg(&net.port)->qpn, net.w.qpn[0]);
	net_fini(&net);
}

static void request__nobody_listens(void **state)
{
	struct maker m;

	net_init(&net);
	m = mad_to(&net.w, 0, ROOST_CM_REQ);
	net_from_port(&net, &m);
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net_msg(&net.port)->type, ROOST_CM_REJ);
	assert_int_equal(net_msg(&net.port)->reason,
			 ROOST_CM_REJ_INVALID_SERVICE_ID);
	assert_memory_equal(net.port.bytes, m.flow.src_mac, 6);
	assert_memory_equal(net.port.bytes + 6, net.w.port.mac, 6);
	/* With our P_Key, not the peer's. */
	m.pkey = 0x7fff;
	net_from_port(&net, &m);
	net_send(&net, 0);
	assert_int_equal(net.port.bytes[14 + 20 + 8 + 2], 0xff);
	/* And a neighbour's. */
	m = mad_of(&net.w, 0, ROOST_CM_REQ);
	m.flow.dgid = m.msg.primary.remote_gid = gid_v4;
	assert_true(net_from(&net, 0, &m, 0));
	assert_int_equal(net.client[0].nb, 1);
	assert_true(net.client[0].looped);
	assert_int_equal(net_msg(&net.client[0])->type, ROOST_CM_REJ);
	assert_int_equal(net_msg(&net.client[0])->remote_id, net.w.comm[0]);
	net_fini(&net);
}

/* Client 1 is connected to the peer, which asked. */
static void connect_peer(void)
{
	struct maker m;

	listen_for(1);
	m = mad_to(&net.w, 1, ROOST_CM_REQ);
	net_from_port(&net, &m);
	assert_int_equal(net.client[1].nb, 1);
	m = mad_of(&net.w, 1, ROOST_CM_REP);
	assert_true(net_from(&net, 1, &m, 0));
	m = mad_to(&net.w, 1, ROOST_CM_RTU);
	net_from_port(&net, &m);
	assert_int_equal(net.client[1].nb, 2);
	net_send(&net, 0);
	net.port.nb = 0;
}

static void assert_is_full(const struct sink *sink, uint32_t remote_id)
{
	const struct roost_cm_msg *msg = net_msg(sink);

	assert_int_equal(msg->type, ROOST_CM_REJ);
	assert_int_equal(msg->about, ROOST_CM_ABOUT_REQ);
	assert_int_equal(msg->reason, ROOST_CM_REJ_NO_RESOURCES);
	assert_int_equal(msg->remote_id, remote_id);
}

/* Whoever asks, the peer or the client, hears that there are too many. */
static void request__one_too_many(void **state)
{
	struct maker m;

	net_init(&net);
	net.w.lease->clients[net.w.client[1]].conf.max_conns = 1;
	connect_peer();
	m = mad_to(&net.w, 1, ROOST_CM_REQ);
	m.msg.local_id += 1;
	net_from_port(&net, &m);
	net_send(&net, 0);
	assert_int_equal(net.client[1].nb, 2);
	assert_int_equal(net.port.nb, 1);
	assert_is_full(&net.port, m.msg.local_id);
	assert_int_equal(net_drops(&net, net.w.client[1], ROOST_SW_MAD_CONNS),
			 1);
	net.w.lease->clients[net.w.client[0]].conf.max_conns = 0;
	m = mad_of(&net.w, 0, ROOST_CM_REQ);
	assert_true(net_from(&net, 0, &m, 0));
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net.client[0].nb, 1);
	assert_is_full(&net.client[0], net.w.comm[0]);
	assert_int_equal(net_drops(&net, net.w.client[0], ROOST_SW_MAD_CONNS),
			 1);
	net_fini(&net);
}

static void death__peers_are_told(void **state)
{
	uint64_t next_ns;
	struct maker m;

	net_init(&net);
	connect_peer();
	roost_switch_client_remove(net.sw, net.w.client[1], SECOND);
	next_ns = roost_switch_run(net.sw, SECOND, 100);
	assert_int_equal(next_ns, SECOND + ROOST_DEPARTED_FIRST_NS);
	net_send(&net, SECOND);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net_msg(&net.port)->type, ROOST_CM_DREQ);
	assert_int_equal(net_msg(&net.port)->qpn, 0x4242);
	assert_int_equal(net_msg(&net.port)->local_id, net.w.comm[1]);
	assert_int_equal(net.port.bytes[5], 2); /* the peer's MAC */
	/* Lost; again. */
	assert_int_equal(roost_switch_run(net.sw, next_ns, 100),
			 next_ns + 2 * ROOST_DEPARTED_FIRST_NS);
	net_send(&net, next_ns);
	assert_int_equal(net.port.nb, 2);
	m = mad_to(&net.w, 1, ROOST_CM_DREP);
	net_from_port(&net, &m);
	assert_int_equal(roost_switch_run(net.sw, next_ns, 100), UINT64_MAX);
	/* In timewait a DREQ is answered still. */
	m = mad_to(&net.w, 1, ROOST_CM_DREQ);
	net_from_port(&net, &m);
	net_send(&net, next_ns);
	assert_int_equal(net.port.nb, 3);
	assert_int_equal(net_msg(&net.port)->type, ROOST_CM_DREP);
	assert_int_equal(net_msg(&net.port)->remote_id, 0x9999);
	assert_int_equal(net.client[1].nb, 2);
	net_fini(&net);
}

/* The peer ends the connection at the same time: nothing is left to say. */
static void death__as_the_peer_disconnects(void **state)
{
	struct maker m;

	net_init(&net);
	connect_peer();
	roost_switch_client_remove(net.sw, net.w.client[1], SECOND);
	m = mad_to(&net.w, 1, ROOST_CM_DREQ);
	net_from_port(&net, &m);
	assert_int_equal(roost_switch_run(net.sw, SECOND, 100), UINT64_MAX);
	net_send(&net, SECOND);
	assert_int_equal(net.port.nb, 1);
	assert_int_equal(net_msg(&net.port)->type, ROOST_CM_DREP);
	net_fini(&net);
}

static void death__of_a_neighbour(void **state)
{
	struct maker m;

	net_init(&net);
	listen_for(1);
	/* 0 and 1, both at gid_v4. */
	m = mad_of(&net.w, 0, ROOST_CM_REQ);
	m.flow.dgid = m.msg.primary.remote_gid = gid_v4;
	assert_true(net_from(&net, 0, &m, 0));
	m = mad_of(&net.w, 1, ROOST_CM_REP);
	m.flow.dgid = gid_v4;
	m.msg.remote_id = net.w.comm[0];
	assert_true(net_from(&net, 1, &m, 0));
	m = mad_of(&net.w, 0, ROOST_CM_RTU);
	m.flow.dgid = gid_v4;
	m.msg.remote_id = net.w.comm[1];
	assert_true(net_from(&net, 0, &m, 0));
	assert_int_equal(net.client[0].nb, 1);
	assert_int_equal(net.client[1].nb, 2);
	roost_switch_client_remove(net.sw, net.w.client[0], SECOND);
	roost_switch_run(net.sw, SECOND, 100);
	assert_int_equal(net.client[1].nb, 3);
	assert_true(net.client[1].looped);
	assert_int_equal(net_msg(&net.client[1])->type, ROOST_CM_DREQ);
	assert_int_equal(net_msg(&net.client[1])->remote_id, net.w.comm[1]);
	assert_int_equal(net_msg(&net.client[1])->qpn, net.w.qpn[1]);
	m = mad_of(&net.w, 1, ROOST_CM_DREP);
	m.flow.dgid = gid_v4;
	m.msg.remote_id = net.w.comm[0];
	assert_true(net_from(&net, 1, &m, SECOND));
	assert_int_equal(roost_switch_run(net.sw, 100 * SECOND, 100),
			 UINT64_MAX);
	assert_int_equal(net.client[1].nb, 3);
	net_send(&net, SECOND);
	assert_int_equal(net.port.nb, 0);
	net_fini(&net);
}

static void death__leaves_nothing(void **state)
{
	struct maker m;
	bool first;

	net_init(&net);
	assert_int_equal(roost_group_join(net.w.lease, net.w.client[0],
					  &gid_group, &first),
			 0);
	m = rc_of(&net.w, 0);
	for (unsigned int i = 0; i < 5; i++)
		assert_true(net_from(&net, 0, &m, 0));
	roost_switch_client_remove(net.sw, net.w.client[0], 0);
	assert_int_equal(net.nb_discarded, 5);
	assert_int_equal(net.nb_left, 1);
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 0);
	m = rc_to(&net.w, 0);
	net_from_port(&net, &m);
	assert_int_equal(net.client[0].nb, 0);
	assert_int_equal(net_drops(&net, ROOST_SWITCH_SELF, ROOST_SW_NO_QP), 1);
	net_fini(&net);
}

/* Many at once: as many as the port takes, and the others later. */
static void death__bounded_work(void **state)
{
	struct maker m;
	uint32_t prefix;

	net_init(&net);
	prefix = net.w.lease->clients[net.w.client[0]].prefixes.first;
	m = mad_of(&net.w, 0, ROOST_CM_REQ);
	for (uint32_t i = 0; i < 16; i++) {
		m.msg.local_id = comm_of(net.w.lease, prefix, i);
		assert_true(net_from(&net, 0, &m, 0));
	}
	net.port.nb = 0;
	roost_switch_client_remove(net.sw, net.w.client[0], 0);
	roost_switch_run(net.sw, 0, 10);
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 10);
	assert_int_equal(roost_switch_run(net.sw, 0, 10), UINT64_MAX);
	net_send(&net, 0);
	assert_int_equal(net.port.nb, 16);
	net_fini(&net);
}

/* ---- lanes --------------------------------------------------------------- */

/* A connection of client 0 that it has ended, at that time. */
static void end_connection(uint64_t now_ns)
{
	struct maker m = mad_to(&net.w, 0, ROOST_CM_REQ);
	const uint32_t qpn = m.msg.qpn, comm_id = m.msg.local_id;

	net_from_port(&net, &m);
	m = mad_of(&net.w, 0, ROOST_CM_REP);
	m.msg.remote_id = comm_id;
	assert_true(net_from(&net, 0, &m, now_ns));
	m.msg.type = ROOST_CM_DREQ;
	m.msg.qpn = qpn;
	assert_true(net_from(&net, 0, &m, now_ns));
}

/* What ended in one lane is kept for its peer, also where the round of another
 * lane began before, and its clients are worked on after.
 */
static void lanes__time_does_not_go_back(void **state)
{
	const struct roost_seen_client *seen;
	struct roost_sw_frame frame;
	struct roost_switch *lane;
	struct maker m;

	(void)state;
	net_init(&net);
	listen_for(0);
	seen = &net.sw->seen.clients[net.w.client[0]];
	assert_int_equal(roost_switch_add_lane(net.sw, &net, &lane), 0);
	roost_switch_client_move(lane, net.w.client[1], 0);
	end_connection(SECOND);
	assert_int_equal(seen->nb, 1);
	m = mad_of(&net.w, 1, ROOST_CM_REQ);
	frame = make(&m);
	assert_true(roost_switch_from_client(lane, net.w.client[1], &frame,
					     SECOND - 1000));
	m = mad_to(&net.w, 0, ROOST_CM_REQ);
	m.msg.local_id++;
	net_from_port(&net, &m);
	assert_int_equal(seen->nb, 2);
	net_fini(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client__to_the_port),
		cmocka_unit_test(client__refused),
		cmocka_unit_test(client__waits_for_a_full_port),
		cmocka_unit_test(client__to_its_neighbour),
		cmocka_unit_test(client__waits_for_its_neighbour),
		cmocka_unit_test(port__to_its_client_or_host),
		cmocka_unit_test(group__members_and_port),
		cmocka_unit_test(mad__goes_on_as_checked),
		cmocka_unit_test(request__nobody_listens),
		cmocka_unit_test(request__one_too_many),
		cmocka_unit_test(death__peers_are_told),
		cmocka_unit_test(death__as_the_peer_disconnects),
		cmocka_unit_test(death__of_a_neighbour),
		cmocka_unit_test(death__leaves_nothing),
		cmocka_unit_test(death__bounded_work),
		cmocka_unit_test(lanes__time_does_not_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
