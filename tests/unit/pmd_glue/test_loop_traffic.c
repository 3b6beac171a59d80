/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roost/loop.h: two devices of one program, a and b, on two ports. What one
 * sends is handed to the other one, at will in another shape.
 */
#include "tests/unit/pmd_glue/loop_world.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <roost/cm.h>
#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>

#include "tests/unit/engine/fixture.h"

#define MSG_BYTES 3000u /* three packets */
#define SLOTS 256u

static struct loop_world *const w = &loop_world;

struct end {
	uint16_t port_id;
	struct roost_loop *loop;
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_cq *cq;
	struct roost_mr *mr;
	struct roost_qp *qp;
	uint8_t bytes[MSG_BYTES];
};

static struct end ends[LOOP_PORTS];
/* Changes a frame on its way; NULL: no change. */
static struct rte_mbuf *(*change)(struct rte_mbuf *mbuf);

static void open_end(struct end *e, uint16_t port_id, uint16_t vlan_id)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.cap = { .max_send_wr = SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct roost_loop_conf conf = loop_conf(port_id);

	conf.vlan_id = vlan_id;
	*e = (struct end){ .port_id = port_id, .loop = loop_new(&conf) };
	assert_int_equal(roost_ctx_open(roost_loop_dev(e->loop), &e->ctx), 0);
	assert_int_equal(roost_pd_alloc(e->ctx, &e->pd), 0);
	assert_int_equal(roost_cq_create(e->ctx, 2 * SLOTS, NULL, NULL, &e->cq),
			 0);
	assert_int_equal(roost_mr_reg(e->pd, e->bytes, MSG_BYTES,
				      (uintptr_t)e->bytes,
				      ROOST_ACCESS_LOCAL_WRITE, &e->mr),
			 0);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	assert_int_equal(roost_qp_create(e->ctx, e->pd, &init, &e->qp), 0);
	assert_int_equal(fixture_to_init(e->qp), 0);
}

static void close_end(struct end *e)
{
	assert_int_equal(roost_loop_destroy(e->loop), -EBUSY);
	assert_int_equal(roost_qp_destroy(e->qp, NULL), 0);
	assert_int_equal(roost_mr_dereg(e->mr), 0);
	assert_int_equal(roost_cq_destroy(e->cq, NULL, NULL), 0);
	assert_int_equal(roost_pd_dealloc(e->pd), 0);
	assert_int_equal(roost_ctx_close(e->ctx), 0);
	assert_int_equal(roost_loop_destroy(e->loop), 0);
}

/* An iteration of each end. Returns how many frames moved. */
static unsigned int turn(void)
{
	struct rte_mbuf *frames[LOOP_RING_LEN];
	unsigned int moved = 0;

	for (unsigned int i = 0; i < LOOP_PORTS; i++) {
		uint16_t n = 0;

		while ((frames[n] = loop_sent(1 - ends[i].port_id)) != NULL) {
			if (change)
				frames[n] = change(frames[n]);
			n++;
		}
		loop_run(ends[i].loop, frames, n);
		moved += n;
	}
	return moved;
}

static void turn_until_quiet(void)
{
	unsigned int quiet = 0;

	for (unsigned int i = 0; quiet < 4; i++) {
		assert_in_range(i, 0, 10000);
		quiet = turn() ? 0 : quiet + 1;
	}
}

static int to_rtr(struct end *e, const struct end *peer, bool v6)
{
	const struct roost_qp_attr attr = {
		.state = ROOST_QPS_RTR,
		.path_mtu = ROOST_MTU_1024,
		.rq_psn = 200,
		.dest_qpn = roost_qp_num(peer->qp),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.av = {
			.is_global = true,
			.port_num = 1,
			.sgid_index = v6 ? 2 : 1,
			.dgid = loop_conf(peer->port_id).addrs.v[v6].gid,
			.hop_limit = 64,
		},
	};

	return roost_qp_modify(e->qp, &attr, FIXTURE_RTR_MASK);
}

/* As a program that knows its peers does: it tries until they are resolved. */
static void connect_ends(bool v6)
{
	for (unsigned int i = 0; i < LOOP_PORTS; i++) {
		struct end *e = &ends[i];
		unsigned int tries = 0;
		int ret;

		while ((ret = to_rtr(e, &ends[1 - i], v6)) == -EAGAIN) {
			assert_in_range(tries++, 0, 10);
			turn();
		}
		assert_int_equal(ret, 0);
		assert_int_equal(fixture_to_rts(e->qp), 0);
	}
	turn_until_quiet();
	loop_expect_punts(w->nb_punts);
}

