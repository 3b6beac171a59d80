/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * ibv_post_send() with each field wrong: the errno value, *bad_wr, and nothing
 * posted but what stood before it. The shim on the real engine.
 */

#include "post_world.h"

/* good, bad, good: the first is posted, and no more. */
static void refused(enum ibv_qp_type type, const struct ibv_send_wr *wrong,
		    int error)
{
	struct ibv_qp *qp = ready(type);
	struct ibv_send_wr wr[3], *bad = NULL;

	wr[1] = *wrong;
	wr[0] = wr[2] = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	if (type == IBV_QPT_UD)
		wr[0].wr.ud.ah = wr[2].wr.ud.ah = ah;
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	errno = 0;
	assert_int_equal(ibv_post_send(qp, wr, &bad), error);
	assert_int_equal(errno, error);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(room(qp), WRS - 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void taken(enum ibv_qp_type type, struct ibv_send_wr *wr)
{
	struct ibv_qp *qp = ready(type);
	struct ibv_send_wr *bad = NULL;

	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(room(qp), WRS - 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* 1 for the types that an opcode is for, in the order of verbs.h's page on
 * ibv_post_send; but UC has no SEND_WITH_INV on the wire.
 */
static void post_send__opcode_for_the_type(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UD, IBV_QPT_UC,
						  IBV_QPT_RC,
						  IBV_QPT_XRC_SEND };
	static const struct {
		int opcode;
		bool of[4];
		int error; /* for the others */
	} rows[] = {
		{ IBV_WR_SEND, { 1, 1, 1, 1 }, EINVAL },
		{ IBV_WR_SEND_WITH_IMM, { 1, 1, 1, 1 }, EINVAL },
		{ IBV_WR_RDMA_WRITE, { 0, 1, 1, 1 }, EINVAL },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, { 0, 1, 1, 1 }, EINVAL },
		{ IBV_WR_RDMA_READ, { 0, 0, 1, 1 }, EINVAL },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, { 0, 0, 1, 1 }, EINVAL },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, { 0, 0, 1, 1 }, EINVAL },
		{ IBV_WR_LOCAL_INV, { 0, 1, 1, 1 }, EINVAL },
		{ IBV_WR_BIND_MW, { 0, 1, 1, 1 }, EINVAL },
		{ IBV_WR_SEND_WITH_INV, { 0, 0, 1, 1 }, EINVAL },
		{ IBV_WR_ATOMIC_WRITE, { 0, 0, 1, 0 }, EINVAL },
		{ IBV_WR_TSO, { 0, 0, 0, 0 }, EINVAL },
		{ IBV_WR_DRIVER1, { 0, 0, 0, 0 }, EOPNOTSUPP },
		{ 12, { 0, 0, 0, 0 }, EINVAL },
		{ 14, { 0, 0, 0, 0 }, EINVAL },
		{ 16, { 0, 0, 0, 0 }, EINVAL },
		{ -1, { 0, 0, 0, 0 }, EINVAL },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		for (size_t t = 0; t < NB(types); t++) {
			struct ibv_send_wr wr = good(types[t]);

			wr.opcode = (enum ibv_wr_opcode)rows[i].opcode;
			sges[0].length = 8;
			wr.sg_list = sges;
			wr.num_sge = 1;
			if (rows[i].opcode == IBV_WR_BIND_MW)
				wr.bind_mw.mw = mw2;
			if (rows[i].of[t])
				taken(types[t], &wr);
			else
				refused(types[t], &wr, rows[i].error);
		}
	}
}

