/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>

#include "cm/rdmacm/addr.h"

static int resolve(struct rdma_cm_id *id, const char *from, const char *to)
{
	struct sockaddr_storage src = { 0 }, dst = addr_of(to, 7000);

	if (from)
		src = addr_of(from, 0);
	return rdma_resolve_addr(id, from ? (struct sockaddr *)&src : NULL,
				 (struct sockaddr *)&dst, 777);
}

static void resolve__address_and_route(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);
	struct ibv_sa_path_rec *rec;

	assert_ok(resolve(id, NULL, "198.18.1.2"));
	assert_int_equal(fake_conn()->resolve_timeout_ms, 777);
	assert_fails(resolve(id, NULL, "198.18.1.2"), EINVAL);
	assert_fails(rdma_resolve_route(id, 1), EINVAL);
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	assert_null(id->verbs);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roost1");
	assert_int_equal(id->route.addr.src_sin.sin_addr.s_addr,
			 inet_addr("198.18.1.1"));
	assert_int_equal(id->route.addr.dst_sin.sin_addr.s_addr,
			 inet_addr("198.18.1.2"));
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 7000);
	assert_true(ntohs(rdma_get_src_port(id)) >= 32768);

	assert_fails(rdma_resolve_route(id, 0), EINVAL);
	assert_ok(rdma_resolve_route(id, 1));
	fake_expect(fake_channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.num_paths, 1);
	rec = id->route.path_rec;
	assert_int_equal(rec->pkey, 0xffff);
	assert_int_equal(rec->mtu, IBV_MTU_1024);
	assert_int_equal(rec->dgid.raw[15], 2);
	assert_int_equal(rec->sgid.raw[15], 1);
	assert_int_equal(rec->hop_limit, 64);
	assert_ok(rdma_destroy_id(id));
}

static void resolve__known_at_once(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	fake.hop_is_known = true;
	assert_ok(resolve(id, NULL, "198.18.1.2"));
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roost1");
	assert_false(fake_readable(fake_channel));
	assert_ok(rdma_resolve_route(id, 1));
	fake_expect(fake_channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_ok(rdma_destroy_id(id));
}

static void resolve__failure_can_be_tried_again(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_ok(resolve(id, "198.18.0.1", "198.18.0.9"));
	fake_tell(fake_conn(), ROOST_CM_ADDR_ERROR, -ETIMEDOUT);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_ok(resolve(id, NULL, "198.18.0.2"));
	assert_int_equal(fake_conns_alive(), 1);
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ok(rdma_destroy_id(id));
}

static void resolve__what_cannot_be(void **state)
{
	struct sockaddr_storage bad = { .ss_family = AF_UNIX },
				good = addr_of("198.18.0.2", 1);
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_fails(resolve(id, "198.18.0.7", "198.18.0.2"), EADDRNOTAVAIL);
	assert_fails(rdma_resolve_addr(id, NULL, (struct sockaddr *)&bad, 1),
		     EINVAL);
	assert_fails(rdma_resolve_addr(id, (struct sockaddr *)&bad,
				       (struct sockaddr *)&good, 1),
		     EINVAL);
	assert_fails(rdma_resolve_addr(id, NULL, NULL, 1), EINVAL);
	assert_fails(resolve(id, NULL, "203.0.113.1"), ENETUNREACH);
	/* It is bound to the wildcard by now. */
	assert_fails(resolve(id, NULL, "fd00::2"), EINVAL);
	assert_ok(resolve(id, NULL, "198.18.0.2"));
	assert_ok(rdma_destroy_id(id));
}

static void resolve__this_host(void **state)
{
	static const struct {
		const char *from, *to, *own;
	} rows[] = {
		{ NULL, "0.0.0.0", "198.18.0.1" },
		{ NULL, "127.0.0.1", "198.18.0.1" },
		{ NULL, "127.9.9.9", "198.18.0.1" },
		{ "127.0.0.1", "127.0.0.1", "198.18.0.1" },
		{ "198.18.1.1", "127.0.0.1", "198.18.1.1" },
		{ NULL, "::", "fd00::1" },
		{ NULL, "::1", "fd00::1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sockaddr_storage own = addr_of(rows[i].own, 0);
		const struct roost_gid gid =
			roost_rdmacm_addr_gid((const struct sockaddr *)&own);
		struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

		assert_ok(resolve(id, rows[i].from, rows[i].to));
		assert_memory_equal(&fake_conn()->path.sgid, &gid, 16);
		assert_memory_equal(&fake_conn()->path.dgid, &gid, 16);
		fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
		fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		if (own.ss_family == AF_INET)
			assert_int_equal(id->route.addr.dst_sin.sin_addr.s_addr,
					 inet_addr(rows[i].own));
		assert_ok(rdma_destroy_id(id));
	}
}

/* Bound to loopback, an id still reaches others. */
static void resolve__from_loopback(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_ok(resolve(id, "127.0.0.1", "198.18.1.2"));
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(id->route.addr.src_sin.sin_addr.s_addr,
			 inet_addr("198.18.1.1"));
	assert_ok(rdma_destroy_id(id));
}

/* From a GID to a GID; the program sees IP addresses. */
static void resolve__gids(void **state)
{
	struct sockaddr_ib src = { .sib_family = AF_IB }, dst = src;
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_IB);

	inet_pton(AF_INET6, "::ffff:198.18.1.1", &src.sib_addr);
	inet_pton(AF_INET6, "::ffff:198.18.1.2", &dst.sib_addr);
	dst.sib_sid = htobe64(0x13f1b58);
	assert_ok(rdma_resolve_addr(id, (struct sockaddr *)&src,
				    (struct sockaddr *)&dst, 1));
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roost1");
	assert_int_equal(id->route.addr.src_sin.sin_addr.s_addr,
			 inet_addr("198.18.1.1"));
	assert_int_equal(id->route.addr.dst_sin.sin_addr.s_addr,
			 inet_addr("198.18.1.2"));
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 7000);
	assert_ok(rdma_destroy_id(id));
}

