/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What is wrong whatever the type of the QP, with every type and every call
 * that posts. The shim on the real engine.
 */

#include "post_world.h"

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
					  IBV_QPT_XRC_SEND };

/* With the ibv_wr_ calls, XRC too. */
static struct ibv_qp *create_ex(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = WRS,
			.max_recv_wr = WRS,
			.max_send_sge = SGES,
			.max_recv_sge = SGES,
		},
		.qp_type = type,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(c, &attr);

	assert_non_null(qp);
	return qp;
}

/* ---- what is wrong ------------------------------------------------------- */

static const struct {
	int num_sge;
	uint32_t lengths[SGES + 1];
	unsigned int flags;
} wrong[] = {
	{ SGES + 1, { 1, 1, 1 }, 0 },
	{ 2, { 1u << 31, 1 }, 0 },
	{ 1, { UINT32_MAX }, 0 },
	{ 1, { INLINE_MAX + 1 }, IBV_SEND_INLINE },
	{ 2, { INLINE_MAX, 1 }, IBV_SEND_INLINE },
	{ 1, { 1 }, IBV_SEND_IP_CSUM },
	{ 1, { 1 }, 1u << 20 },
};

static void fill_sges(size_t i)
{
	for (int k = 0; k <= SGES; k++)
		sges[k] = (struct ibv_sge){
			.addr = (uintptr_t)memory,
			.length = wrong[i].lengths[k],
		};
}

static void post_send__wrong_for_every_type(void **state)
{
	for (size_t t = 0; t < NB(types); t++) {
		struct ibv_qp *qp = ready(types[t]);

		for (size_t i = 0; i < NB(wrong); i++) {
			struct ibv_send_wr wr = good(types[t]), *bad = NULL;

			fill_sges(i);
			wr.sg_list = sges;
			wr.num_sge = wrong[i].num_sge;
			wr.send_flags = wrong[i].flags;
			errno = 0;
			assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
			assert_int_equal(errno, EINVAL);
			assert_ptr_equal(bad, &wr);
		}
		assert_int_equal(room(qp), WRS);
		ibv_destroy_qp(qp);
	}
}

static void post_send__full_queue_of_every_type(void **state)
{
	for (size_t t = 0; t < NB(types); t++) {
		struct ibv_qp *qp = ready(types[t]);
		struct ibv_send_wr wr[WRS + 2], *bad = NULL;

		for (int i = 0; i < WRS + 2; i++) {
			wr[i] = good(types[t]);
			wr[i].next = i + 1 < WRS + 2 ? &wr[i + 1] : NULL;
		}
		assert_int_equal(ibv_post_send(qp, wr, &bad), ENOMEM);
		assert_ptr_equal(bad, &wr[WRS]);
		/* What is wrong is told before there is no room for it. */
		wr[0].opcode = (enum ibv_wr_opcode)12;
		assert_int_equal(ibv_post_send(qp, wr, &bad), EINVAL);
		assert_ptr_equal(bad, wr);
		ibv_destroy_qp(qp);
	}
}

/* ---- ibv_wr_ ------------------------------------------------------------- */

static void begin_send(struct ibv_qp_ex *x)
{
	ibv_wr_send(x);
	if (x->qp_base.qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(x, ah, 1, 1);
	if (x->qp_base.qp_type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(x, 1);
}

/* A good one, then this, then a good one: none of them is posted. */
static int batch(struct ibv_qp_ex *x, size_t i)
{
	ibv_wr_start(x);
	begin_send(x);
	ibv_wr_set_sge(x, 0, 0, 0);
	x->wr_flags = wrong[i].flags & ~(unsigned int)IBV_SEND_INLINE;
	begin_send(x);
	x->wr_flags = 0;
	if (wrong[i].flags & IBV_SEND_INLINE) {
		struct ibv_data_buf bufs[SGES + 1];

		for (int k = 0; k < wrong[i].num_sge; k++)
			bufs[k] =
				(struct ibv_data_buf){ memory, sges[k].length };
		ibv_wr_set_inline_data_list(x, (size_t)wrong[i].num_sge, bufs);
	} else {
		ibv_wr_set_sge_list(x, (size_t)wrong[i].num_sge, sges);
	}
	begin_send(x);
	ibv_wr_set_sge(x, 0, 0, 0);
	errno = 0;
	return ibv_wr_complete(x);
}

static void wr__wrong_for_every_type(void **state)
{
	for (size_t t = 0; t < NB(types); t++) {
		struct ibv_qp *qp = create_ex(types[t]);

		raise_to(qp, IBV_QPS_RTS, 1);
		for (size_t i = 0; i < NB(wrong); i++) {
			fill_sges(i);
			assert_int_equal(batch(ibv_qp_to_qp_ex(qp), i), EINVAL);
			assert_int_equal(errno, EINVAL);
		}
		assert_int_equal(room(qp), WRS);
		ibv_destroy_qp(qp);
	}
}

/* Too many in one batch: none of them. */
static void wr__full_queue_of_every_type(void **state)
{
	for (size_t t = 0; t < NB(types); t++) {
		struct ibv_qp *qp = create_ex(types[t]);
		struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);

		raise_to(qp, IBV_QPS_RTS, 1);
		x->wr_flags = 0;
		ibv_wr_start(x);
		for (int i = 0; i <= WRS; i++) {
			begin_send(x);
			ibv_wr_set_sge(x, 0, 0, 0);
		}
		errno = 0;
		assert_int_equal(ibv_wr_complete(x), ENOMEM);
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(room(qp), WRS);
		ibv_destroy_qp(qp);
	}
}

static void wr__states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		int error;
	} rows[] = {
		{ IBV_QPS_RESET, EINVAL }, { IBV_QPS_INIT, EINVAL },
		{ IBV_QPS_RTR, EINVAL },   { IBV_QPS_RTS, 0 },
		{ IBV_QPS_SQD, 0 },        { IBV_QPS_ERR, 0 },
	};

	for (size_t t = 0; t < NB(types); t++) {
		for (size_t i = 0; i < NB(rows); i++) {
			struct ibv_qp *qp = create_ex(types[t]);
			struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);

			raise_to(qp, rows[i].state, 1);
			x->wr_flags = 0;
			ibv_wr_start(x);
			begin_send(x);
			ibv_wr_set_sge(x, 0, 0, 0);
			assert_int_equal(ibv_wr_complete(x), rows[i].error);
			ibv_destroy_qp(qp);
		}
	}
}