static void open_ends(uint16_t vlan_id)
{
	open_end(&ends[0], 0, vlan_id);
	open_end(&ends[1], 1, vlan_id);
	change = NULL;
}

static void close_ends(void)
{
	close_end(&ends[0]);
	close_end(&ends[1]);
}

static struct roost_sge sge_of(const struct end *e)
{
	return (struct roost_sge){
		.addr = (uintptr_t)e->bytes,
		.len_bytes = MSG_BYTES,
		.lkey = roost_mr_lkey(e->mr),
	};
}

static void post_recv(struct end *e)
{
	const struct roost_sge sge = sge_of(e);
	const struct roost_recv_wr wr = { .sges = &sge, .nb_sges = 1 };

	assert_int_equal(fixture_recv(e->qp, &wr), 0);
}

static void post_send(struct end *e)
{
	const struct roost_sge sge = sge_of(e);
	const struct roost_send_wr wr = {
		.sges = &sge,
		.nb_sges = 1,
		.opcode = ROOST_WR_SEND,
		.flags = ROOST_SEND_SIGNALED,
	};

	assert_int_equal(fixture_send(e->qp, &wr), 0);
}

static void expect_cqes(struct end *e, unsigned int nb)
{
	struct roost_cqe cqe;

	for (unsigned int i = 0; i < nb; i++) {
		assert_int_equal(roost_cq_poll(e->cq, 1, &cqe), 1);
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
	}
	assert_int_equal(roost_cq_poll(e->cq, 1, &cqe), 0);
}

/* A message there. */
static void check_message(struct end *from, struct end *to)
{
	for (unsigned int i = 0; i < MSG_BYTES; i++)
		from->bytes[i] = (uint8_t)(i * 7 + i / 256);
	memset(to->bytes, 0, MSG_BYTES);
	post_recv(to);
	post_send(from);
	turn_until_quiet();
	expect_cqes(from, 1);
	expect_cqes(to, 1);
	assert_memory_equal(from->bytes, to->bytes, MSG_BYTES);
	assert_int_equal(w->nb_punts, 0);
}

static void check_messages(void)
{
	check_message(&ends[0], &ends[1]);
	check_message(&ends[1], &ends[0]);
}

/* ---- the shape of frames ------------------------------------------------- */

static void traffic__v4_and_v6(void **state)
{
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		open_ends(0);
		connect_ends(v6);
		check_messages();
		close_ends();
	}
}

static unsigned int piece_bytes;

static struct rte_mbuf *cut(struct rte_mbuf *mbuf)
{
	return loop_cut(mbuf, piece_bytes);
}

static void traffic__in_segments(void **state)
{
	static const unsigned int sizes[] = { 12, 42, 128, 1000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		open_ends(0);
		connect_ends(i & 1);
		piece_bytes = sizes[i];
		change = cut;
		check_messages();
		close_ends();
	}
}

/* As a NIC delivers it that strips tags. */
static struct rte_mbuf *strip(struct rte_mbuf *mbuf)
{
	assert_int_equal(rte_vlan_strip(mbuf), 0);
	return mbuf;
}

static struct rte_mbuf *strip_and_cut(struct rte_mbuf *mbuf)
{
	uint16_t tci;

	mbuf = strip(mbuf);
	tci = mbuf->vlan_tci;
	mbuf = loop_cut(mbuf, 50);
	mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	mbuf->vlan_tci = tci;
	return mbuf;
}

static void traffic__in_a_vlan(void **state)
{
	open_ends(100);
	connect_ends(false);
	check_messages();
	change = strip;
	check_messages();
	change = strip_and_cut;
	check_messages();
	close_ends();
}

static struct rte_mbuf *put_into_vlan_5(struct rte_mbuf *mbuf)
{
	return loop_tag(mbuf, 0x8100, 5);
}

/* They may be for another device of the program. */
static void traffic__of_another_vlan_is_the_programs(void **state)
{
	open_ends(0);
	connect_ends(false);
	change = put_into_vlan_5;
	post_send(&ends[0]);
	turn();
	turn();
	assert_true(w->nb_punts >= 3);
	loop_expect_punts(w->nb_punts);
	/* The QP's retransmissions. */
	change = NULL;
	post_recv(&ends[1]);
	for (unsigned int i = 0; i < 100; i++) {
		loop_pass(LOOP_S / 100);
		turn();
	}
	expect_cqes(&ends[0], 1);
	expect_cqes(&ends[1], 1);
	close_ends();
}

/* ---- queues and threads -------------------------------------------------- */

