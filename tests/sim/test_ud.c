/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Datagrams and multicast. */

#include <errno.h>
#include <string.h>

#include <roost/mcast.h>
#include "tests/sim/raw.h"

#define QKEY 0x11111111u
#define GRH 40u

static void send_to(struct sim_qp *qp, struct roost_ah *ah, uint32_t qpn,
		    uint32_t qkey, struct sim_slice slice)
{
	raw_send(qp,
		 (struct roost_send_wr){
			 .wr_id = 1,
			 .opcode = ROOST_WR_SEND_IMM,
			 .flags = ROOST_SEND_SIGNALED,
			 .imm_be = 0xabcd,
			 .ah = ah,
			 .dest_qpn = qpn,
			 .qkey = qkey,
		 },
		 slice);
}

static void check_grh(const struct sim *sim, const uint8_t *grh, bool ipv6)
{
	static const uint8_t zeros[20];
	const struct sim_end *a = &sim->ends[SIM_A], *b = &sim->ends[SIM_B];

	if (ipv6) {
		assert_int_equal(grh[0] >> 4, 6);
		assert_int_equal(grh[7], 33);
		assert_memory_equal(grh + 8, &a->gid6, 16);
		assert_memory_equal(grh + 24, &b->gid6, 16);
		return;
	}
	assert_memory_equal(grh, zeros, 20);
	assert_int_equal(grh[20], 0x45);
	assert_int_equal(grh[21], 0x20);
	assert_int_equal(grh[28], 33);
	assert_memory_equal(grh + 32, &a->gid.b[12], 4);
	assert_memory_equal(grh + 36, &b->gid.b[12], 4);
}

static void grh_area(bool ipv6)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah =
		raw_ah(a->end, ipv6 ? &b->end->gid6 : &b->end->gid);

	for (uint32_t len = 0; len <= 4096; len += len < 64 ? 1 : 1008) {
		struct sim_slice out = raw_random(sim, len);
		struct sim_slice in = raw_blank(sim, GRH + len + 7);
		struct roost_cqe cqe;

		raw_recv(b, 2, in);
		send_to(a, ah, b->qpn, QKEY, out);
		sim_run_for(sim, 10 * SIM_US);
		raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
		cqe = raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, GRH + len);
		assert_int_equal(cqe.src_qpn, a->qpn);
		assert_int_equal(cqe.flags, ROOST_WC_GRH | ROOST_WC_WITH_IMM);
		assert_int_equal(cqe.imm_be, 0xabcd);
		check_grh(sim, in.data, ipv6);
		assert_memory_equal(in.data + GRH, out.data, len);
		raw_assert_blank(in, GRH + len);
	}
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

static void ud__grh_area(void **state)
{
	grh_area(false);
	grh_area(true);
}

static void ud__qkey(void **state)
{
	struct sim_qp_conf other = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct roost_ah *ah;

	other.qkey = 0x2222;
	a = raw_ud(sim, SIM_A, NULL);
	b = raw_ud(sim, SIM_B, &other);
	ah = raw_ah(a->end, &b->end->gid);
	raw_recv(b, 2, raw_blank(sim, 100));
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 10));
	/* The QP's own, which is the wrong one, too. */
	send_to(a, ah, b->qpn, 0x80002222, raw_random(sim, 10));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect_nothing(b->end->cq);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_QKEY], 2);
	send_to(a, ah, b->qpn, 0x2222, raw_random(sim, 10));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
	/* No receive, and no such QP: dropped. */
	send_to(a, ah, b->qpn, 0x2222, raw_random(sim, 10));
	send_to(a, ah, b->qpn ^ 0x10, 0x2222, raw_random(sim, 10));
	sim_run_for(sim, 10 * SIM_US);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_RNR_WAIT],
			 1);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_QPN], 1);
	assert_int_equal(sim->link.nb_log[SIM_B], 0);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

/* Longer than the buffer with its 40 bytes: told, nothing written, and the
 * next one is taken.
 */
static void ud__longer_than_the_receive(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah = raw_ah(a->end, &b->end->gid);
	struct sim_slice in = raw_blank(sim, 139), tiny = raw_blank(sim, 39);

	raw_recv(b, 2, in);
	raw_recv(b, 3, tiny);
	raw_recv(b, 4, raw_blank(sim, 140));
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 100));
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 0));
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 100));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(b->end->cq, 2, ROOST_WC_LOC_LEN_ERR);
	raw_expect(b->end->cq, 3, ROOST_WC_LOC_LEN_ERR);
	raw_expect(b->end->cq, 4, ROOST_WC_SUCCESS);
	raw_assert_blank(in, 0);
	raw_assert_blank(tiny, 0);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