enum call {
	WRITE,
	WRITE_IMM,
	READ,
	CMP_SWP,
	FETCH_ADD,
	ATOMIC_WRITE,
	SEND_INV,
	LOCAL_INV,
	CALLS,
};

static void make(struct ibv_qp_ex *x, enum call call)
{
	switch (call) {
	case WRITE:
		ibv_wr_rdma_write(x, 0, 0);
		break;
	case WRITE_IMM:
		ibv_wr_rdma_write_imm(x, 0, 0, 0);
		break;
	case READ:
		ibv_wr_rdma_read(x, 0, 0);
		break;
	case CMP_SWP:
		ibv_wr_atomic_cmp_swp(x, 0, 0, 0, 0);
		break;
	case FETCH_ADD:
		ibv_wr_atomic_fetch_add(x, 0, 0, 0);
		break;
	case ATOMIC_WRITE:
		ibv_wr_atomic_write(x, 0, 0, memory);
		return;
	case SEND_INV:
		ibv_wr_send_inv(x, 0);
		break;
	case LOCAL_INV:
		ibv_wr_local_inv(x, 0);
		return;
	case CALLS:
		return;
	}
	ibv_wr_set_sge(x, 0, 0, 8);
}

/* The calls are there for every type; the type decides what they do. */
static void wr__call_for_the_type(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		bool takes[CALLS];
	} rows[] = {
		{ IBV_QPT_RC, { 1, 1, 1, 1, 1, 1, 1, 1 } },
		{ IBV_QPT_UC, { 1, 1, 0, 0, 0, 0, 0, 1 } },
		{ IBV_QPT_UD, { 0 } },
	};

	for (size_t t = 0; t < NB(rows); t++) {
		for (int call = 0; call < CALLS; call++) {
			struct ibv_qp *qp = create_ex(rows[t].type);
			struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);
			const bool good = rows[t].takes[call];

			raise_to(qp, IBV_QPS_RTS, 1);
			x->wr_flags = 0;
			ibv_wr_start(x);
			make(x, (enum call)call);
			if (rows[t].type == IBV_QPT_UD && call != LOCAL_INV)
				ibv_wr_set_ud_addr(x, ah, 1, 1);
			assert_int_equal(ibv_wr_complete(x), good ? 0 : EINVAL);
			assert_int_equal(room(qp), WRS - good);
			ibv_destroy_qp(qp);
		}
	}
}

/* ---- receives ------------------------------------------------------------ */

static void post_recv__states_of_every_type(void **state)
{
	static const enum ibv_qp_type with_queue[] = { IBV_QPT_RC, IBV_QPT_UC,
						       IBV_QPT_UD };
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
		IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR,
	};

	for (size_t t = 0; t < NB(with_queue); t++) {
		for (size_t i = 0; i < NB(states); i++) {
			struct ibv_qp *qp = create(with_queue[t], NULL);
			struct ibv_recv_wr wr = { 0 }, *bad = NULL;
			const bool good = states[i] != IBV_QPS_RESET;

			raise_to(qp, states[i], 1);
			errno = 0;
			assert_int_equal(ibv_post_recv(qp, &wr, &bad),
					 good ? 0 : EINVAL);
			assert_int_equal(errno, good ? 0 : EINVAL);
			assert_ptr_equal(bad, good ? NULL : &wr);
			ibv_destroy_qp(qp);
		}
	}
}

/* An SRQ of XRC, as any. */
static void post_srq_recv__xrc(void **state)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = WRS, .max_sge = SGES },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_srq *xrc = ibv_create_srq_ex(c, &attr);
	struct ibv_recv_wr wr[3] = { { .next = &wr[1] }, { .next = &wr[2] } };
	struct ibv_recv_wr *bad = NULL;
	int n = 1;

	assert_non_null(xrc);
	memset(sges, 0, sizeof(sges));
	wr[1].sg_list = sges;
	wr[1].num_sge = SGES + 1;
	assert_int_equal(ibv_post_srq_recv(xrc, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	while (ibv_post_srq_recv(xrc, &wr[2], &bad) == 0)
		n++;
	assert_int_equal(errno, ENOMEM);
	assert_ptr_equal(bad, &wr[2]);
	assert_int_equal(n, WRS);
	assert_int_equal(ibv_destroy_srq(xrc), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(post_send__wrong_for_every_type),
		TEST(post_send__full_queue_of_every_type),
		TEST(wr__wrong_for_every_type),
		TEST(wr__full_queue_of_every_type),
		TEST(wr__states),
		TEST(wr__call_for_the_type),
		TEST(post_recv__states_of_every_type),
		TEST(post_srq_recv__xrc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
