/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Strangers ask much, promise much, or say that they are somebody else. What
 * that costs is bounded in number and in time, and others get through.
 */

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/service.h"
#include "tests/sim/cm_world.h"

/* From here on SIM_A has this address. */
static void become(struct cm_world *w, unsigned int n)
{
	w->sim->ends[SIM_A].gid.b[13] = 19;
	w->sim->ends[SIM_A].gid.b[14] = (uint8_t)(n >> 8);
	w->sim->ends[SIM_A].gid.b[15] = (uint8_t)n;
}

static void forge_req(struct cm_world *w, uint32_t number)
{
	struct roost_cm_msg req =
		cm_forged_req(w, number, 2 + number % 0xfffffd);

	cm_forge_msg(w, SIM_A, &req);
}

/* ---- who it says that it is ------------------------------------------- */

static struct roost_cm_msg forged_sidr_req(struct cm_world *w, uint32_t id)
{
	struct roost_cm_msg msg = {
		.type = ROOST_CM_SIDR_REQ,
		.tid = id,
		.local_id = id,
		.pkey = 0xffff,
		.service_id = roost_cm_service_id(ROOST_CM_PS_UDP, CM_PORT),
	};

	cm_put_ip(w, &msg);
	return msg;
}

/* The numbers of the REQ that SIM_A sent. SIM_B sees none of it. */
struct asked_id {
	uint64_t tid;
	uint32_t number;
};

static bool note_req(struct sim *sim, int side, const struct roost_pkt *pkt,
		     void *arg)
{
	struct asked_id *id = arg;
	struct roost_cm_msg msg;
	enum roost_cm_drop drop;

	(void)sim;
	if (side == SIM_A && pkt->dest_qpn == 1 &&
	    roost_cm_msg_decode(pkt->payload, pkt->payload_len_bytes, &msg,
				&drop))
		*id = (struct asked_id){ .tid = msg.tid,
					 .number = msg.local_id };
	return side == SIM_B;
}

/* Private data that name another address than the packet's, at either end. */
static void check_lies(struct cm_world *w, struct roost_cm_msg msg)
{
	static const unsigned int last_bytes[] = { 19, 35 };
	const unsigned int before = cm_nb_passive(w);
	struct roost_cm_msg lie;

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t drops =
			cm_counters(w, SIM_B).drops[ROOST_CM_DROP_PEER];

		lie = msg;
		lie.local_id += i + 1;
		lie.tid += i + 1;
		lie.qpn += i + 1;
		lie.data[last_bytes[i]] ^= 0x40;
		cm_forge_msg(w, SIM_A, &lie);
		sim_run_for(w->sim, SIM_MS);
		assert_int_equal(cm_nb_passive(w), before);
		assert_int_equal(
			cm_counters(w, SIM_B).drops[ROOST_CM_DROP_PEER],
			drops + 1);
	}
	cm_forge_msg(w, SIM_A, &msg);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), before + 1);
}

static void says__the_packets_address_or_nothing(void **state)
{
	struct cm_world *w = cm_world_new();

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	check_lies(w, cm_forged_req(w, 100, 0x100));
	roost_cm_listener_destroy(w->listener);
	cm_listen(w, ROOST_CM_PS_UDP, 10);
	check_lies(w, forged_sidr_req(w, 100));
	cm_world_free(w);
}

/* The path that it asks for ends where the packet came to. */
static void says__a_path_to_elsewhere(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg req = cm_forged_req(w, 100, 0x100);

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	req.primary.local_gid = w->sim->ends[SIM_A].gid6;
	req.primary.remote_gid = w->sim->ends[SIM_B].gid6;
	cm_forge_msg(w, SIM_A, &req);
	req = cm_forged_req(w, 101, 0x101);
	req.primary.remote_gid.b[15] ^= 0x40;
	cm_forge_msg(w, SIM_A, &req);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 0);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_PEER], 2);
	cm_world_free(w);
}

/* Of other services the bytes are the owner's, whatever they look like. */
static void says__what_it_likes_to_other_services(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg req = cm_forged_req(w, 100, 0x100);
	struct cm_owner *p;

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_IB, 10);
	req.service_id = roost_cm_service_id(ROOST_CM_PS_IB, CM_PORT);
	req.data[19] ^= 0x40;
	cm_forge_msg(w, SIM_A, &req);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	assert_non_null(p);
	assert_false(p->last[ROOST_CM_REQ_RECEIVED].has_ip);
	assert_int_equal(p->last[ROOST_CM_REQ_RECEIVED].data_len_bytes, 92);
	cm_world_free(w);
}

