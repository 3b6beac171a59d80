/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

static void assert_modified(unsigned int i, enum ibv_qp_state state)
{
	assert_true(i < fake.nb_modifies);
	assert_int_equal(fake.modifies[i].state, state);
}

static void finish(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	assert_ok(rdma_destroy_id(id));
}

/* ---- the active side ------------------------------------------------------
 */

static void connect__request_says_what_was_asked(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_ece ece = { .vendor_id = 0x2c9, .options = 5 };
	struct rdma_conn_param param = {
		.private_data = "hi",
		.private_data_len = 3,
		.responder_resources = 4,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = 200,
		.rnr_retry_count = 3,
		.qp_num = 0x1234,
	};
	const struct roost_cm_req_param *req = &fake_conn()->req;

	assert_ok(rdma_set_local_ece(id, &ece));
	assert_ok(rdma_connect(id, &param));
	assert_int_equal(req->service_id, 0x01060000 + 7000);
	assert_int_equal(req->qpn, 0x1234);
	assert_int_equal(req->responder_resources, 4);
	assert_int_equal(req->initiator_depth, 15);
	assert_int_equal(req->retry_count, 7);
	assert_int_equal(req->rnr_retry_count, 3);
	assert_true(req->flow_control);
	assert_false(req->srq);
	assert_int_equal(req->qp_type, ROOST_QPT_RC);
	assert_int_equal(req->ece_vendor_id, 0x2c9);
	assert_int_equal(req->ece_attr_mod, 5);
	assert_int_equal(fake_conn()->ip.dst.b[15], 2);
	assert_int_equal(fake_conn()->ip.src.b[15], 1);
	assert_int_equal(fake_conn()->ip.src_port,
			 ntohs(rdma_get_src_port(id)));
	assert_int_equal(fake_conn()->data_len_bytes, 3);
	assert_memory_equal(fake_conn()->data, "hi", 3);
	assert_fails(rdma_connect(id, &param), EINVAL);
	finish(id);
}

static void connect__more_than_the_device_has(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct rdma_conn_param param = { .responder_resources = 17 };

	assert_fails(rdma_connect(id, &param), EINVAL);
	param.responder_resources = 16;
	param.initiator_depth = 16;
	assert_fails(rdma_connect(id, &param), EINVAL);
	/* Without a QP nobody knows its number. */
	assert_fails(rdma_connect(id, NULL), EINVAL);
	param.initiator_depth = 15;
	fake.connect_rc = -EINVAL;
	assert_fails(rdma_connect(id, &param), EINVAL);
	fake.connect_rc = 0;
	assert_ok(rdma_connect(id, &param));
	finish(id);
}

