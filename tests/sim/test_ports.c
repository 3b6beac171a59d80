/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A device of two ports: QPs, address handles and groups on the second, and
 * what goes from one port to the other inside the device.
 */

#include <errno.h>

#include <roost/mcast.h>
#include "tests/sim/raw.h"

#define QKEY 0x11111111u
#define GRH 40u

static const uint8_t group_v4[4] = { 239, 1, 2, 3 };

static struct roost_av av_to(uint8_t port_num, const struct roost_gid *gid)
{
	return (struct roost_av){
		.is_global = true,
		.port_num = port_num,
		.dgid = *gid,
		.hop_limit = 64,
	};
}

static void to_init(struct sim_qp *qp, uint8_t port_num)
{
	const struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = port_num,
		.access = qp->conf.access,
		.qkey = QKEY,
	};
	uint32_t rest = qp->conf.type == ROOST_QPT_UD ? ROOST_QP_QKEY
						      : ROOST_QP_ACCESS_FLAGS;

	assert_int_equal(roost_qp_modify(qp->qp, &attr,
					 ROOST_QP_STATE | ROOST_QP_PORT |
						 ROOST_QP_PKEY_INDEX | rest),
			 0);
}

/* RC, from that port to an address. */
static int to_rtr(struct sim_qp *qp, uint8_t port_num,
		  const struct roost_gid *gid)
{
	const struct roost_qp_attr attr = {
		.state = ROOST_QPS_RTR,
		.path_mtu = qp->conf.mtu,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.rq_psn = qp->peer->sq_psn,
		.dest_qpn = qp->peer->qpn,
		.av = av_to(port_num, gid),
	};

	return roost_qp_modify(qp->qp, &attr,
			       ROOST_QP_STATE | ROOST_QP_AV |
				       ROOST_QP_PATH_MTU | ROOST_QP_DEST_QPN |
				       ROOST_QP_RQ_PSN |
				       ROOST_QP_MAX_DEST_RD_ATOMIC |
				       ROOST_QP_MIN_RNR_TIMER);
}

static void to_rts(struct sim_qp *qp, uint8_t port_num,
		   const struct roost_gid *gid)
{
	to_init(qp, port_num);
	assert_int_equal(to_rtr(qp, port_num, gid), 0);
	assert_int_equal(sim_qp_to_rts(qp), 0);
}

static void talk(struct sim_qp *a, struct sim_qp *b)
{
	for (int i = 0; i < 20; i++) {
		sim_recv(b, 5000);
		sim_recv(a, 5000);
		sim_send(a, 5000);
		sim_send(b, 5000);
	}
	sim_run(a->sim);
	sim_expect_all_good(a, b);
}

static void ports__rc_on_the_second(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(sim, SIM_B, NULL);
	struct roost_qp_init init;
	struct roost_qp_attr attr;

	sim_qp_join(a, b);
	to_rts(a, 2, &b->end->ports[1].gid);
	to_rts(b, 2, &a->end->ports[1].gid);
	talk(a, b);
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_true(sim->link2.nb_log[SIM_A] > 0);
	roost_qp_query(a->qp, &attr, &init);
	assert_int_equal(attr.port_num, 2);
	sim_free(sim);
}

/* Frames of a flow whose headers are known are not taken for an address that
 * the port no longer has.
 */
static void ports__address_that_is_gone(void **state)
{
	const struct roost_gid none = { { 0 } };
	struct sim *sim = sim_new();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(sim, SIM_B, NULL);
	const struct roost_dev_counters *at_b = sim_counters(sim, SIM_B);
	uint64_t before;

	sim_qp_join(a, b);
	to_rts(a, 2, &b->end->ports[1].gid);
	to_rts(b, 2, &a->end->ports[1].gid);
	talk(a, b);
	before = at_b->drops[ROOST_DROP_NOT_OURS];
	assert_int_equal(roost_port_set_gid(b->end->dev, 2, 0, &none), 0);
	sim_recv(b, 5000);
	sim_send(a, 5000);
	sim_run_for(sim, 1000000);
	at_b = sim_counters(sim, SIM_B);
	assert_true(at_b->drops[ROOST_DROP_NOT_OURS] > before);
	assert_int_equal(roost_port_set_gid(b->end->dev, 2, 0,
					    &b->end->ports[1].gid),
			 0);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* ---- a QP that moves ----------------------------------------------------- */

/* All frames on the link must have the default P_Key, and that is entry 0 of
 * the second port only; entry 1 of it is empty.
 */
static void set_pkeys(struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		struct roost_dev *dev = sim->ends[side].dev;

		assert_int_equal(roost_port_set_pkey(dev, 1, 0, 0x8001), 0);
		assert_int_equal(roost_port_set_pkey(dev, 1, 1, 0x8002), 0);
	}
}