/* A reply from QP1, with the other number in order: that of XRC. */
static void says__that_its_qp_is_qp1(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	struct roost_cm_msg rep = {
		.type = ROOST_CM_REP,
		.local_id = 77,
		.qpn = 1,
		.eecn = 0x77,
	};
	struct asked_id id = { .number = 0 };

	w->sim->link.filter = note_req;
	w->sim->link.filter_arg = &id;
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	rep.tid = id.tid;
	rep.remote_id = id.number;
	cm_forge_msg(w, SIM_B, &rep);
	sim_run_for(w->sim, SIM_MS);
	cm_expect_nothing(o);
	assert_int_equal(cm_counters(w, SIM_A).drops[ROOST_CM_DROP_FIELD], 1);
	cm_world_free(w);
}

/* ---- how long --------------------------------------------------------- */

/* The last REP that SIM_B sent. SIM_A's CM, which asked for none, sees none. */
static bool note_rep(struct sim *sim, int side, const struct roost_pkt *pkt,
		     void *arg)
{
	struct roost_cm_msg *rep = arg, msg;
	enum roost_cm_drop drop;

	(void)sim;
	if (side == SIM_B && pkt->dest_qpn == 1 &&
	    roost_cm_msg_decode(pkt->payload, pkt->payload_len_bytes, &msg,
				&drop) &&
	    msg.type == ROOST_CM_REP)
		*rep = msg;
	return side == SIM_A;
}

/* A REQ, and a MRA for the REP, that ask for as much time as they can. A link
 * that comes up takes none of it.
 */
static void time__of_a_request_and_its_mra(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg rep = { 0 }, msg = cm_forged_req(w, 5, 0x55);

	w->sim->link.filter = note_rep;
	w->sim->link.filter_arg = &rep;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	msg.primary.ack_timeout = 31;
	msg.local_cm_timeout = 31;
	msg.remote_cm_timeout = 31;
	cm_forge_msg(w, SIM_A, &msg);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(rep.remote_id, 5);
	for (int i = 0; i < 100; i++) {
		msg = (struct roost_cm_msg){
			.type = ROOST_CM_MRA,
			.tid = rep.tid,
			.local_id = 5,
			.remote_id = rep.local_id,
			.about = ROOST_CM_ABOUT_REP,
			.service_timeout = 31,
		};
		cm_forge_msg(w, SIM_A, &msg);
		sim_run_for(w->sim, 2 * SIM_S);
		if (i == 5)
			roost_port_carrier_up(w->sim->ends[SIM_B].dev);
		if (i == 85)
			assert_int_equal(
				cm_passive(w, 0)->seen[ROOST_CM_REP_ERROR], 0);
	}
	assert_int_equal(cm_passive(w, 0)->seen[ROOST_CM_MRA_RECEIVED], 1);
	/* 73 s of the MRA and 15 tries of 8.6 s. */
	sim_run_for(w->sim, 5 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 0);
	assert_int_equal(cm_passive(w, 0)->seen[ROOST_CM_REP_ERROR], 1);
	cm_world_free(w);
}

/* Codes of more than five bits are the longest time, not a short one. */
static void time__packet_lifetime_of_six_bits(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	struct roost_cm_req_param param = cm_req_param(w, 0x77, &cm_ip);

	param.path.packet_lifetime = 63;
	w->sim->link.faults[SIM_A].carrier_off = true;
	assert_int_equal(roost_cm_connect(o->conn, &param), 0);
	sim_run_for(w->sim, 60 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	cm_expect_nothing(o);
	cm_world_free(w);
}

/* ---- how many --------------------------------------------------------- */

/* Requests that nobody answers. */
struct asked {
	struct roost_gid few; /* the first bytes of those who ask once */
	unsigned int nb, nb_gone, nb_few_gone;
};

static void leave(void *arg, struct roost_cm_conn *conn,
		  const struct roost_cm_event *event)
{
	struct asked *asked = arg;
	struct roost_cm_path path;

	if (event->type == ROOST_CM_REQ_RECEIVED) {
		roost_cm_conn_fetched(conn);
		asked->nb++;
		return;
	}
	assert_int_equal(event->type, ROOST_CM_REJ_RECEIVED);
	assert_int_equal(event->status, ROOST_CM_REJ_NO_RESOURCES);
	assert_true(roost_cm_conn_path(conn, &path));
	asked->nb_gone++;
	asked->nb_few_gone += memcmp(&path.dgid, &asked->few, 15) == 0;
	roost_cm_conn_destroy(conn);
}

static struct roost_cm_listener *listen_and_leave(struct cm_world *w,
						  struct asked *asked)
{
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, CM_PORT),
	};
	struct roost_cm_listener *listener;

	assert_int_equal(roost_cm_listen(w->cm[SIM_B], &param, leave, asked,
					 &listener),
			 0);
	return listener;
}