static void connect__response_takes_the_qp_along(void **state)
{
	struct rdma_cm_id *id = fake_connecting(fake_channel);
	struct rdma_cm_event *event;

	assert_int_equal(fake_conn()->req.qpn, 0x777);
	assert_modified(0, IBV_QPS_INIT);
	assert_int_equal(fake.nb_modifies, 1);
	fake_reply(fake_conn(), "yes");
	/* Not before it is read. */
	assert_int_equal(fake.nb_modifies, 1);
	event = fake_event(fake_channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_modified(1, IBV_QPS_INIT);
	assert_modified(2, IBV_QPS_RTR);
	assert_modified(3, IBV_QPS_RTS);
	assert_int_equal(fake.modifies[2].attr.max_dest_rd_atomic, 11);
	assert_int_equal(fake.modifies[3].attr.max_rd_atomic, 12);
	assert_int_equal(fake.modifies[3].attr.timeout, 19);
	assert_int_equal(fake_conn()->nb_establishes, 1);
	assert_int_equal(event->status, 0);
	assert_int_equal(event->param.conn.qp_num, 0x456);
	assert_int_equal(event->param.conn.responder_resources, 7);
	assert_int_equal(event->param.conn.initiator_depth, 9);
	assert_int_equal(event->param.conn.rnr_retry_count, 1);
	assert_int_equal(event->param.conn.private_data_len, 196);
	assert_string_equal(event->param.conn.private_data, "yes");
	assert_ok(rdma_ack_cm_event(event));
	assert_fails(rdma_establish(id), EINVAL);
	finish(id);
}

static void connect__response_without_a_qp(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct rdma_conn_param param = { .qp_num = 5 };

	assert_fails(rdma_establish(id), EINVAL);
	assert_ok(rdma_connect(id, &param));
	fake_reply(fake_conn(), "");
	fake_expect(fake_channel, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(fake_conn()->nb_establishes, 0);
	assert_ok(rdma_establish(id));
	assert_int_equal(fake_conn()->nb_establishes, 1);
	finish(id);
}

/* The QP cannot follow: its peer hears, and its end is not told twice. */
static void connect__error_of_the_qp(void **state)
{
	struct rdma_cm_id *id = fake_connecting(fake_channel);

	fake.modify_error = EINVAL;
	fake.modify_error_state = IBV_QPS_RTR;
	fake_reply(fake_conn(), "");
	fake_expect(fake_channel, RDMA_CM_EVENT_CONNECT_ERROR, -1);
	assert_int_equal(fake_conn()->nb_rejects, 1);
	assert_int_equal(fake_conn()->nb_establishes, 0);
	assert_modified(fake.nb_modifies - 1, IBV_QPS_ERR);
	fake_tell(fake_conn(), ROOST_CM_DREQ_RECEIVED, 0);
	assert_true(fake_readable(fake_channel));
	fake_tell(fake_conn(), ROOST_CM_TIMEWAIT_EXIT, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	finish(id);
}

static void connect__rejected_moves_the_qp(void **state)
{
	struct rdma_cm_id *id = fake_connecting(fake_channel);
	uint8_t data[148] = "no";
	const struct roost_cm_event reject = {
		.type = ROOST_CM_REJ_RECEIVED,
		.status = 28,
		.data = data,
		.data_len_bytes = sizeof(data),
	};
	struct rdma_cm_event *event;

	fake_conn()->callback(fake_conn()->arg, fake_conn(), &reject);
	event = fake_event(fake_channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_int_equal(event->param.conn.private_data_len, 148);
	assert_string_equal(event->param.conn.private_data, "no");
	assert_modified(fake.nb_modifies - 1, IBV_QPS_ERR);
	assert_ok(rdma_ack_cm_event(event));
	finish(id);
}

static void connect__nobody_answers(void **state)
{
	struct rdma_cm_id *id = fake_connecting(fake_channel);

	fake_tell(fake_conn(), ROOST_CM_REQ_ERROR, -ETIMEDOUT);
	fake_expect(fake_channel, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	finish(id);
}

static void connect__end_is_told_once(void **state)
{
	struct rdma_cm_id *id = fake_connecting(fake_channel);
	unsigned int modifies;

	fake_reply(fake_conn(), "");
	fake_expect(fake_channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	/* Before the end there is no timewait to be over. */
	fake_tell(fake_conn(), ROOST_CM_TIMEWAIT_EXIT, 0);
	assert_false(fake_readable(fake_channel));
	modifies = fake.nb_modifies;
	fake_tell(fake_conn(), ROOST_CM_DREQ_RECEIVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(fake.nb_modifies, modifies);
	assert_ok(rdma_disconnect(id));
	assert_modified(fake.nb_modifies - 1, IBV_QPS_ERR);
	assert_int_equal(fake_conn()->nb_disconnects, 1);
	fake_tell(fake_conn(), ROOST_CM_DREP_RECEIVED, 0);
	assert_false(fake_readable(fake_channel));
	fake_tell(fake_conn(), ROOST_CM_TIMEWAIT_EXIT, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	finish(id);
}

/* The program sees nothing of it. */
static void connect__alternate_path_is_refused(void **state)
{
	struct rdma_cm_id *id = fake_connecting(fake_channel);

	fake_reply(fake_conn(), "");
	fake_expect(fake_channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	fake_tell(fake_conn(), ROOST_CM_LAP_RECEIVED, 0);
	assert_int_equal(fake_conn()->nb_aprs, 1);
	assert_int_equal(fake_conn()->apr_status, 2);
	assert_false(fake_readable(fake_channel));
	finish(id);
}

static void connect__too_early(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP),
			  *unbound;

	assert_fails(rdma_disconnect(id), EINVAL);
	assert_fails(rdma_reject(id, NULL, 0), EINVAL);
	assert_fails(rdma_notify(id, IBV_EVENT_COMM_EST), EINVAL);
	assert_fails(rdma_accept(id, NULL), EINVAL);
	finish(id);
	assert_ok(rdma_create_id(fake_channel, &unbound, NULL, RDMA_PS_TCP));
	assert_fails(rdma_disconnect(unbound), EINVAL);
	assert_fails(rdma_connect(unbound, NULL), EINVAL);
	finish(unbound);
}

/* ---- the passive side -----------------------------------------------------
 */

static struct rdma_cm_event *requested(struct rdma_cm_id **listener)
{
	*listener = fake_listening(fake_channel, RDMA_PS_TCP);
	fake_request(&fake.listeners[0], "hello");
	return fake_event(fake_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
}

static void accept__request_says_what_was_asked(void **state)
{
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event = requested(&listener);
	struct ibv_ece ece = { 0 };

	id = event->id;
	assert_int_equal(event->param.conn.qp_num, 0x123);
	assert_int_equal(event->param.conn.responder_resources, 3);
	assert_int_equal(event->param.conn.initiator_depth, 5);
	assert_int_equal(event->param.conn.retry_count, 6);
	assert_int_equal(event->param.conn.rnr_retry_count, 2);
	assert_int_equal(event->param.conn.srq, 1);
	assert_int_equal(event->param.conn.flow_control, 1);
	assert_int_equal(event->param.conn.private_data_len, 56);
	assert_string_equal(event->param.conn.private_data, "hello");
	assert_non_null(id->verbs);
	assert_ptr_equal(id->verbs, listener->verbs);
	assert_int_equal(id->route.num_paths, 1);
	assert_int_equal(ntohs(rdma_get_src_port(id)), 7000);
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 5000);
	assert_int_equal(id->route.addr.dst_sin.sin_addr.s_addr,
			 inet_addr("198.18.0.2"));
	assert_ok(rdma_get_remote_ece(id, &ece));
	assert_int_equal(ece.vendor_id, 0x2c9);
	assert_ok(rdma_ack_cm_event(event));
	finish(id);
	finish(listener);
}

static void accept__qp_is_ready_before_the_reply(void **state)
{
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event = requested(&listener);
	struct rdma_conn_param param = {
		.private_data = "welcome",
		.private_data_len = 8,
		.responder_resources = 2,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.rnr_retry_count = 6,
	};
	const struct roost_cm_conn *conn = fake_conn();

	id = event->id;
	assert_ok(rdma_ack_cm_event(event));
	fake_give_qp(id);
	assert_ok(rdma_accept(id, &param));
	assert_modified(1, IBV_QPS_INIT);
	assert_modified(2, IBV_QPS_RTR);
	assert_modified(3, IBV_QPS_RTS);
	assert_int_equal(fake.modifies[2].attr.max_dest_rd_atomic, 2);
	assert_int_equal(fake.modifies[3].attr.max_rd_atomic, 5);
	assert_int_equal(conn->rep.qpn, 0x777);
	assert_int_equal(conn->rep.responder_resources, 2);
	assert_int_equal(conn->rep.initiator_depth, 5);
	assert_int_equal(conn->rep.rnr_retry_count, 6);
	assert_int_equal(conn->data_len_bytes, 8);
	fake_tell(fake_conn(), ROOST_CM_RTU_RECEIVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_ok(rdma_notify(id, IBV_EVENT_COMM_EST));
	assert_int_equal(conn->nb_comm_ests, 1);
	assert_fails(rdma_notify(id, IBV_EVENT_PATH_MIG), EINVAL);
	fake_tell(fake_conn(), ROOST_CM_DREP_RECEIVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	finish(id);
	finish(listener);
}

/* The vendor of a reply is the request's, whatever this end would say. */
static void accept__ece_of_a_qp_of_the_programs(void **state)
{
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event = requested(&listener);
	struct ibv_ece ece = { .vendor_id = 0x999, .options = 6 };
	struct rdma_conn_param param = { .qp_num = 0x111 };

	id = event->id;
	assert_ok(rdma_ack_cm_event(event));
	assert_ok(rdma_set_local_ece(id, &ece));
	assert_ok(rdma_accept(id, &param));
	assert_int_equal(fake_conn()->rep.ece_vendor_id, 0x2c9);
	assert_int_equal(fake_conn()->rep.ece_attr_mod, 6);
	finish(id);
	finish(listener);
}

static void connect__ece_is_the_qps(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_ece ece = { .vendor_id = 0x2c9, .options = 5 };

	fake_give_qp(id);
	assert_fails(rdma_set_local_ece(id, &ece), EINVAL);
	assert_fails(rdma_get_remote_ece(id, &ece), EINVAL);
	assert_ok(rdma_connect(id, NULL));
	assert_int_equal(fake_conn()->req.ece_vendor_id, 0x77);
	assert_int_equal(fake_conn()->req.ece_attr_mod, 0);
	finish(id);
}

static void accept__failure_rejects(void **state)
{
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event = requested(&listener);

	id = event->id;
	assert_ok(rdma_ack_cm_event(event));
	fake_give_qp(id);
	fake.accept_rc = -EINVAL;
	assert_fails(rdma_accept(id, NULL), EINVAL);
	assert_modified(fake.nb_modifies - 1, IBV_QPS_ERR);
	assert_int_equal(fake_conn()->nb_rejects, 1);
	finish(id);
	finish(listener);
}

static void reject__reasons(void **state)
{
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event = requested(&listener);

	id = event->id;
	assert_ok(rdma_ack_cm_event(event));
	assert_ok(rdma_reject(id, "no", 3));
	assert_int_equal(fake_conn()->reject_reason, 28);
	assert_memory_equal(fake_conn()->data, "no", 3);
	assert_ok(rdma_reject_ece(id, NULL, 7));
	assert_int_equal(fake_conn()->reject_reason, 35);
	assert_int_equal(fake_conn()->data_len_bytes, 0);
	finish(id);
	finish(listener);
}

/* ---- datagram services ----------------------------------------------------
 */

static void sidr__service_is_found(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_UDP);
	uint8_t data[136] = "here";
	const struct roost_cm_event found = {
		.type = ROOST_CM_SIDR_REP_RECEIVED,
		.qpn = 0x99,
		.qkey = 0x01234567,
		.data = data,
		.data_len_bytes = sizeof(data),
	};
	struct rdma_conn_param param = { .private_data = "a",
					 .private_data_len = 2 };
	struct rdma_cm_event *event;

	fake_give_qp(id);
	assert_modified(2, IBV_QPS_RTS);
	assert_int_equal(fake.modifies[0].attr.qkey, RDMA_UDP_QKEY);
	assert_ok(rdma_connect(id, &param));
	assert_int_equal(fake_conn()->nb_sidr_requests, 1);
	assert_int_equal(fake_conn()->service_id, 0x01110000 + 7000);
	fake_conn()->callback(fake_conn()->arg, fake_conn(), &found);
	event = fake_event(fake_channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(event->param.ud.qp_num, 0x99);
	assert_int_equal(event->param.ud.qkey, 0x01234567);
	assert_int_equal(event->param.ud.private_data_len, 136);
	assert_string_equal(event->param.ud.private_data, "here");
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	assert_int_equal(event->param.ud.ah_attr.port_num, 1);
	assert_int_equal(event->param.ud.ah_attr.grh.dgid.raw[15], 2);
	assert_int_equal(event->param.ud.ah_attr.grh.sgid_index, 1);
	assert_ok(rdma_ack_cm_event(event));
	finish(id);
}

static void sidr__service_is_not_there(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_UDP);

	assert_ok(rdma_connect(id, NULL));
	fake_tell(fake_conn(), ROOST_CM_SIDR_REP_RECEIVED, 1);
	fake_expect(fake_channel, RDMA_CM_EVENT_UNREACHABLE, 1);
	finish(id);
}

static void sidr__answers(void **state)
{
	struct rdma_cm_id *listener = fake_listening(fake_channel, RDMA_PS_UDP);
	struct rdma_conn_param param = { .qp_num = 0x31 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	fake_request(&fake.listeners[0], "who");
	event = fake_event(fake_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_string_equal(event->param.ud.private_data, "who");
	id = event->id;
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	assert_ok(rdma_ack_cm_event(event));
	assert_ok(rdma_accept(id, &param));
	assert_int_equal(fake_conn()->sidr_rep.status, ROOST_CM_SIDR_SUCCESS);
	assert_int_equal(fake_conn()->sidr_rep.qpn, 0x31);
	assert_int_equal(fake_conn()->sidr_rep.qkey, RDMA_UDP_QKEY);
	assert_ok(rdma_reject(id, "x", 1));
	assert_int_equal(fake_conn()->sidr_rep.status, ROOST_CM_SIDR_REJECT);
	finish(id);
	finish(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_CHANNEL_TEST(connect__request_says_what_was_asked),
		FAKE_CHANNEL_TEST(connect__more_than_the_device_has),
		FAKE_CHANNEL_TEST(connect__response_takes_the_qp_along),
		FAKE_CHANNEL_TEST(connect__response_without_a_qp),
		FAKE_CHANNEL_TEST(connect__error_of_the_qp),
		FAKE_CHANNEL_TEST(connect__rejected_moves_the_qp),
		FAKE_CHANNEL_TEST(connect__nobody_answers),
		FAKE_CHANNEL_TEST(connect__end_is_told_once),
		FAKE_CHANNEL_TEST(connect__alternate_path_is_refused),
		FAKE_CHANNEL_TEST(connect__too_early),
		FAKE_CHANNEL_TEST(accept__request_says_what_was_asked),
		FAKE_CHANNEL_TEST(accept__qp_is_ready_before_the_reply),
		FAKE_CHANNEL_TEST(accept__ece_of_a_qp_of_the_programs),
		FAKE_CHANNEL_TEST(connect__ece_is_the_qps),
		FAKE_CHANNEL_TEST(accept__failure_rejects),
		FAKE_CHANNEL_TEST(reject__reasons),
		FAKE_CHANNEL_TEST(sidr__service_is_found),
		FAKE_CHANNEL_TEST(sidr__service_is_not_there),
		FAKE_CHANNEL_TEST(sidr__answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