static void post_send__each_field_wrong(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		int opcode;
		unsigned int flags;
		int num_sge;
		uint32_t lengths[SGES + 1];
	} rows[] = {
		/* lists: longer than the queue's, and not at all a number */
		{ IBV_QPT_RC, IBV_WR_SEND, 0, SGES + 1, { 1, 1, 1 } },
		{ IBV_QPT_UC, IBV_WR_RDMA_WRITE, 0, SGES + 1, { 1, 1, 1 } },
		{ IBV_QPT_UD, IBV_WR_SEND, 0, SGES + 1, { 1, 1, 1 } },
		{ IBV_QPT_RC, IBV_WR_SEND, 0, -1, { 0 } },
		/* longer than any message */
		{ IBV_QPT_RC, IBV_WR_SEND, 0, 2, { 1u << 31, 1 } },
		{ IBV_QPT_RC, IBV_WR_RDMA_READ, 0, 2, { 1u << 31, 1u << 31 } },
		{ IBV_QPT_RC, IBV_WR_SEND, 0, 1, { UINT32_MAX } },
		/* inline: too long, and where there is nothing to send */
		{ IBV_QPT_RC,
		  IBV_WR_SEND,
		  IBV_SEND_INLINE,
		  1,
		  { INLINE_MAX + 1 } },
		{ IBV_QPT_RC,
		  IBV_WR_RDMA_WRITE,
		  IBV_SEND_INLINE,
		  2,
		  { INLINE_MAX, 1 } },
		{ IBV_QPT_UD,
		  IBV_WR_SEND,
		  IBV_SEND_INLINE,
		  1,
		  { INLINE_MAX + 1 } },
		{ IBV_QPT_RC, IBV_WR_RDMA_READ, IBV_SEND_INLINE, 1, { 8 } },
		{ IBV_QPT_RC,
		  IBV_WR_ATOMIC_CMP_AND_SWP,
		  IBV_SEND_INLINE,
		  1,
		  { 8 } },
		{ IBV_QPT_RC,
		  IBV_WR_ATOMIC_FETCH_AND_ADD,
		  IBV_SEND_INLINE,
		  1,
		  { 8 } },
		/* atomics have eight bytes */
		{ IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 1, { 4 } },
		{ IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, { 0 } },
		{ IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 2, { 8, 8 } },
		{ IBV_QPT_RC, IBV_WR_ATOMIC_WRITE, 0, 1, { 16 } },
		/* flags */
		{ IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_IP_CSUM, 0, { 0 } },
		{ IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_IP_CSUM, 0, { 0 } },
		{ IBV_QPT_RC, IBV_WR_SEND, 1u << 20, 0, { 0 } },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_send_wr wr = good(rows[i].type);

		wr.opcode = (enum ibv_wr_opcode)rows[i].opcode;
		wr.send_flags = rows[i].flags;
		wr.sg_list = sges;
		wr.num_sge = rows[i].num_sge;
		for (int k = 0; k <= SGES; k++)
			sges[k] = (struct ibv_sge){
				.addr = (uintptr_t)memory,
				.length = rows[i].lengths[k],
			};
		refused(rows[i].type, &wr, EINVAL);
	}
}

/* Just right, each of them. */
static void post_send__limits_are_allowed(void **state)
{
	struct ibv_send_wr wr = good(IBV_QPT_RC);

	wr.sg_list = sges;
	wr.num_sge = SGES;
	sges[0].length = 1u << 31;
	taken(IBV_QPT_RC, &wr);
	sges[0] = (struct ibv_sge){ (uintptr_t)memory, INLINE_MAX, 0 };
	wr.send_flags = IBV_SEND_INLINE;
	wr.num_sge = 1;
	taken(IBV_QPT_RC, &wr);
	/* keys are looked at when the request is executed */
	sges[0].lkey = 0xbad;
	wr.send_flags = 0;
	taken(IBV_QPT_RC, &wr);
}

static void post_send__datagrams(void **state)
{
	struct ibv_send_wr wr = good(IBV_QPT_UD);

	wr.wr.ud.remote_qpn = 0xffffff;
	taken(IBV_QPT_UD, &wr);
	wr.wr.ud.remote_qpn = 0x1000000;
	refused(IBV_QPT_UD, &wr, EINVAL);
	wr = good(IBV_QPT_UD);
	wr.wr.ud.ah = NULL;
	refused(IBV_QPT_UD, &wr, EINVAL);
}