/* However many they are: the table stays full, and one more gets in. */
static void many__sources_crowd_out_each_other(void **state)
{
	struct cm_world *w = cm_world_new();
	const struct roost_gid own = w->sim->ends[SIM_A].gid;
	struct asked asked = { .nb = 0 };
	struct roost_cm_listener *listener = listen_and_leave(w, &asked);
	uint32_t nb_half_open;

	for (uint32_t i = 0; i < 30000; i++) {
		become(w, i % 8192);
		forge_req(w, 1 + i);
		if (i % 100 == 99)
			sim_run_for(w->sim, SIM_MS);
	}
	nb_half_open = cm_counters(w, SIM_B).nb_half_open;
	assert_int_equal(asked.nb, 30000);
	assert_in_range(nb_half_open, 20400, 20480);
	assert_int_equal(nb_half_open, asked.nb - asked.nb_gone);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_HALF_OPEN],
			 asked.nb_gone);
	w->sim->ends[SIM_A].gid = own;
	cm_connect(cm_owner_new(w), 0x4321);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(asked.nb, 30001);
	roost_cm_listener_destroy(listener);
	cm_world_free(w);
}

/* Peers share their bounds with one in 1024 others: never all of these three.
 */
static void many__one_source_has_its_own_places(void **state)
{
	struct cm_world *w = cm_world_new();
	struct asked asked = { .nb = 0 };
	struct roost_cm_listener *listener = listen_and_leave(w, &asked);

	for (uint32_t i = 0; i < 3; i++) {
		become(w, 0x100 + i);
		forge_req(w, 1 + i);
	}
	asked.few = w->sim->ends[SIM_A].gid;
	become(w, 1);
	for (uint32_t i = 0; i < 25000; i++) {
		forge_req(w, 100 + i);
		if (i % 100 == 99)
			sim_run_for(w->sim, 10 * SIM_MS);
	}
	assert_int_equal(asked.nb, 25003);
	assert_true(asked.nb_few_gone < 3);
	roost_cm_listener_destroy(listener);
	cm_world_free(w);
}

/* Replies in doubt make room, too: their owners hear that nothing came. */
static void many__replies_make_room(void **state)
{
	struct cm_world *w = cm_world_new();
	struct asked asked = { .nb = 0 };
	struct roost_cm_listener *listener;
	struct roost_cm_msg rep;
	struct cm_owner *p;

	w->sim->link.filter = note_rep;
	w->sim->link.filter_arg = &rep;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	forge_req(w, 1);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	roost_cm_listener_destroy(w->listener);
	w->listener = NULL;
	listener = listen_and_leave(w, &asked);
	for (uint32_t i = 0; i < 10240; i++) {
		forge_req(w, 2 + i);
		if (i % 100 == 99)
			sim_run_for(w->sim, SIM_MS);
	}
	sim_run_for(w->sim, SIM_MS);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_REP_ERROR, 1);
	assert_int_equal(p->last[ROOST_CM_REP_ERROR].status, -ETIMEDOUT);
	assert_int_equal(asked.nb_gone, 0);
	roost_cm_listener_destroy(listener);
	cm_world_free(w);
}

/* ---- from where? ------------------------------------------------------ */

/* SIM_B does not know who is next on the way to SIM_A. Returns what it knew. */
static uint64_t forget_neighbour(struct cm_world *w)
{
	return atomic_exchange(&w->sim->ends[SIM_B].ports[0].neigh.mac_gen, 0);
}

static void know_neighbour(struct cm_world *w, uint64_t mac_gen)
{
	atomic_store(&w->sim->ends[SIM_B].ports[0].neigh.mac_gen, mac_gen);
	roost_dev_service_wake(w->sim->ends[SIM_B].dev);
}

/* Shown when the way back is known: who accepts it has nothing to wait for. */
static void held__until_the_way_back_is_known(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	uint64_t mac_gen;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	mac_gen = forget_neighbour(w);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, 900 * SIM_MS);
	assert_int_equal(cm_nb_passive(w), 0);
	know_neighbour(w, mac_gen);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	assert_non_null(p);
	assert_true(p->last[ROOST_CM_REQ_RECEIVED].has_ip);
	assert_int_equal(p->last[ROOST_CM_REQ_RECEIVED].peer.qpn, 0x1234);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	cm_world_free(w);
}

/* Not known within a second: it is dropped, and a later try may succeed. */
static void held__for_a_second(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	uint64_t mac_gen;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	mac_gen = forget_neighbour(w);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, 1100 * SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_UNREACHABLE],
			 1);
	know_neighbour(w, mac_gen);
	sim_run_for(w->sim, 10 * SIM_S);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	assert_int_equal(cm_nb_passive(w), 1);
	cm_world_free(w);
}

/* Nobody answers there: not even held. */
static void held__not_in_vain(void **state)
{
	struct cm_world *w = cm_world_new();

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	w->sim->ends[SIM_B].meet_error = -ETIMEDOUT;
	forge_req(w, 1);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_UNREACHABLE],
			 1);
	cm_world_free(w);
}

