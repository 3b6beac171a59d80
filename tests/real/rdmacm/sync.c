/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
/* Synchronous mode, and the inline functions of rdma_verbs.h. */

#include "ends.h"

#include <pthread.h>

static struct rdma_addrinfo *info(int flags, const char *node)
{
	const struct rdma_addrinfo hints = { .ai_flags =
						     flags | RAI_NUMERICHOST,
					     .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res;

	assert_ok(rdma_getaddrinfo(node, "7471", &hints, &res));
	return res;
}

static const struct ibv_qp_init_attr attr = {
	.cap = { .max_send_wr = 2,
		 .max_recv_wr = 2,
		 .max_send_sge = 1,
		 .max_recv_sge = 1 },
	.sq_sig_all = 1,
};

/* Sends back what it gets, once. */
static void *serve(void *arg)
{
	struct rdma_cm_id *listener = arg, *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char text[16];

	assert_ok(rdma_get_request(listener, &id));
	mr = rdma_reg_msgs(id, text, sizeof(text));
	assert_non_null(mr);
	assert_ok(rdma_post_recv(id, NULL, text, sizeof(text), mr));
	assert_ok(rdma_accept(id, NULL));
	assert_int_equal(rdma_get_recv_comp(id, &wc), 1);
	assert_ok(rdma_post_send(id, NULL, text, wc.byte_len, mr, 0));
	assert_int_equal(rdma_get_send_comp(id, &wc), 1);
	assert_ok(rdma_disconnect(id));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_DISCONNECTED);
	assert_ok(rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	return NULL;
}

static void sync__end_points(void **state)
{
	struct rdma_addrinfo *here = info(RAI_PASSIVE, "198.18.0.1");
	struct rdma_addrinfo *there = info(0, "198.18.0.1");
	struct ibv_qp_init_attr wanted = attr;
	struct rdma_cm_id *listener, *id;
	char text[16] = "synchronously";
	pthread_t thread;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	(void)state;
	assert_ok(rdma_create_ep(&listener, here, NULL, &wanted));
	assert_ok(rdma_listen(listener, 0));
	assert_ok(pthread_create(&thread, NULL, serve, listener));
	wanted = attr;
	assert_ok(rdma_create_ep(&id, there, NULL, &wanted));
	mr = rdma_reg_msgs(id, text, sizeof(text));
	assert_non_null(mr);
	assert_ok(rdma_post_recv(id, NULL, text, sizeof(text), mr));
	assert_ok(rdma_connect(id, NULL));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_ok(rdma_post_send(id, NULL, text, 14, mr, IBV_SEND_SIGNALED));
	assert_int_equal(rdma_get_send_comp(id, &wc), 1);
	assert_int_equal(rdma_get_recv_comp(id, &wc), 1);
	assert_int_equal(wc.byte_len, 14);
	assert_string_equal(text, "synchronously");
	assert_ok(rdma_disconnect(id));
	pthread_join(thread, NULL);
	assert_ok(rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	rdma_freeaddrinfo(here);
	rdma_freeaddrinfo(there);
}

static void sync__failures_are_errno(void **state)
{
	struct rdma_addrinfo *there = info(0, "198.18.0.1");
	struct sockaddr_storage dead = addr_of("198.18.0.99", 1);
	struct ibv_qp_init_attr wanted = attr;
	struct rdma_cm_id *id;

	(void)state;
	assert_ok(rdma_create_ep(&id, there, NULL, &wanted));
	assert_fails(rdma_connect(id, NULL), ECONNREFUSED);
	assert_int_equal(id->event->status, 8);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(there);
	assert_ok(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	assert_fails(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dead, 300),
		     ETIMEDOUT);
	assert_ok(rdma_destroy_id(id));
}

int sync_run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sync__end_points),
		cmocka_unit_test(sync__failures_are_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