/* Longer than the port's MTU: not sent, and the send queue stops. */
static void ud__longer_than_the_mtu(void **state)
{
	struct roost_qp_attr rts = { .state = ROOST_QPS_RTS };
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *b = raw_ud(sim, SIM_B, NULL);
	struct roost_ah *ah = raw_ah(a->end, &b->end->gid);

	raw_recv(b, 2, raw_blank(sim, 5000));
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 4097));
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 4096));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_LOC_LEN_ERR);
	raw_expect(a->end->cq, 1, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_SQE);
	assert_int_equal(roost_qp_modify(a->qp, &rts, ROOST_QP_STATE), 0);
	send_to(a, ah, b->qpn, QKEY, raw_random(sim, 4096));
	/* The handle may go before its datagram does. */
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(b->end->cq, 2, ROOST_WC_SUCCESS);
	sim_free(sim);
}

/* One QP talks to several, itself and a neighbour on its device among them. */
static void ud__several_peers(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL), *peers[4];
	struct roost_ah *near = raw_ah(a->end, &a->end->gid);
	struct roost_ah *far = raw_ah(a->end, &sim->ends[SIM_B].gid6);

	for (int i = 0; i < 4; i++) {
		peers[i] =
			i == 0 ? a : raw_ud(sim, i % 2 ? SIM_B : SIM_A, NULL);
		raw_recv(peers[i], (uint64_t)i, raw_blank(sim, 200));
	}
	for (int i = 0; i < 4; i++) {
		send_to(a, i % 2 ? far : near, peers[i]->qpn, QKEY,
			raw_random(sim, 100));
		sim_run_for(sim, 10 * SIM_US);
		raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
		raw_expect(peers[i]->end->cq, (uint64_t)i, ROOST_WC_SUCCESS);
	}
	assert_int_equal(roost_ah_destroy(near), 0);
	assert_int_equal(roost_ah_destroy(far), 0);
	sim_free(sim);
}

/* What was posted and never sent lets go of its handle. */
static void ud__handles_of_unsent_datagrams(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL);

	for (int i = 0; i < 3; i++) {
		struct roost_ah *ah = raw_ah(a->end, &sim->ends[SIM_B].gid);

		send_to(a, ah, 77, QKEY, raw_random(sim, 10));
		assert_int_equal(roost_ah_destroy(ah), 0);
		if (i == 0) {
			assert_int_equal(sim_qp_to(a, ROOST_QPS_ERR), 0);
			raw_expect(a->end->cq, 1, ROOST_WC_WR_FLUSH_ERR);
			assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
			assert_int_equal(sim_qp_to_init(a), 0);
			assert_int_equal(sim_qp_to_rtr(a), 0);
			assert_int_equal(sim_qp_to_rts(a), 0);
		} else if (i == 1) {
			assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
			assert_int_equal(sim_qp_to_init(a), 0);
			assert_int_equal(sim_qp_to_rtr(a), 0);
			assert_int_equal(sim_qp_to_rts(a), 0);
		}
	}
	/* The world counts neighbour references in the end. */
	sim_free(sim);
}

/* ---- multicast ----------------------------------------------------------- */