static void post_send__windows(void **state)
{
	struct ibv_send_wr wr = good(IBV_QPT_RC);

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = NULL;
	refused(IBV_QPT_RC, &wr, EINVAL);
	wr.bind_mw.mw = mw1;
	refused(IBV_QPT_RC, &wr, EINVAL);
	wr.bind_mw.mw = mw2;
	wr.bind_mw.bind_info.mw_access_flags = 1 << 12;
	refused(IBV_QPT_RC, &wr, EINVAL);
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	wr.bind_mw.bind_info.mr = mr;
	taken(IBV_QPT_RC, &wr);
}

/* A QP that agreed on none at a time. */
static void post_send__no_reads_without_rd_atomic(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_WRITE,
	};
	struct ibv_qp *qp = create(IBV_QPT_RC, NULL);
	struct ibv_send_wr wr = good(IBV_QPT_RC), *bad = NULL;

	raise_to(qp, IBV_QPS_RTS, 0);
	sges[0].length = 8;
	wr.sg_list = sges;
	wr.num_sge = 1;
	for (size_t i = 0; i < NB(opcodes); i++) {
		bad = NULL;
		wr.opcode = opcodes[i];
		assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr);
	}
	assert_int_equal(room(qp), WRS);
	ibv_destroy_qp(qp);
}

static void post_send__states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		int error;
	} rows[] = {
		{ IBV_QPS_RESET, EINVAL }, { IBV_QPS_INIT, EINVAL },
		{ IBV_QPS_RTR, EINVAL },   { IBV_QPS_RTS, 0 },
		{ IBV_QPS_SQD, 0 },        { IBV_QPS_ERR, 0 },
	};

	for (size_t t = 0; t < NB(ways); t++) {
		for (size_t i = 0; i < NB(rows); i++) {
			struct ibv_qp *qp = create(ways[t].type, NULL);
			struct ibv_send_wr wr = good(ways[t].type);
			struct ibv_send_wr *bad = NULL;
			/* a target sends nothing, ever */
			const int error = ways[t].type == IBV_QPT_XRC_RECV
						  ? EINVAL
						  : rows[i].error;

			raise_to(qp, rows[i].state, 1);
			assert_int_equal(ibv_post_send(qp, &wr, &bad), error);
			assert_ptr_equal(bad, error ? &wr : NULL);
			ibv_destroy_qp(qp);
		}
	}
}

static void post_send__full_queue(void **state)
{
	struct ibv_qp *qp = ready(IBV_QPT_RC);
	struct ibv_send_wr wr[WRS + 2], *bad = NULL;

	for (int i = 0; i < WRS + 2; i++) {
		wr[i] = good(IBV_QPT_RC);
		wr[i].next = i + 1 < WRS + 2 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(ibv_post_send(qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[WRS]);
	bad = NULL;
	assert_int_equal(ibv_post_send(qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, wr);
	ibv_destroy_qp(qp);
}

/* A QP in ERR takes requests, and flushes them. */
static void post_send__flushed(void **state)
{
	struct ibv_qp *qp = create(IBV_QPT_RC, NULL);
	struct ibv_send_wr wr = good(IBV_QPT_RC), *bad;
	struct ibv_wc wc;

	raise_to(qp, IBV_QPS_ERR, 0);
	wr.wr_id = 7;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	real_engine_turn();
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	ibv_destroy_qp(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(post_send__opcode_for_the_type),
		TEST(post_send__each_field_wrong),
		TEST(post_send__limits_are_allowed),
		TEST(post_send__datagrams),
		TEST(post_send__windows),
		TEST(post_send__no_reads_without_rd_atomic),
		TEST(post_send__states),
		TEST(post_send__full_queue),
		TEST(post_send__flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