/* The ring of the port holds fewer frames than are posted. */
static void traffic__waits_for_the_transmit_queue(void **state)
{
	struct end *a = &ends[1], *b = &ends[0];

	open_ends(0);
	connect_ends(false);
	for (unsigned int i = 0; i < SLOTS; i++)
		post_recv(b);
	for (unsigned int i = 0; i < SLOTS; i++)
		post_send(a);
	for (unsigned int i = 0; i < 100; i++)
		loop_run(a->loop, NULL, 0);
	turn_until_quiet();
	expect_cqes(a, SLOTS);
	expect_cqes(b, SLOTS);
	close_ends();
}

/* What the engine has queued is freed with it. */
static void traffic__destroyed_with_a_full_transmit_queue(void **state)
{
	struct end *a = &ends[1];

	open_ends(0);
	connect_ends(false);
	for (unsigned int i = 0; i < SLOTS; i++)
		post_send(a);
	for (unsigned int i = 0; i < 100; i++)
		loop_run(a->loop, NULL, 0);
	close_ends();
}

static void *turn_in_thread(void *arg)
{
	(void)arg;
	check_messages();
	return NULL;
}

/* No thread of EAL's, and another one each time. */
static void traffic__threads_in_turn(void **state)
{
	pthread_t thread;

	open_ends(0);
	connect_ends(false);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(pthread_create(&thread, NULL, turn_in_thread,
						NULL),
				 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		check_messages();
	}
	close_ends();
}

/* ---- the CM -------------------------------------------------------------- */

#define SERVICE 7471u

static struct {
	struct roost_cm_conn *passive;
	unsigned int events[ROOST_CM_EVENT_TYPES];
} seen;

static void on_event(void *arg, struct roost_cm_conn *conn,
		     const struct roost_cm_event *event)
{
	(void)arg;
	(void)conn;
	seen.events[event->type]++;
}

static void on_request(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	seen.passive = conn;
	roost_cm_conn_set_owner(conn, on_event, arg);
	on_event(arg, conn, event);
}

static void turn_until(enum roost_cm_event_type type)
{
	for (unsigned int i = 0; seen.events[type] == 0; i++) {
		assert_in_range(i, 0, 1000);
		turn();
	}
}

static struct roost_cm_conn *request(struct roost_cm *cm, const struct end *to)
{
	const struct roost_gid dgid = loop_conf(to->port_id).addrs.v[0].gid;
	struct roost_cm_req_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, SERVICE),
		.qp_type = ROOST_QPT_RC,
		.qpn = 0x1234,
	};
	struct roost_cm_conn *conn;

	assert_int_equal(roost_cm_conn_create(cm, on_event, NULL, &conn), 0);
	assert_int_equal(roost_cm_resolve(conn, NULL, &dgid, 1000), 0);
	turn_until(ROOST_CM_ADDR_RESOLVED);
	assert_true(roost_cm_conn_path(conn, &param.path));
	assert_int_equal(roost_cm_connect(conn, &param), 0);
	turn_until(ROOST_CM_REQ_RECEIVED);
	return conn;
}

/* b is destroyed at once when its CM was put: a hears that its request was
 * rejected.
 */
static void cm__last_message_leaves(void **state)
{
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, SERVICE),
	};
	struct roost_cm_listener *listener;
	struct roost_cm *cms[LOOP_PORTS];
	struct roost_cm_conn *active;
	struct rte_mbuf *frame;

	open_ends(0);
	for (unsigned int i = 0; i < LOOP_PORTS; i++)
		roost_cm_get(roost_loop_dev(ends[i].loop), &cms[i]);
	assert_int_equal(roost_cm_listen(cms[0], &param, on_request, NULL,
					 &listener),
			 0);
	active = request(cms[1], &ends[0]);
	roost_cm_conn_destroy(seen.passive);
	roost_cm_listener_destroy(listener);
	roost_cm_put(cms[0]);
	close_end(&ends[0]);
	assert_int_equal(seen.events[ROOST_CM_REJ_RECEIVED], 0);
	while ((frame = loop_sent(0)) != NULL)
		loop_run(ends[1].loop, &frame, 1);
	assert_int_equal(seen.events[ROOST_CM_REJ_RECEIVED], 1);
	roost_cm_conn_destroy(active);
	roost_cm_put(cms[1]);
	close_end(&ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(traffic__v4_and_v6),
		LOOP_TEST(traffic__in_segments),
		LOOP_TEST(traffic__in_a_vlan),
		LOOP_TEST(traffic__of_another_vlan_is_the_programs),
		LOOP_TEST(traffic__waits_for_the_transmit_queue),
		LOOP_TEST(traffic__destroyed_with_a_full_transmit_queue),
		LOOP_TEST(traffic__threads_in_turn),
		LOOP_TEST(cm__last_message_leaves),
	};

	return cmocka_run_group_tests(tests, loop_world_start, NULL);
}
