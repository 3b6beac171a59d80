/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

static void qp__queues_of_its_own(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);

	fake_give_qp(id);
	assert_non_null(id->qp);
	assert_non_null(id->send_cq);
	assert_non_null(id->recv_cq);
	assert_ptr_not_equal(id->send_cq, id->recv_cq);
	assert_ptr_equal(id->send_cq->channel, id->send_cq_channel);
	assert_ptr_equal(id->recv_cq->cq_context, id);
	assert_ptr_equal(id->qp->pd, id->pd);
	assert_int_equal(id->qp->state, IBV_QPS_INIT);
	assert_int_equal(fake.modifies[0].mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS);
	rdma_destroy_qp(id);
	assert_null(id->qp);
	assert_null(id->send_cq);
	assert_null(id->recv_cq_channel);
	assert_int_equal(fake.nb_cqs, 0);
	assert_ok(rdma_destroy_id(id));
}

static void qp__queues_of_the_program(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 1, NULL, NULL, 0);
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
	};

	assert_ok(rdma_create_qp(id, pd, &attr));
	assert_null(id->send_cq);
	assert_ptr_equal(id->qp->send_cq, cq);
	assert_ptr_equal(id->pd, pd);
	assert_fails(rdma_create_qp(id, pd, &attr), EINVAL);
	rdma_destroy_qp(id);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	assert_ok(rdma_destroy_id(id));
}

static void qp__of_another_device(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP),
			  *unbound;
	struct ibv_context other = { .device = NULL };
	struct ibv_pd *pd = ibv_alloc_pd(&other);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	assert_fails(rdma_create_qp(id, pd, &attr), EINVAL);
	ibv_dealloc_pd(pd);
	assert_ok(rdma_destroy_id(id));
	assert_ok(rdma_create_id(fake_channel, &unbound, NULL, RDMA_PS_TCP));
	assert_fails(rdma_create_qp(unbound, NULL, &attr), EINVAL);
	assert_ok(rdma_destroy_id(unbound));
}

static void qp__failure_leaves_nothing(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};

	fake.modify_error = EINVAL;
	fake.modify_error_state = IBV_QPS_INIT;
	assert_fails(rdma_create_qp(id, NULL, &attr), EINVAL);
	assert_null(id->qp);
	assert_int_equal(fake.nb_qps, 0);
	assert_int_equal(fake.nb_cqs, 0);
	assert_ok(rdma_destroy_id(id));
}

static void srq__is_the_qps(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 } };

	assert_ok(rdma_create_srq(id, NULL, &attr));
	assert_int_equal(fake.nb_srqs, 1);
	fake_give_qp(id);
	assert_ptr_equal(id->qp->srq, id->srq);
	rdma_destroy_ep(id);
	assert_int_equal(fake.nb_srqs, 0);
}

static void attr__before_there_is_a_connection(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP),
			  *unbound;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	assert_ok(rdma_init_qp_attr(id, &attr, &mask));
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS);
	assert_int_equal(attr.port_num, 1);
	attr.qp_state = (enum ibv_qp_state)99;
	assert_fails(rdma_init_qp_attr(id, &attr, &mask), EINVAL);
	assert_ok(rdma_destroy_id(id));
	assert_ok(rdma_create_id(fake_channel, &unbound, NULL, RDMA_PS_TCP));
	assert_fails(rdma_init_qp_attr(unbound, &attr, &mask), EINVAL);
	assert_ok(rdma_destroy_id(unbound));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_CHANNEL_TEST(qp__queues_of_its_own),
		FAKE_CHANNEL_TEST(qp__queues_of_the_program),
		FAKE_CHANNEL_TEST(qp__of_another_device),
		FAKE_CHANNEL_TEST(qp__failure_leaves_nothing),
		FAKE_CHANNEL_TEST(srq__is_the_qps),
		FAKE_CHANNEL_TEST(attr__before_there_is_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