/* Nobody has to be asked where a group is. */
static void resolve__group(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_UDP);

	assert_ok(resolve(id, NULL, "239.1.2.3"));
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roost0");
	assert_ok(rdma_destroy_id(id));

	id = fake_new_id(RDMA_PS_UDP);
	assert_ok(resolve(id, "198.18.1.1", "239.1.2.3"));
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roost1");
	assert_int_equal(id->route.addr.addr.ibaddr.dgid.raw[12], 239);
	assert_ok(rdma_destroy_id(id));
}

static void resolve__timeout_and_tos_shape_the_path(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct rdma_conn_param param = { 0 };
	uint8_t timeout = 14, tos = 0x20;
	int mask;

	fake.default_roce_tos = 0x6a; /* not for who says more */
	assert_ok(rdma_set_option(id, RDMA_OPTION_ID,
				  RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1));
	assert_ok(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos,
				  1));
	assert_ok(resolve(id, NULL, "198.18.0.2"));
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ok(rdma_resolve_route(id, 1));
	fake_expect(fake_channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.path_rec->traffic_class, 0x20);
	assert_int_equal(id->route.path_rec->packet_life_time, 13);
	assert_ok(rdma_connect(id, &param));
	assert_int_equal(fake_conn()->req.path.packet_lifetime, 13);
	assert_int_equal(fake_conn()->req.path.traffic_class, 0x20);
	assert_ok(rdma_init_qp_attr(id, &attr, &mask));
	assert_int_equal(attr.timeout, 14);
	assert_ok(rdma_destroy_id(id));
}

/* The type of service of the port, where the program sets none; and what the
 * kernel makes of it.
 */
static void resolve__port_has_a_tos(void **state)
{
	static const struct {
		uint8_t tos, sl;
	} rows[] = {
		{ 0, 0 }, { 0x08, 2 }, { 0x18, 4 }, { 0x10, 6 }, { 0x6a, 2 }
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);
		struct ibv_sa_path_rec *path;

		fake.default_roce_tos = rows[i].tos;
		assert_ok(resolve(id, NULL, "198.18.0.2"));
		fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
		fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		assert_ok(rdma_resolve_route(id, 1));
		fake_expect(fake_channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		path = id->route.path_rec;
		assert_int_equal(path->traffic_class, rows[i].tos);
		assert_int_equal(path->sl, rows[i].sl);
		assert_ok(rdma_destroy_id(id));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_CHANNEL_TEST(resolve__address_and_route),
		FAKE_CHANNEL_TEST(resolve__known_at_once),
		FAKE_CHANNEL_TEST(resolve__failure_can_be_tried_again),
		FAKE_CHANNEL_TEST(resolve__what_cannot_be),
		FAKE_CHANNEL_TEST(resolve__this_host),
		FAKE_CHANNEL_TEST(resolve__from_loopback),
		FAKE_CHANNEL_TEST(resolve__gids),
		FAKE_CHANNEL_TEST(resolve__group),
		FAKE_CHANNEL_TEST(resolve__timeout_and_tos_shape_the_path),
		FAKE_CHANNEL_TEST(resolve__port_has_a_tos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
