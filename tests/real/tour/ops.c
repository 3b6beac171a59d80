/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <arpa/inet.h>

#include "tests/real/tour/tour.h"

static void atomics__both_and_the_write(void **state)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	uint64_t *const word = (uint64_t *)tour.peer, *const found =
							      (uint64_t *)
								      tour.buf;
	const uint64_t value = 0x1122334455667788;
	struct ibv_qp_ex *x;
	struct tour_pair p;

	(void)state;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			      IBV_QP_EX_WITH_ATOMIC_WRITE;
	p = tour_pair_connected(attr);
	x = ibv_qp_to_qp_ex(p.a);
	*word = 40;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(x);
	ibv_wr_atomic_fetch_add(x, tour.mr->rkey, (uintptr_t)word, 2);
	ibv_wr_set_sge(x, tour.mr->lkey, (uintptr_t)&found[0], 8);
	ibv_wr_atomic_cmp_swp(x, tour.mr->rkey, (uintptr_t)word, 42, 7);
	ibv_wr_set_sge(x, tour.mr->lkey, (uintptr_t)&found[1], 8);
	ibv_wr_atomic_cmp_swp(x, tour.mr->rkey, (uintptr_t)word, 42, 8);
	ibv_wr_set_sge(x, tour.mr->lkey, (uintptr_t)&found[2], 8);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(tour_completion(tour.scq).opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(tour_completion(tour.scq).opcode, IBV_WC_COMP_SWAP);
	assert_int_equal(tour_completion(tour.scq).status, IBV_WC_SUCCESS);
	assert_int_equal(found[0], 40);
	assert_int_equal(found[1], 42);
	assert_int_equal(found[2], 7);
	assert_int_equal(*word, 7);
	ibv_wr_start(x);
	ibv_wr_atomic_write(x, tour.mr->rkey, (uintptr_t)word, &value);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(tour_completion(tour.scq).opcode, IBV_WC_ATOMIC_WRITE);
	assert_true(*word == value);
	tour_pair_part(p);
}

static void flush__what_the_region_allows(void **state)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct ibv_mr *r = ibv_reg_mr(tour.pd, tour.peer, 64,
				      TOUR_ALL_ACCESS | ACCESS_FLUSH_GLOBAL);
	struct qp_ex_45 *x;
	struct ibv_wc wc;
	struct tour_pair p;

	(void)state;
	assert_non_null(r);
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = QP_EX_WITH_FLUSH;
	p = tour_pair_connected(attr);
	x = (struct qp_ex_45 *)ibv_qp_to_qp_ex(p.a);
	x->ex.wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(&x->ex);
	x->wr_flush(&x->ex, r->rkey, (uintptr_t)tour.peer, 64, 1, 0);
	assert_int_equal(ibv_wr_complete(&x->ex), 0);
	wc = tour_completion(tour.scq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, WC_FLUSH);
	/* persistence is promised by nobody */
	ibv_wr_start(&x->ex);
	x->wr_flush(&x->ex, r->rkey, (uintptr_t)tour.peer, 64, 2, 0);
	assert_int_equal(ibv_wr_complete(&x->ex), 0);
	assert_int_equal(tour_completion(tour.scq).status,
			 IBV_WC_REM_ACCESS_ERR);
	{
		struct ibv_async_event e = tour_event(IBV_EVENT_QP_ACCESS_ERR);

		ibv_ack_async_event(&e);
	}
	tour_pair_part(p);
	ibv_dereg_mr(r);
	assert_null(
		ibv_reg_mr(tour.pd, tour.peer, 64, ACCESS_FLUSH_PERSISTENT));
}

