/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
/* What events say: statuses and private data as the Linux kernel gives them. */

#include "ends.h"

#include <unistd.h>

static const char v4[] = "198.18.0.1", v6[] = "fd00::1";

static void assert_data(const void *data, uint8_t len, const char *text,
			uint8_t wanted_len)
{
	uint8_t wanted[256] = { 0 };

	assert_int_equal(len, wanted_len);
	strcpy((char *)wanted, text);
	assert_memory_equal(data, wanted, wanted_len);
}

static void connection__from_end_to_end(const char *ip)
{
	struct rdma_conn_param param = { .private_data = "welcome",
					 .private_data_len = 8,
					 .responder_resources = 4,
					 .initiator_depth = 2 };
	struct rdma_conn_param *conn;
	struct ends e;

	ends_listen(&e, ip, RDMA_PS_TCP);
	ends_request(&e, "hello");
	conn = &e.event->param.conn;
	assert_ptr_equal(e.event->listen_id, e.listener);
	assert_data(conn->private_data, conn->private_data_len, "hello", 56);
	assert_int_equal(conn->responder_resources, 5);
	assert_int_equal(conn->initiator_depth, 3);
	assert_int_equal(conn->retry_count, 7);
	assert_int_equal(conn->qp_num, e.client->qp->qp_num);
	assert_ok(rdma_ack_cm_event(e.event));
	assert_int_equal(rdma_get_dst_port(e.server),
			 rdma_get_src_port(e.client));
	assert_int_equal(ntohs(rdma_get_src_port(e.server)), PORT);
	assert_ptr_equal(e.server->verbs, e.client->verbs);

	assert_int_equal(state_of(e.client->qp), IBV_QPS_INIT);
	assert_ok(rdma_accept(e.server, &param));
	assert_int_equal(state_of(e.server->qp), IBV_QPS_RTS);
	e.event = expect_kept(e.active, RDMA_CM_EVENT_ESTABLISHED);
	conn = &e.event->param.conn;
	assert_data(conn->private_data, conn->private_data_len, "welcome", 196);
	assert_int_equal(conn->responder_resources, 2);
	assert_int_equal(conn->initiator_depth, 4);
	assert_int_equal(conn->qp_num, e.server->qp->qp_num);
	assert_ok(rdma_ack_cm_event(e.event));
	assert_int_equal(state_of(e.client->qp), IBV_QPS_RTS);
	expect(e.passive, RDMA_CM_EVENT_ESTABLISHED, 0);

	assert_ok(rdma_disconnect(e.client));
	assert_int_equal(state_of(e.client->qp), IBV_QPS_ERR);
	expect(e.passive, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(state_of(e.server->qp), IBV_QPS_RTS);
	assert_false(readable(e.active, 20));
	assert_ok(rdma_disconnect(e.server));
	expect(e.active, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(e.active, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	expect(e.passive, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	ends_close(&e);
}

static void connection__v4(void **state)
{
	(void)state;
	connection__from_end_to_end(v4);
}

static void connection__v6(void **state)
{
	(void)state;
	connection__from_end_to_end(v6);
}

static void reject__statuses(void **state)
{
	struct rdma_conn_param *conn;
	struct ends e;

	(void)state;
	ends_listen(&e, v4, RDMA_PS_TCP);
	ends_request(&e, NULL);
	assert_ok(rdma_reject(e.server, "no", 3));
	assert_ok(rdma_ack_cm_event(e.event));
	e.event = expect_kept(e.active, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(e.event->status, 28);
	conn = &e.event->param.conn;
	assert_data(conn->private_data, conn->private_data_len, "no", 148);
	assert_ok(rdma_ack_cm_event(e.event));
	assert_int_equal(state_of(e.client->qp), IBV_QPS_ERR);
	rdma_destroy_ep(e.client);
	rdma_destroy_ep(e.server);

	ends_request(&e, NULL);
	assert_ok(rdma_reject_ece(e.server, NULL, 0));
	assert_ok(rdma_ack_cm_event(e.event));
	expect(e.active, RDMA_CM_EVENT_REJECTED, 35);
	rdma_destroy_ep(e.client);
	rdma_destroy_ep(e.server);
	e.server = NULL;

	assert_ok(rdma_destroy_id(e.listener));
	e.listener = NULL;
	ends_resolve(&e, true);
	assert_ok(rdma_connect(e.client, NULL));
	expect(e.active, RDMA_CM_EVENT_REJECTED, 8);
	ends_close(&e);
}

static void request__one_byte_too_many(void **state)
{
	uint8_t bytes[256] = { 0 };
	struct rdma_conn_param param = { .private_data = bytes,
					 .private_data_len = 57 };
	struct ends e;

	(void)state;
	ends_listen(&e, v4, RDMA_PS_TCP);
	ends_resolve(&e, true);
	assert_fails(rdma_connect(e.client, &param), EINVAL);
	param.private_data_len = 56;
	assert_ok(rdma_connect(e.client, &param));
	e.event = expect_kept(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = e.event->id;
	assert_ok(rdma_ack_cm_event(e.event));
	assert_fails(rdma_reject(e.server, bytes, 149), EINVAL);
	assert_ok(rdma_reject(e.server, bytes, 148));
	expect(e.active, RDMA_CM_EVENT_REJECTED, 28);
	ends_close(&e);
}

/* Its sender has gone: accepting it is too late. */
static void request__sender_is_gone(void **state)
{
	struct ends e;

	(void)state;
	ends_listen(&e, v4, RDMA_PS_TCP);
	ends_request(&e, NULL);
	assert_ok(rdma_ack_cm_event(e.event));
	rdma_destroy_ep(e.client);
	e.client = NULL;
	usleep(100000);
	assert_false(readable(e.passive, 0));
	assert_fails(rdma_accept(e.server, NULL), EINVAL);
	ends_close(&e);
}

static void service__found_refused_and_missing(void **state)
{
	struct rdma_conn_param param = { .private_data = "who",
					 .private_data_len = 4 };
	struct rdma_ud_param *ud;
	struct ends e;

	(void)state;
	ends_listen(&e, v4, RDMA_PS_UDP);
	ends_resolve(&e, true);
	assert_int_equal(state_of(e.client->qp), IBV_QPS_RTS);
	assert_ok(rdma_connect(e.client, &param));
	e.event = expect_kept(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	ud = &e.event->param.ud;
	assert_data(ud->private_data, ud->private_data_len, "who", 180);
	e.server = e.event->id;
	assert_ok(rdma_ack_cm_event(e.event));
	give_qp(e.server);
	param.private_data = "me";
	param.private_data_len = 3;
	assert_ok(rdma_accept(e.server, &param));
	e.event = expect_kept(e.active, RDMA_CM_EVENT_ESTABLISHED);
	ud = &e.event->param.ud;
	assert_data(ud->private_data, ud->private_data_len, "me", 136);
	assert_int_equal(ud->qp_num, e.server->qp->qp_num);
	assert_int_equal(ud->qkey, RDMA_UDP_QKEY);
	assert_int_equal(ud->ah_attr.is_global, 1);
	assert_int_equal(ud->ah_attr.grh.dgid.raw[15], 1);
	assert_ok(rdma_ack_cm_event(e.event));
	/* The side that accepts is told nothing. */
	assert_false(readable(e.passive, 20));
	rdma_destroy_ep(e.client);
	rdma_destroy_ep(e.server);

	ends_resolve(&e, false);
	assert_ok(rdma_connect(e.client, NULL));
	e.event = expect_kept(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = e.event->id;
	assert_ok(rdma_ack_cm_event(e.event));
	assert_ok(rdma_reject(e.server, "no", 3));
	e.event = expect_kept(e.active, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(e.event->status, 2);
	ud = &e.event->param.ud;
	assert_data(ud->private_data, ud->private_data_len, "no", 136);
	assert_ok(rdma_ack_cm_event(e.event));
	rdma_destroy_ep(e.client);
	assert_ok(rdma_destroy_id(e.listener));
	e.listener = NULL;

	ends_resolve(&e, false);
	assert_ok(rdma_connect(e.client, NULL));
	expect(e.active, RDMA_CM_EVENT_UNREACHABLE, 1);
	ends_close(&e);
}

static void address__nobody_is_there(void **state)
{
	struct sockaddr_storage dead = addr_of("198.18.0.99", PORT),
				far = addr_of("203.0.113.1", PORT),
				other = addr_of("198.18.0.98", 0);
	struct ends e;
	struct rdma_cm_id *id;

	(void)state;
	ends_listen(&e, v4, RDMA_PS_TCP);
	assert_ok(rdma_create_id(e.active, &id, NULL, RDMA_PS_TCP));
	assert_fails(rdma_bind_addr(id, (struct sockaddr *)&other),
		     EADDRNOTAVAIL);
	assert_ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dead, 300));
	expect(e.active, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_fails(rdma_resolve_addr(id, NULL, (struct sockaddr *)&far, 300),
		     ENETUNREACH);
	assert_ok(rdma_destroy_id(id));
	ends_close(&e);
}

static void group__joined_and_left(void **state)
{
	struct sockaddr_storage at = addr_of(v4, 0),
				group = addr_of("239.9.8.7", 0);
	struct ends e;

	(void)state;
	ends_listen(&e, v4, RDMA_PS_TCP);
	assert_ok(rdma_create_id(e.active, &e.client, NULL, RDMA_PS_UDP));
	assert_ok(rdma_bind_addr(e.client, (struct sockaddr *)&at));
	give_qp(e.client);
	assert_ok(rdma_join_multicast(e.client, (struct sockaddr *)&group, &e));
	e.event = expect_kept(e.active, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(e.event->param.ud.private_data, &e);
	assert_ok(rdma_ack_cm_event(e.event));
	/* It is in a group. */
	assert_int_equal(ibv_destroy_qp(e.client->qp), EBUSY);
	assert_ok(rdma_leave_multicast(e.client, (struct sockaddr *)&group));
	ends_close(&e);
}

int values_run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection__v4),
		cmocka_unit_test(connection__v6),
		cmocka_unit_test(reject__statuses),
		cmocka_unit_test(request__one_byte_too_many),
		cmocka_unit_test(request__sender_is_gone),
		cmocka_unit_test(service__found_refused_and_missing),
		cmocka_unit_test(address__nobody_is_there),
		cmocka_unit_test(group__joined_and_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