static void ports__rtr_on_another_port(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(sim, SIM_B, NULL);
	struct roost_qp_attr attr = { .state = ROOST_QPS_INIT, .port_num = 1 };

	set_pkeys(sim);
	sim_qp_join(a, b);
	/* The first port's entry 1 has no equal on the second. */
	to_init(a, 1);
	attr.pkey_index = 1;
	attr.access = a->conf.access;
	assert_int_equal(roost_qp_modify(a->qp, &attr,
					 ROOST_QP_STATE | ROOST_QP_PKEY_INDEX),
			 0);
	assert_int_equal(to_rtr(a, 2, &b->end->ports[1].gid), -EINVAL);
	attr.port_num = 2;
	assert_int_equal(roost_qp_modify(a->qp, &attr, ROOST_QP_PORT), -EINVAL);
	to_init(a, 1);
	assert_int_equal(to_rtr(a, 2, &b->end->ports[1].gid), 0);
	assert_int_equal(sim_qp_to_rts(a), 0);
	to_rts(b, 2, &a->end->ports[1].gid);
	talk(a, b);
	sim_free(sim);
}

static void ports__sqd_to_another_port(void **state)
{
	const uint32_t both = ROOST_QP_PORT | ROOST_QP_AV;
	struct sim *sim = sim_new();
	struct sim_qp *a = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(sim, SIM_B, NULL);
	struct roost_qp_attr attr, now;
	struct roost_qp_init init;

	set_pkeys(sim);
	sim_qp_join(a, b);
	to_rts(a, 1, &b->end->gid);
	to_rts(b, 1, &a->end->gid);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_SQD), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_SQD), 0);
	attr = (struct roost_qp_attr){
		.port_num = 1,
		.pkey_index = 1,
		.av = av_to(2, &b->end->ports[1].gid),
	};
	/* Two ports at once; a P_Key that the port has not. */
	assert_int_equal(roost_qp_modify(a->qp, &attr, both), -EINVAL);
	attr.port_num = 2;
	assert_int_equal(roost_qp_modify(a->qp, &attr,
					 both | ROOST_QP_PKEY_INDEX),
			 -EINVAL);
	assert_int_equal(roost_qp_modify(a->qp, &attr, both), 0);
	/* The port alone takes the path along. */
	attr.av = av_to(1, &a->end->ports[1].gid);
	assert_int_equal(roost_qp_modify(b->qp, &attr, ROOST_QP_AV), 0);
	assert_int_equal(roost_qp_modify(b->qp, &attr, ROOST_QP_PORT), 0);
	roost_qp_query(b->qp, &now, &init);
	assert_int_equal(now.port_num, 2);
	assert_int_equal(now.av.port_num, 2);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RTS), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RTS), 0);
	talk(a, b);
	assert_true(sim->link2.nb_log[SIM_A] > 0);
	sim_free(sim);
}

/* Each port has tables and an MTU of its own. */
static void ports__attributes(void **state)
{
	struct sim *sim = sim_new();
	struct sim_end *a = &sim->ends[SIM_A];
	struct roost_port_attr one, two;
	struct roost_gid gid;

	roost_port_set_link(a->dev, 2, ROOST_PORT_ACTIVE, 1500, 10000);
	assert_int_equal(roost_port_query(a->dev, 1, &one), 0);
	assert_int_equal(roost_port_query(a->dev, 2, &two), 0);
	assert_int_equal(one.active_mtu, ROOST_MTU_4096);
	assert_int_equal(two.active_mtu, ROOST_MTU_1024);
	assert_int_equal(one.lid, 0x0001); /* 198.18.0.1 */
	assert_int_equal(two.lid, 0x0101); /* 198.18.1.1 */
	assert_int_equal(roost_port_query(a->dev, 3, &two), -EINVAL);
	assert_int_equal(roost_port_query_gid(a->dev, 2, 0, &gid), 0);
	assert_true(roost_gid_eq(&gid, &a->ports[1].gid));
	/* An address is on the port that has it, and nowhere else. */
	assert_int_equal(roost_port_set_gid(a->dev, 2, 5, &a->gid), 0);
	assert_int_equal(roost_port_query_gid(a->dev, 1, 5, &gid), 0);
	assert_true(roost_gid_is_zero(&gid));
	sim_free(sim);
}

/* From one port of the device to the other: nothing leaves it. */
static void ports__loopback_between_them(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *one = sim_qp_new(sim, SIM_A, NULL);
	struct sim_qp *two = sim_qp_new(sim, SIM_A, NULL);

	sim_qp_join(one, two);
	to_rts(one, 1, &one->end->ports[1].gid);
	to_rts(two, 2, &one->end->ports[0].gid);
	talk(one, two);
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_int_equal(sim->link2.nb_log[SIM_A], 0);
	assert_true(sim_counters(sim, SIM_A)->loopback_pkts > 0);
	assert_int_equal(sim->ends[SIM_A].neigh_refs, 0);
	sim_free(sim);
}

/* ---- datagrams -------------------------------------------------------- */