static void read__many_at_a_time_and_a_fence(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_sge into[9];
	struct ibv_send_wr wr[9] = { 0 }, *bad;

	(void)state;
	for (int i = 0; i < TOUR_BUF_BYTES / 2; i++)
		tour.peer[i] = (uint8_t)(i * 7);
	/* eight READs, then a WRITE of what they brought */
	for (int i = 0; i < 8; i++) {
		into[i] = tour_sge(tour.buf + 3000 * i, 3000);
		wr[i].next = &wr[i + 1];
		wr[i].sg_list = &into[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_READ;
		wr[i].wr.rdma.remote_addr =
			(uintptr_t)tour.peer + 3000 * (unsigned)i;
		wr[i].wr.rdma.rkey = tour.mr->rkey;
	}
	into[8] = tour_sge(tour.buf, 3000);
	wr[8].sg_list = &into[8];
	wr[8].num_sge = 1;
	wr[8].opcode = IBV_WR_RDMA_WRITE;
	wr[8].send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	wr[8].wr.rdma.remote_addr = (uintptr_t)tour.peer + 27000;
	wr[8].wr.rdma.rkey = tour.mr->rkey;
	assert_int_equal(ibv_post_send(p.a, wr, &bad), 0);
	assert_int_equal(tour_completion(tour.scq).opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(tour.buf, tour.peer, 24000);
	assert_memory_equal(tour.peer + 27000, tour.peer, 3000);
	tour_pair_part(p);
}

static void send__inline_and_imm_on_uc(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_UC));
	char word[] = "inline";
	struct ibv_sge from = { (uintptr_t)word, 7, 0 },
		       into = tour_sge(tour.peer, 64);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.imm_data = htonl(77),
		.wr.rdma = { .remote_addr = (uintptr_t)tour.peer + 100,
			     .rkey = tour.mr->rkey },
	};
	struct ibv_wc wc;

	(void)state;
	tour_receive(p.b, &into);
	tour_post(p.a, &wr);
	memset(word, 'x', sizeof(word));
	assert_int_equal(tour_completion(tour.scq).status, IBV_WC_SUCCESS);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.imm_data, htonl(77));
	assert_int_equal(wc.byte_len, 7);
	assert_string_equal((char *)tour.peer + 100, "inline");
	tour_pair_part(p);
}

static void rate_limit__is_kept(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 10000 };
	struct ibv_sge from = tour_sge(tour.buf, 30000);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)tour.peer,
			     .rkey = tour.mr->rkey },
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int64_t begun, took, best = TOUR_TIMEOUT_NS;

	(void)state;
	assert_int_equal(ibv_modify_qp_rate_limit(p.a, &limit), 0);
	assert_int_equal(ibv_query_qp(p.a, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(attr.rate_limit, 10000);
	begun = tour_now_ns();
	for (int i = 0; i < 4; i++)
		assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	took = tour_now_ns() - begun;
	/* 120 KB and headers at 10 Mb/s: a tenth of a second */
	assert_true(took > 90000000);
	assert_true(took < 2000000000);
	limit.rate_limit = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(p.a, &limit), 0);
	for (int i = 0; i < 10; i++) {
		begun = tour_now_ns();
		assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
		took = tour_now_ns() - begun;
		best = took < best ? took : best;
	}
	assert_true(best < 20000000);
	tour_pair_part(p);
}

static void sqd__drained_is_told(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1,
	};
	struct ibv_async_event e;

	(void)state;
	assert_int_equal(ibv_modify_qp(p.a, &attr,
				       IBV_QP_STATE |
					       IBV_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	e = tour_event(IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(e.element.qp, p.a);
	ibv_ack_async_event(&e);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(p.a, &attr, IBV_QP_STATE), 0);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, tour.mr->rkey),
			 IBV_WC_SUCCESS);
	tour_pair_part(p);
}

const struct CMUnitTest tour_ops[] = {
	TOUR_TEST(atomics__both_and_the_write),
	TOUR_TEST(flush__what_the_region_allows),
	TOUR_TEST(read__many_at_a_time_and_a_fence),
	TOUR_TEST(send__inline_and_imm_on_uc),
	TOUR_TEST(rate_limit__is_kept),
	TOUR_TEST(sqd__drained_is_told),
	{ 0 },
};
