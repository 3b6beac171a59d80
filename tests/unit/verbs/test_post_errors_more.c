/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The other calls that post, with each field wrong: the ibv_wr_ calls,
 * ibv_bind_mw(), and receives. The shim on the real engine.
 */

#include "post_world.h"

/* ---- the same through ibv_wr_ -------------------------------------------- */

/* What is wrong with the second of two requests. */
enum mistake {
	TOO_MANY_SGES,
	TOO_LONG,
	INLINE_TOO_LONG,
	INLINE_READ,
	BAD_FLAG,
	ATOMIC_LENGTH,
	NO_WINDOW,
	UD_ADDRESS,
	MISTAKES,
};

static void make(struct ibv_qp_ex *x, enum mistake mistake)
{
	const struct ibv_sge list[SGES + 1] = { { 0 } };
	struct ibv_mw_bind_info info = { 0 };

	switch (mistake) {
	case TOO_MANY_SGES:
		ibv_wr_send(x);
		ibv_wr_set_sge_list(x, NB(list), list);
		break;
	case TOO_LONG:
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 0, 0, UINT32_MAX);
		break;
	case INLINE_TOO_LONG:
		ibv_wr_send(x);
		ibv_wr_set_inline_data(x, memory, INLINE_MAX + 1);
		break;
	case INLINE_READ:
		ibv_wr_rdma_read(x, 0, 0);
		ibv_wr_set_inline_data(x, memory, 8);
		break;
	case BAD_FLAG:
		x->wr_flags = IBV_SEND_IP_CSUM;
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 0, 0, 0);
		x->wr_flags = 0;
		break;
	case ATOMIC_LENGTH:
		ibv_wr_atomic_fetch_add(x, 0, 0, 1);
		ibv_wr_set_sge(x, 0, 0, 4);
		break;
	case NO_WINDOW:
		ibv_wr_bind_mw(x, NULL, 0, &info);
		break;
	case UD_ADDRESS:
		ibv_wr_send(x);
		ibv_wr_set_ud_addr(x, ah, 0, 0);
		ibv_wr_set_sge(x, 0, 0, 0);
		break;
	case MISTAKES:
		break;
	}
}

static void wr__each_field_wrong_posts_nothing(void **state)
{
	struct ibv_qp *qp = ready(IBV_QPT_RC);
	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);

	x->wr_flags = 0;
	for (int i = 0; i < MISTAKES; i++) {
		ibv_wr_start(x);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 0, 0, 0);
		make(x, (enum mistake)i);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 0, 0, 0);
		errno = 0;
		assert_int_equal(ibv_wr_complete(x), EINVAL);
		assert_int_equal(errno, EINVAL);
	}
	/* full */
	ibv_wr_start(x);
	for (int i = 0; i <= WRS; i++) {
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 0, 0, 0);
	}
	assert_int_equal(ibv_wr_complete(x), ENOMEM);
	assert_int_equal(room(qp), WRS);
	ibv_destroy_qp(qp);
}

/* A datagram that is given up lets go of its address. */
static void wr_abort__posts_nothing(void **state)
{
	struct ibv_qp *qp = ready(IBV_QPT_UD);
	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);

	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_ud_addr(x, ah, 1, 1);
	ibv_wr_set_sge(x, 0, 0, 0);
	ibv_wr_abort(x);
	assert_int_equal(room(qp), WRS);
	ibv_destroy_qp(qp);
}

static void bind_mw__errors(void **state)
{
	struct ibv_mw_bind bind = { .bind_info = { .mr = mr, .length = 8 } };
	struct ibv_qp *qp = ready(IBV_QPT_UD);
	uint32_t rkey = mw1->rkey;

	bind.bind_info.addr = (uintptr_t)memory;
	errno = 0;
	assert_int_equal(ibv_bind_mw(qp, mw1, &bind), EINVAL);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(room(qp), WRS);
	ibv_destroy_qp(qp);
	qp = ready(IBV_QPT_RC);
	assert_int_equal(room(qp), WRS);
	assert_int_equal(ibv_bind_mw(qp, mw1, &bind), ENOMEM);
	assert_int_equal(mw1->rkey, rkey);
	ibv_destroy_qp(qp);
}