static struct sim_qp *ud(struct sim *sim, int side, uint8_t port_num)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *qp;

	sim->nobody_polls = true;
	conf.type = ROOST_QPT_UD;
	qp = sim_qp_new(sim, side, &conf);
	to_init(qp, port_num);
	assert_int_equal(sim_qp_to_rtr(qp), 0);
	assert_int_equal(sim_qp_to_rts(qp), 0);
	return qp;
}

static struct roost_ah *ah_to(struct sim_end *end, uint8_t port_num,
			      const struct roost_gid *gid)
{
	struct roost_av av = av_to(port_num, gid);
	struct roost_ah *ah;

	assert_int_equal(roost_ah_create(end->pd, &av, &ah), 0);
	return ah;
}

static void send_to(struct sim_qp *qp, struct roost_ah *ah, uint32_t qpn,
		    struct sim_slice slice)
{
	raw_send(qp,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED,
			 .ah = ah,
			 .dest_qpn = qpn,
			 .qkey = QKEY,
		 },
		 slice);
	sim_run_for(qp->sim, 10 * SIM_US);
	raw_expect(qp->end->cq, 1, ROOST_WC_SUCCESS);
}

/* A QP hears what comes to its own port. */
static void ports__datagrams(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = ud(sim, SIM_A, 2);
	struct sim_qp *b1 = ud(sim, SIM_B, 1), *b2 = ud(sim, SIM_B, 2);
	struct roost_ah *ah = ah_to(a->end, 2, &b2->end->ports[1].gid);
	struct sim_slice data = raw_random(sim, 100), in = raw_blank(sim, 200);

	raw_recv(b1, 10, raw_blank(sim, 200));
	raw_recv(b2, 20, in);
	send_to(a, ah, b2->qpn, data);
	raw_expect(b2->end->cq, 20, ROOST_WC_SUCCESS);
	assert_memory_equal(in.data + GRH, data.data, 100);
	send_to(a, ah, b1->qpn, data);
	raw_expect_nothing(b1->end->cq);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_QPN], 1);
	assert_int_equal(sim->link.nb_log[SIM_A], 0);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

/* One group on two ports is two groups. */
static void ports__multicast(void **state)
{
	const struct roost_gid group = roost_gid_from_v4(group_v4);
	struct sim *sim = sim_new();
	struct sim_qp *a = ud(sim, SIM_A, 2), *near = ud(sim, SIM_A, 1);
	struct sim_qp *b1 = ud(sim, SIM_B, 1), *b2 = ud(sim, SIM_B, 2);
	struct roost_ah *ah1 = ah_to(a->end, 1, &group);
	struct roost_ah *ah2 = ah_to(a->end, 2, &group);
	struct sim_slice data = raw_random(sim, 100);

	assert_int_equal(roost_mcast_attach(b1->qp, &group), 0);
	assert_int_equal(roost_mcast_attach(b2->qp, &group), 0);
	assert_int_equal(roost_mcast_attach(near->qp, &group), 0);
	raw_recv(near, 5, raw_blank(sim, 200));
	raw_recv(b1, 10, raw_blank(sim, 200));
	raw_recv(b2, 20, raw_blank(sim, 200));
	send_to(a, ah2, 0xffffff, data);
	raw_expect(b2->end->cq, 20, ROOST_WC_SUCCESS);
	raw_expect_nothing(b2->end->cq);
	raw_expect_nothing(a->end->cq);
	/* Nobody is left there: not heard, though there is one on port 1. */
	assert_int_equal(roost_mcast_detach(b2->qp, &group), 0);
	raw_recv(b2, 21, raw_blank(sim, 200));
	send_to(a, ah2, 0xffffff, data);
	raw_expect_nothing(b2->end->cq);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_NOT_OURS],
			 1);
	/* On port 1: the one there, and the one of our own. */
	raw_send(near,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED,
			 .ah = ah1,
			 .dest_qpn = 0xffffff,
			 .qkey = QKEY,
		 },
		 data);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(near->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(near->end->cq, 5, ROOST_WC_SUCCESS);
	raw_expect(b1->end->cq, 10, ROOST_WC_SUCCESS);
	raw_expect_nothing(b1->end->cq);
	roost_mcast_detach_all(near->qp);
	roost_mcast_detach_all(b1->qp);
	assert_int_equal(roost_ah_destroy(ah1), 0);
	assert_int_equal(roost_ah_destroy(ah2), 0);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ports__rc_on_the_second),
	cmocka_unit_test(ports__address_that_is_gone),
	cmocka_unit_test(ports__rtr_on_another_port),
	cmocka_unit_test(ports__sqd_to_another_port),
	cmocka_unit_test(ports__attributes),
	cmocka_unit_test(ports__loopback_between_them),
	cmocka_unit_test(ports__datagrams),
	cmocka_unit_test(ports__multicast),
};

SIM_MAIN("sim-ports", tests)