static void multicast(const struct roost_gid *group)
{
	struct sim_qp_conf quiet = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL),
		      *a2 = raw_ud(sim, SIM_A, NULL);
	struct sim_qp *b = raw_ud(sim, SIM_B, NULL),
		      *b2 = raw_ud(sim, SIM_B, NULL);
	struct sim_qp *out = raw_ud(sim, SIM_B, NULL), *q;
	struct roost_ah *ah = raw_ah(a->end, group);
	struct sim_slice data = raw_random(sim, 100), in = raw_blank(sim, 200);

	quiet.block_self_mcast = true;
	q = raw_ud(sim, SIM_A, &quiet);
	assert_int_equal(roost_mcast_attach(a->qp, group), 0);
	assert_int_equal(roost_mcast_attach(a2->qp, group), 0);
	assert_int_equal(roost_mcast_attach(b->qp, group), 0);
	assert_int_equal(roost_mcast_attach(b->qp, group), 0);
	assert_int_equal(roost_mcast_attach(b2->qp, group), 0);
	assert_int_equal(roost_mcast_attach(q->qp, group), 0);
	raw_recv(a, 10, raw_blank(sim, 200));
	raw_recv(a2, 11, raw_blank(sim, 200));
	raw_recv(q, 12, raw_blank(sim, 200));
	raw_recv(b, 20, in);
	raw_recv(b2, 21, raw_blank(sim, 200));
	raw_recv(out, 22, raw_blank(sim, 200));
	send_to(a, ah, 0xffffff, QKEY, data);
	sim_run_for(sim, 10 * SIM_US);
	for (int i = 0; i < 3; i++) {
		struct roost_cqe cqe;

		assert_int_equal(roost_cq_poll(b->end->cq, 1, &cqe),
				 i < 2 ? 1 : 0);
	}
	for (int i = 0; i < 5; i++) {
		struct roost_cqe cqe;

		/* Its own completion, and the three on this side. */
		assert_int_equal(roost_cq_poll(a->end->cq, 1, &cqe),
				 i < 4 ? 1 : 0);
	}
	assert_memory_equal(in.data + GRH, data.data, 100);
	raw_assert_blank(in, GRH + 100);
	/* One that does not want to hear itself. */
	raw_recv(a, 10, raw_blank(sim, 200));
	raw_recv(q, 12, raw_blank(sim, 200));
	assert_int_equal(roost_mcast_detach(a2->qp, group), 0);
	send_to(q, ah, 0xffffff, QKEY, data);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(a->end->cq, 10, ROOST_WC_SUCCESS);
	raw_expect_nothing(a->end->cq);
	/* To a group, but not to its QPN. */
	raw_recv(b, 20, raw_blank(sim, 200));
	send_to(a, ah, b->qpn, QKEY, data);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect_nothing(b->end->cq);
	/* Attached twice is attached once, and not to be destroyed. */
	assert_int_equal(roost_qp_destroy(b->qp, NULL), -EBUSY);
	send_to(a, ah, 0xffffff, QKEY, data);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(b->end->cq, 20, ROOST_WC_SUCCESS);
	assert_int_equal(roost_mcast_detach(b->qp, group), 0);
	assert_int_equal(roost_mcast_detach(b->qp, group), -EINVAL);
	roost_mcast_detach_all(a->qp);
	roost_mcast_detach_all(b2->qp);
	roost_mcast_detach_all(q->qp);
	raw_recv(b, 20, raw_blank(sim, 200));
	send_to(a, ah, 0xffffff, QKEY, data);
	sim_run_for(sim, 10 * SIM_US);
	raw_expect_nothing(b->end->cq);
	assert_true(sim_counters(sim, SIM_B)->drops[ROOST_DROP_NOT_OURS] > 0);
	assert_int_equal(roost_ah_destroy(ah), 0);
	sim_free(sim);
}

static void ud__multicast(void **state)
{
	const uint8_t v4[4] = { 239, 1, 2, 3 };
	struct roost_gid group = roost_gid_from_v4(v4);

	multicast(&group);
	group = (struct roost_gid){ { 0xff, 0x0e, [15] = 9 } };
	multicast(&group);
}

static void ud__multicast_refused(void **state)
{
	const uint8_t v4[4] = { 239, 1, 2, 3 };
	struct roost_gid group = roost_gid_from_v4(v4);
	struct sim *sim = sim_new();
	struct sim_qp *a = raw_ud(sim, SIM_A, NULL);
	struct sim_qp *rc = sim_qp_new(sim, SIM_A, NULL);

	assert_int_equal(roost_mcast_attach(rc->qp, &group), -EINVAL);
	assert_int_equal(roost_mcast_attach(a->qp, &a->end->gid), -EINVAL);
	assert_int_equal(roost_mcast_detach(a->qp, &group), -EINVAL);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ud__grh_area),
	cmocka_unit_test(ud__qkey),
	cmocka_unit_test(ud__longer_than_the_receive),
	cmocka_unit_test(ud__longer_than_the_mtu),
	cmocka_unit_test(ud__several_peers),
	cmocka_unit_test(ud__handles_of_unsent_datagrams),
	cmocka_unit_test(ud__multicast),
	cmocka_unit_test(ud__multicast_refused),
};

SIM_MAIN("sim-ud", tests)
