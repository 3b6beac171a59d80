/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int teardown(void **state)
{
	assert_int_equal(fake_conns_alive(), 0);
	assert_int_equal(fake.nb_pds, 0);
	assert_int_equal(fake.nb_qps, 0);
	return 0;
}

/* What the CM tells while a call waits for it, 10 ms later. */
struct later {
	enum roost_cm_event_type type;
	int status;
	pthread_t thread;
};

static void *tell_later(void *arg)
{
	const struct later *later = arg;

	usleep(10000);
	if (later->type == ROOST_CM_REQ_RECEIVED)
		fake_request(&fake.listeners[0], "hello");
	else if (later->type == ROOST_CM_REP_RECEIVED)
		fake_reply(fake_conn(), "yes");
	else
		fake_tell(fake_conn(), later->type, later->status);
	return NULL;
}

static void tell(struct later *later, enum roost_cm_event_type type, int status)
{
	*later = (struct later){ .type = type, .status = status };
	assert_ok(pthread_create(&later->thread, NULL, tell_later, later));
}

static void told(struct later *later)
{
	pthread_join(later->thread, NULL);
}

static struct rdma_addrinfo *info(const char *node, int flags)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = flags | RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res;

	assert_ok(rdma_getaddrinfo(node, "7000", &hints, &res));
	return res;
}

/* connect_data: of the address info; NULL: none. */
static struct rdma_cm_id *active_ep_with(const char *connect_data)
{
	struct rdma_addrinfo *res = info("198.18.0.2", 0);
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1 } };
	struct rdma_cm_id *id;
	struct later later;

	if (connect_data != NULL) {
		res->ai_connect = strdup(connect_data);
		res->ai_connect_len = strlen(connect_data);
	}
	tell(&later, ROOST_CM_ADDR_RESOLVED, 0);
	assert_ok(rdma_create_ep(&id, res, NULL, &attr));
	told(&later);
	rdma_freeaddrinfo(res);
	return id;
}

static struct rdma_cm_id *active_ep(void)
{
	return active_ep_with(NULL);
}

static void ep__active(void **state)
{
	struct rdma_cm_id *id = active_ep();
	struct later later;

	assert_non_null(id->qp);
	assert_int_equal(fake_conn()->resolve_timeout_ms, 2000);
	tell(&later, ROOST_CM_REP_RECEIVED, 0);
	assert_ok(rdma_connect(id, NULL));
	told(&later);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake_conn()->req.rnr_retry_count, 7);
	tell(&later, ROOST_CM_DREP_RECEIVED, 0);
	assert_ok(rdma_disconnect(id));
	told(&later);
	/* Its last event is acked by it. */
	rdma_destroy_ep(id);
}

/* First what the address info says, then the call's own. */
static void ep__connect_data_of_the_address_info(void **state)
{
	struct rdma_conn_param param = { .private_data = "mine",
					 .private_data_len = 5 };
	struct rdma_cm_id *id = active_ep_with("its");
	struct later later;

	tell(&later, ROOST_CM_REJ_RECEIVED, 8);
	assert_fails(rdma_connect(id, &param), ECONNREFUSED);
	told(&later);
	assert_int_equal(fake_conn()->data_len_bytes, 8);
	assert_string_equal((char *)fake_conn()->data, "itsmine");
	rdma_destroy_ep(id);
}

static void ep__connection_refused(void **state)
{
	struct rdma_cm_id *id = active_ep();
	struct later later;

	tell(&later, ROOST_CM_REJ_RECEIVED, 8);
	assert_fails(rdma_connect(id, NULL), ECONNREFUSED);
	told(&later);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(id->event->status, 8);
	rdma_destroy_ep(id);
}

static void ep__nobody_answers(void **state)
{
	struct rdma_addrinfo *res = info("198.18.0.2", 0);
	struct rdma_cm_id *id;
	struct later later;

	tell(&later, ROOST_CM_ADDR_ERROR, -ETIMEDOUT);
	assert_fails(rdma_create_ep(&id, res, NULL, NULL), ETIMEDOUT);
	told(&later);
	rdma_freeaddrinfo(res);
}

static void ep__passive_gives_requests_their_qp(void **state)
{
	struct rdma_addrinfo *res = info("198.18.0.1", RAI_PASSIVE);
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1 } };
	struct rdma_cm_id *listener, *id;
	struct later later;

	assert_ok(rdma_create_ep(&listener, res, NULL, &attr));
	assert_ok(rdma_listen(listener, 0));
	tell(&later, ROOST_CM_REQ_RECEIVED, 0);
	assert_ok(rdma_get_request(listener, &id));
	told(&later);
	assert_non_null(id->qp);
	assert_ptr_not_equal(id->channel, listener->channel);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	tell(&later, ROOST_CM_RTU_RECEIVED, 0);
	assert_ok(rdma_accept(id, NULL));
	told(&later);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	rdma_freeaddrinfo(res);
}

static void ep__request_of_an_asynchronous_listener(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener = fake_listening(channel, RDMA_PS_TCP), *id;

	assert_fails(rdma_get_request(listener, &id), EINVAL);
	assert_ok(rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

static void addrinfo__what_hints_say(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST,
				       .ai_port_space = RDMA_PS_UDP };
	struct sockaddr_storage src = addr_of("198.18.0.1", 0);
	struct rdma_addrinfo *res;

	assert_fails(rdma_getaddrinfo(NULL, NULL, NULL, &res), EINVAL);
	hints.ai_src_addr = (struct sockaddr *)&src;
	hints.ai_src_len = sizeof(struct sockaddr_in);
	assert_ok(rdma_getaddrinfo("198.18.0.9", "7", &hints, &res));
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in));
	assert_memory_equal(res->ai_src_addr, &src, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(res);

	/* An EAI_ value, for gai_strerror(). */
	assert_true(rdma_getaddrinfo("no number", "7", &hints, &res) < -1);

	hints.ai_qp_type = IBV_QPT_UC;
	hints.ai_port_space = RDMA_PS_IB;
	assert_ok(rdma_getaddrinfo("fd00::9", NULL, &hints, &res));
	assert_int_equal(res->ai_family, AF_INET6);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UC);
	assert_int_equal(res->ai_port_space, RDMA_PS_IB);
	rdma_freeaddrinfo(res);

	hints.ai_dst_addr = hints.ai_src_addr;
	hints.ai_dst_len = hints.ai_src_len;
	assert_ok(rdma_getaddrinfo(NULL, NULL, &hints, &res));
	assert_memory_equal(res->ai_dst_addr, &src, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(res);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ep__active),
		TEST(ep__connect_data_of_the_address_info),
		TEST(ep__connection_refused),
		TEST(ep__nobody_answers),
		TEST(ep__passive_gives_requests_their_qp),
		TEST(ep__request_of_an_asynchronous_listener),
		TEST(addrinfo__what_hints_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
