/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "ends.h"

bool readable(const struct rdma_event_channel *channel, int timeout_ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

struct rdma_cm_event *expect_kept(struct rdma_event_channel *channel,
				  enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	if (!readable(channel, EVENT_MS))
		fail_msg("no %s", rdma_event_str(type));
	assert_ok(rdma_get_cm_event(channel, &event));
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	return event;
}

void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
	    int status)
{
	struct rdma_cm_event *event = expect_kept(channel, type);

	assert_int_equal(event->status, status);
	assert_ok(rdma_ack_cm_event(event));
}

void give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = id->qp_type,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	assert_ok(rdma_create_qp(id, NULL, &attr));
}

enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_ok(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

void ends_listen(struct ends *e, const char *ip, enum rdma_port_space ps)
{
	struct sockaddr_storage addr = addr_of(ip, PORT);

	*e = (struct ends){ .ip = ip, .ps = ps };
	e->passive = rdma_create_event_channel();
	e->active = rdma_create_event_channel();
	assert_true(e->passive && e->active);
	assert_ok(rdma_create_id(e->passive, &e->listener, NULL, ps));
	assert_ok(rdma_bind_addr(e->listener, (struct sockaddr *)&addr));
	assert_ok(rdma_listen(e->listener, 8));
}

void ends_resolve(struct ends *e, bool with_qp)
{
	struct sockaddr_storage addr = addr_of(e->ip, PORT);

	assert_ok(rdma_create_id(e->active, &e->client, NULL, e->ps));
	assert_ok(rdma_resolve_addr(e->client, NULL, (struct sockaddr *)&addr,
				    1000));
	expect(e->active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ok(rdma_resolve_route(e->client, 1000));
	expect(e->active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	if (with_qp)
		give_qp(e->client);
}

void ends_request(struct ends *e, const char *data)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = data ? (uint8_t)(strlen(data) + 1) : 0,
		.responder_resources = 3,
		.initiator_depth = 5,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	ends_resolve(e, true);
	assert_ok(rdma_connect(e->client, &param));
	e->event = expect_kept(e->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e->server = e->event->id;
	give_qp(e->server);
}

void ends_connect(struct ends *e)
{
	struct rdma_conn_param param = { .responder_resources = 3,
					 .initiator_depth = 3,
					 .rnr_retry_count = 7 };

	ends_request(e, NULL);
	assert_ok(rdma_ack_cm_event(e->event));
	assert_ok(rdma_accept(e->server, &param));
	expect(e->active, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect(e->passive, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void end(struct rdma_cm_id **id)
{
	if (*id)
		rdma_destroy_ep(*id);
	*id = NULL;
}

void ends_close(struct ends *e)
{
	end(&e->client);
	end(&e->server);
	end(&e->listener);
	assert_false(readable(e->active, 0));
	assert_false(readable(e->passive, 0));
	rdma_destroy_event_channel(e->active);
	rdma_destroy_event_channel(e->passive);
}