/* ---- receives --------------------------------------------------------------
 */

static int post_qp(void *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_recv(to, wr, bad);
}

static int post_srq(void *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_srq_recv(to, wr, bad);
}

static void receives(void *to, int (*post)(void *to, struct ibv_recv_wr *wr,
					   struct ibv_recv_wr **bad))
{
	static const struct {
		int num_sge;
		uint32_t lengths[SGES + 1];
	} rows[] = {
		{ SGES + 1, { 1, 1, 1 } },
		{ -1, { 0 } },
		{ 2, { 1u << 31, 1 } },
	};
	struct ibv_recv_wr *bad;
	int n = 0;

	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_recv_wr wr[3] = {
			{ .next = &wr[1] },
			{ .next = &wr[2],
			  .sg_list = sges,
			  .num_sge = rows[i].num_sge },
		};

		memset(sges, 0, sizeof(sges));
		for (int k = 0; k <= SGES; k++)
			sges[k].length = rows[i].lengths[k];
		bad = NULL;
		errno = 0;
		assert_int_equal(post(to, wr, &bad), EINVAL);
		assert_int_equal(errno, EINVAL);
		assert_ptr_equal(bad, &wr[1]);
		n++; /* the one before it */
	}
	for (;; n++) {
		struct ibv_recv_wr wr = { 0 };

		bad = NULL;
		errno = 0;
		if (post(to, &wr, &bad)) {
			assert_int_equal(errno, ENOMEM);
			assert_ptr_equal(bad, &wr);
			break;
		}
		assert_null(bad);
	}
	assert_int_equal(n, WRS);
}

static void post_recv__each_field_wrong(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };

	for (size_t i = 0; i < NB(types); i++) {
		struct ibv_qp *qp = create(types[i], NULL);

		raise_to(qp, IBV_QPS_INIT, 0);
		receives(qp, post_qp);
		ibv_destroy_qp(qp);
	}
}

static void post_srq_recv__each_field_wrong(void **state)
{
	receives(srq, post_srq);
}

static void post_recv__states(void **state)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
		IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR,
	};

	for (size_t i = 0; i < NB(states); i++) {
		struct ibv_qp *qp = create(IBV_QPT_RC, NULL);
		struct ibv_recv_wr wr = { 0 }, *bad = NULL;
		const int error = states[i] == IBV_QPS_RESET ? EINVAL : 0;

		raise_to(qp, states[i], 1);
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), error);
		assert_ptr_equal(bad, error ? &wr : NULL);
		ibv_destroy_qp(qp);
	}
}

/* No receive queue of their own. */
static void post_recv__not_to_xrc_and_not_beside_an_srq(void **state)
{
	struct ibv_qp *qps[] = {
		create(IBV_QPT_RC, srq),
		create(IBV_QPT_UD, srq),
		create(IBV_QPT_XRC_SEND, NULL),
		create(IBV_QPT_XRC_RECV, NULL),
	};

	for (size_t i = 0; i < NB(qps); i++) {
		struct ibv_recv_wr wr = { 0 }, *bad = NULL;

		raise_to(qps[i], IBV_QPS_INIT, 0);
		errno = 0;
		assert_int_equal(ibv_post_recv(qps[i], &wr, &bad), EINVAL);
		assert_int_equal(errno, EINVAL);
		assert_ptr_equal(bad, &wr);
		ibv_destroy_qp(qps[i]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wr__each_field_wrong_posts_nothing),
		TEST(wr_abort__posts_nothing),
		TEST(bind_mw__errors),
		TEST(post_recv__each_field_wrong),
		TEST(post_srq_recv__each_field_wrong),
		TEST(post_recv__states),
		TEST(post_recv__not_to_xrc_and_not_beside_an_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