/* Nothing could be sent to whom it names: for a datagram service, too. */
static void held__not_of_nowhere(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_msg msg;

	w->policy = CM_DESTROY;
	cm_listen(w, ROOST_CM_PS_UDP, 10);
	w->sim->ends[SIM_B].meet_error = -EHOSTUNREACH;
	msg = forged_sidr_req(w, 100);
	cm_forge_msg(w, SIM_A, &msg);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	assert_int_equal(cm_counters(w, SIM_B).drops[ROOST_CM_DROP_UNREACHABLE],
			 1);
	/* Its neighbour is not known yet: it is answered where it came from. */
	w->sim->ends[SIM_B].meet_error = 0;
	forget_neighbour(w);
	cm_forge_msg(w, SIM_A, &msg);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 1);
	assert_int_equal(cm_counters(w, SIM_B).tx[ROOST_CM_SIDR_REP], 1);
	cm_world_free(w);
}

/* Whatever its peer, its listener or others do meanwhile. */
static void held__and_given_up(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	uint64_t mac_gen = forget_neighbour(w);

	cm_listen(w, ROOST_CM_PS_TCP, 0);
	/* The peer says that it does not want it any more. */
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).nb_half_open, 1);
	cm_owner_destroy(o);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	/* It comes again, and its number and its QPN come as others. */
	for (uint32_t i = 0; i < 3; i++) {
		struct roost_cm_msg req = cm_forged_req(w, 5 + i / 2, 0x55);

		cm_forge_msg(w, SIM_A, &req);
		sim_run_for(w->sim, SIM_MS);
	}
	assert_int_equal(cm_counters(w, SIM_B).tx[ROOST_CM_MRA], 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	/* Too many of them: the oldest go. */
	for (uint32_t i = 0; i < 1000; i++)
		forge_req(w, 100 + i);
	sim_run_for(w->sim, 10 * SIM_MS);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 256);
	/* And their listener, while they are held. */
	roost_cm_listener_destroy(w->listener);
	w->listener = NULL;
	know_neighbour(w, mac_gen);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	cm_world_free(w);
}

/* ---- too many of our own ---------------------------------------------- */

/* For 100 ms there is no room for any message: one of those that wait finds
 * that out for all, less and less often. Then all go at once.
 */
static void room__is_looked_for_by_one(void **state)
{
	enum {
		CONNS = 300,
		ALL = 4096
	};
	struct cm_world *w = cm_world_new();
	struct rte_mempool *pool = w->sim->ends[SIM_A].pool;
	struct rte_mbuf *held[ALL];
	unsigned int nb_held = 0;

	cm_listen(w, ROOST_CM_PS_TCP, 0);
	while (nb_held < ALL && (held[nb_held] = rte_pktmbuf_alloc(pool)))
		nb_held++;
	assert_true(nb_held < ALL);
	for (uint32_t i = 0; i < CONNS; i++)
		cm_connect(cm_owner_new(w), 0x100 + i);
	sim_run_for(w->sim, 100 * SIM_MS);
	assert_in_range(cm_counters(w, SIM_A).no_room, CONNS, CONNS + 40);
	assert_int_equal(cm_counters(w, SIM_A).tx[ROOST_CM_REQ], 0);
	while (nb_held > 0)
		rte_pktmbuf_free(held[--nb_held]);
	sim_run_for(w->sim, 10 * SIM_MS);
	for (uint32_t i = 0; i < CONNS; i++)
		cm_expect(&w->owners[i], ROOST_CM_REP_RECEIVED, 1);
	assert_int_equal(cm_counters(w, SIM_A).retries[ROOST_CM_REQ], 0);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says__the_packets_address_or_nothing),
		cmocka_unit_test(says__a_path_to_elsewhere),
		cmocka_unit_test(says__what_it_likes_to_other_services),
		cmocka_unit_test(says__that_its_qp_is_qp1),
		cmocka_unit_test(time__of_a_request_and_its_mra),
		cmocka_unit_test(time__packet_lifetime_of_six_bits),
		cmocka_unit_test(many__sources_crowd_out_each_other),
		cmocka_unit_test(many__one_source_has_its_own_places),
		cmocka_unit_test(many__replies_make_room),
		cmocka_unit_test(held__until_the_way_back_is_known),
		cmocka_unit_test(held__for_a_second),
		cmocka_unit_test(held__not_in_vain),
		cmocka_unit_test(held__not_of_nowhere),
		cmocka_unit_test(held__and_given_up),
		cmocka_unit_test(room__is_looked_for_by_one),
	};

	return sim_main(argc, argv, "cm_crowd", tests,
			sizeof(tests) / sizeof(tests[0]));
}
