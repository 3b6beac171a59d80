/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <stdio.h>

static const char *const peer = "198.18.0.2";

struct fake fake;

int fake_setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	return 0;
}

struct rdma_event_channel *fake_channel;

int fake_channel_setup(void **state)
{
	fake_setup(state);
	fake_channel = rdma_create_event_channel();
	return fake_channel ? 0 : -1;
}

int fake_channel_teardown(void **state)
{
	rdma_destroy_event_channel(fake_channel);
	assert_int_equal(fake_conns_alive(), 0);
	assert_int_equal(fake.nb_pds, 0);
	assert_int_equal(fake.nb_qps, 0);
	assert_int_equal(fake.nb_cqs, 0);
	assert_int_equal(fake.nb_comp_channels, 0);
	return 0;
}

struct rdma_cm_id *fake_new_id(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(fake_channel, &id, NULL, ps));
	return id;
}

struct roost_cm_conn *fake_conn(void)
{
	assert_true(fake.nb_conns > 0);
	return &fake.conns[fake.nb_conns - 1];
}

unsigned int fake_conns_alive(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < fake.nb_conns; i++)
		n += fake.conns[i].alive;
	return n;
}

static struct roost_gid v4(const char *ip)
{
	uint8_t b[4];

	assert_int_equal(inet_pton(AF_INET, ip, b), 1);
	return roost_gid_from_v4(b);
}

/* ---- the peer ------------------------------------------------------------ */

void fake_tell(struct roost_cm_conn *conn, enum roost_cm_event_type type,
	       int status)
{
	const struct roost_cm_event event = { .type = type, .status = status };

	assert_true(conn->alive);
	conn->callback(conn->arg, conn, &event);
}

struct roost_cm_conn *fake_request(struct roost_cm_listener *listener,
				   const char *data)
{
	struct roost_cm_conn *conn = &fake.conns[fake.nb_conns++];
	uint8_t padded[56] = { 0 };
	struct roost_cm_event event = {
		.type = ROOST_CM_REQ_RECEIVED,
		.listener = listener,
		.service_id = listener->param.service_id,
		.has_ip = true,
		.ip = { .src = v4(peer),
			.dst = v4("198.18.0.1"),
			.src_port = 5000 },
		.peer = { .qpn = 0x123,
			  .responder_resources = 3,
			  .initiator_depth = 5,
			  .retry_count = 6,
			  .rnr_retry_count = 2,
			  .srq = true,
			  .flow_control = true,
			  .ece_vendor_id = 0x2c9 },
		.data = padded,
		.data_len_bytes = sizeof(padded),
	};

	assert_true(listener->alive);
	snprintf((char *)padded, sizeof(padded), "%s", data);
	*conn = (struct roost_cm_conn){
		.cm = listener->cm,
		.alive = true,
		.path = { .sgid = v4("198.18.0.1"),
			  .dgid = v4(peer),
			  .port_num = 1,
			  .sgid_index = 1,
			  .pkey = 0xffff,
			  .hop_limit = 64,
			  .mtu = ROOST_MTU_1024 },
	};
	listener->callback(listener->arg, conn, &event);
	return conn;
}

void fake_reply(struct roost_cm_conn *conn, const char *data)
{
	uint8_t padded[196] = { 0 };
	const struct roost_cm_event event = {
		.type = ROOST_CM_REP_RECEIVED,
		.peer = { .qpn = 0x456,
			  .responder_resources = 7,
			  .initiator_depth = 9,
			  .rnr_retry_count = 1 },
		.data = padded,
		.data_len_bytes = sizeof(padded),
	};

	snprintf((char *)padded, sizeof(padded), "%s", data);
	conn->callback(conn->arg, conn, &event);
}

/* ---- what tests share ---------------------------------------------------- */

struct rdma_cm_event *fake_event(struct rdma_event_channel *channel,
				 enum rdma_cm_event_type type)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	/* Another thread may be about to bring it. */
	assert_int_equal(poll(&fd, 1, 5000), 1);
	assert_ok(rdma_get_cm_event(channel, &event));
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	return event;
}

void fake_expect(struct rdma_event_channel *channel,
		 enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event = fake_event(channel, type);

	assert_int_equal(event->status, status);
	assert_ok(rdma_ack_cm_event(event));
}

struct rdma_cm_id *fake_routed(struct rdma_event_channel *channel,
			       enum rdma_port_space ps)
{
	struct sockaddr_storage to = addr_of(peer, 7000);
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(channel, &id, NULL, ps));
	assert_ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	fake_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ok(rdma_resolve_route(id, 1000));
	fake_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

void fake_give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = id->qp_type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};

	assert_ok(rdma_create_qp(id, NULL, &attr));
}

struct rdma_cm_id *fake_connecting(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = fake_routed(channel, RDMA_PS_TCP);
	struct rdma_conn_param param = { .retry_count = 7 };

	fake_give_qp(id);
	assert_ok(rdma_connect(id, &param));
	return id;
}

struct rdma_cm_id *fake_listening(struct rdma_event_channel *channel,
				  enum rdma_port_space ps)
{
	struct sockaddr_storage at = addr_of("198.18.0.1", 7000);
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(channel, &id, NULL, ps));
	assert_ok(rdma_bind_addr(id, (struct sockaddr *)&at));
	assert_ok(rdma_listen(id, 4));
	return id;
}
