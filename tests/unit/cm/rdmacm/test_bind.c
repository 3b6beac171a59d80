/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>

static int bind_to(struct rdma_cm_id *id, const char *ip, uint16_t port)
{
	struct sockaddr_storage addr = addr_of(ip, port);

	return rdma_bind_addr(id, (struct sockaddr *)&addr);
}

static int resolve_to(struct rdma_cm_id *id, const char *ip)
{
	struct sockaddr_storage addr = addr_of(ip, 1);

	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000);
}

/* While no device is open: the first of all. */
static void bind__what_the_process_may_not_have(void **state)
{
	static const int told[] = { EMFILE, ENFILE, ENOMEM };
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		fake.open_error = told[i];
		assert_fails(bind_to(id, "198.18.0.1", 0), told[i]);
		assert_fails(resolve_to(id, "198.18.0.2"), told[i]);
	}
	fake.open_error = EBUSY;
	assert_fails(bind_to(id, "198.18.0.1", 0), ENODEV);
	fake.open_error = 0;
	assert_ok(bind_to(id, "198.18.0.1", 0));
	assert_ok(rdma_destroy_id(id));
}

static void bind__port_spaces(void **state)
{
	struct rdma_cm_id *id;

	assert_fails(rdma_create_id(fake_channel, &id, NULL, RDMA_PS_IPOIB),
		     EPROTONOSUPPORT);
	assert_fails(rdma_create_id(fake_channel, &id, NULL,
				    (enum rdma_port_space)0x55),
		     EINVAL);
	id = fake_new_id(RDMA_PS_UDP);
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	assert_ok(rdma_destroy_id(id));
	id = fake_new_id(RDMA_PS_IB);
	assert_int_equal(id->qp_type, IBV_QPT_RC);
	assert_ok(rdma_destroy_id(id));
}

static void bind__address_gives_the_device(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);
	struct sockaddr_in *local;

	assert_null(id->verbs);
	assert_ok(bind_to(id, "198.18.1.1", 0));
	assert_string_equal(id->verbs->device->name, "roost1");
	assert_int_equal(id->port_num, 1);
	assert_non_null(id->pd);
	assert_int_equal(id->route.addr.addr.ibaddr.pkey, 0xffff);
	assert_int_equal(id->route.addr.addr.ibaddr.sgid.raw[15], 1);
	local = (struct sockaddr_in *)rdma_get_local_addr(id);
	assert_string_equal(inet_ntoa(local->sin_addr), "198.18.1.1");
	assert_true(ntohs(rdma_get_src_port(id)) >= 32768);
	assert_int_equal(rdma_get_dst_port(id), 0);
	assert_fails(bind_to(id, "198.18.1.1", 0), EINVAL);
	assert_ok(rdma_destroy_id(id));
}

static void bind__addresses_of_others(void **state)
{
	struct sockaddr_storage unix_addr = { .ss_family = AF_UNIX };
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_fails(bind_to(id, "198.18.0.9", 0), EADDRNOTAVAIL);
	assert_fails(rdma_bind_addr(id, (struct sockaddr *)&unix_addr), EINVAL);
	assert_fails(rdma_bind_addr(id, NULL), EINVAL);
	/* It is still idle. */
	assert_ok(bind_to(id, "fd00::1", 5));
	assert_int_equal(ntohs(rdma_get_src_port(id)), 5);
	assert_ok(rdma_destroy_id(id));
}

static void bind__wildcard_has_no_device(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP), *other;

	assert_ok(bind_to(id, "0.0.0.0", 7174));
	assert_null(id->verbs);
	other = fake_new_id(RDMA_PS_TCP);
	assert_fails(bind_to(other, "198.18.0.1", 7174), EADDRNOTAVAIL);
	assert_ok(rdma_destroy_id(id));
	/* The port is free again. */
	assert_ok(bind_to(other, "198.18.0.1", 7174));
	assert_ok(rdma_destroy_id(other));
}

/* As in the kernel: an address for all devices, shown as it was given. */
static void bind__loopback_is_a_wildcard(void **state)
{
	static const char *const addresses[] = { "127.0.0.1", "127.1.2.3",
						 "::1" };

	for (unsigned int i = 0; i < 3; i++) {
		const struct sockaddr_storage addr =
			addr_of(addresses[i], 7174);
		struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP),
				  *other = fake_new_id(RDMA_PS_TCP);

		assert_ok(bind_to(id, addresses[i], 7174));
		assert_null(id->verbs);
		assert_memory_equal(rdma_get_local_addr(id), &addr,
				    sizeof(struct sockaddr_in6));
		assert_fails(bind_to(other, "198.18.0.1", 7174), EADDRNOTAVAIL);
		assert_ok(rdma_listen(id, 1));
		assert_int_equal(fake.nb_listeners, 2 * i + 2);
		assert_true(
			roost_gid_is_zero(&fake.listeners[2 * i].param.addr));
		assert_ok(rdma_destroy_id(other));
		assert_ok(rdma_destroy_id(id));
	}
}

/* libfabric has nothing else to bind to where no kernel interface has the
 * port's address.
 */
static void bind__gid(void **state)
{
	struct sockaddr_ib ib = { .sib_family = AF_IB, .sib_pkey = 0xffff };
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_IB);
	struct sockaddr_in6 *local;

	inet_pton(AF_INET6, "fe80::1", &ib.sib_addr);
	ib.sib_sid = htobe64(0x1060007);
	assert_fails(rdma_bind_addr(id, (struct sockaddr *)&ib), EINVAL);
	ib.sib_sid = htobe64(0x13f0007);
	assert_ok(rdma_bind_addr(id, (struct sockaddr *)&ib));
	assert_string_equal(id->verbs->device->name, "roost0");
	local = (struct sockaddr_in6 *)rdma_get_local_addr(id);
	assert_int_equal(local->sin6_family, AF_INET6);
	assert_memory_equal(&local->sin6_addr, &ib.sib_addr, 16);
	assert_int_equal(ntohs(rdma_get_src_port(id)), 7);
	assert_ok(rdma_listen(id, 0));
	assert_int_equal(fake.listeners[0].param.service_id, 0x13f0007);
	assert_ok(rdma_destroy_id(id));
}

static void bind__in_use(void **state)
{
	struct rdma_cm_id *a = fake_new_id(RDMA_PS_TCP),
			  *b = fake_new_id(RDMA_PS_TCP);
	int on = 1;

	assert_ok(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
				  &on, sizeof(on)));
	assert_ok(bind_to(a, "198.18.0.1", 7174));
	assert_fails(bind_to(b, "198.18.0.1", 7174), EADDRINUSE);
	assert_ok(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
				  &on, sizeof(on)));
	assert_ok(bind_to(b, "198.18.0.1", 7174));
	assert_fails(rdma_listen(b, 1), EADDRINUSE);
	assert_ok(rdma_destroy_id(a));
	assert_ok(rdma_listen(b, 1));
	assert_ok(rdma_destroy_id(b));
}

/* A port number is claimed where it is bound, and released with the id. */
static void bind__claims_the_port_number(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_ok(bind_to(id, "198.18.1.1", 7174));
	assert_int_equal(fake.nb_claims[0], 0);
	assert_int_equal(fake.nb_claims[1], 1);
	assert_int_equal(fake.claimed.id, 0x01060000 + 7174);
	assert_int_equal(fake.claimed.family, ROOST_CM_FAMILY_IPV4);
	assert_int_equal(fake.claimed.addr.b[15], 1);
	assert_false(fake.claimed.listens);
	assert_ok(rdma_destroy_id(id));
	assert_int_equal(fake.nb_claims[1], 0);

	id = fake_new_id(RDMA_PS_UDP);
	assert_ok(bind_to(id, "::", 9));
	assert_int_equal(fake.nb_claims[0], 1);
	assert_int_equal(fake.nb_claims[1], 1);
	assert_int_equal(fake.claimed.id, 0x01110009);
	assert_int_equal(fake.claimed.family, ROOST_CM_FAMILY_IPV6);
	assert_int_equal(fake.claimed.addr.b[15], 0);
	assert_ok(rdma_destroy_id(id));
	assert_int_equal(fake.nb_claims[0], 0);
	assert_int_equal(fake.nb_claims[1], 0);
}

static void bind__a_refused_claim_is_its_error(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	fake.claim_rc = -EADDRINUSE;
	fake.claim_of = 1;
	assert_fails(bind_to(id, "198.18.1.1", 7174), EADDRINUSE);
	/* At all devices, or at none. */
	assert_fails(bind_to(id, "0.0.0.0", 7174), EADDRINUSE);
	assert_int_equal(fake.nb_claims[0], 0);
	/* It is still idle. */
	assert_ok(bind_to(id, "198.18.0.1", 7174));
	assert_int_equal(fake.nb_claims[0], 1);
	assert_ok(rdma_destroy_id(id));
	assert_int_equal(fake.nb_claims[0], 0);
}

static void listen__wildcard_is_all_devices(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_ok(bind_to(id, "0.0.0.0", 7174));
	assert_ok(rdma_listen(id, 0));
	assert_int_equal(fake.nb_listeners, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(roost_gid_is_zero(&fake.listeners[i].param.addr));
		assert_int_equal(fake.listeners[i].param.family,
				 ROOST_CM_FAMILY_IPV4);
		assert_int_equal(fake.listeners[i].param.backlog,
				 ROOST_CM_BACKLOG_MAX);
		assert_int_equal(fake.listeners[i].param.service_id,
				 0x01060000 + 7174);
	}
	assert_fails(rdma_listen(id, 0), EINVAL);
	assert_ok(rdma_destroy_id(id));
	assert_false(fake.listeners[0].alive || fake.listeners[1].alive);
}

static void listen__v6_wildcard_takes_both_families(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);
	int on = 1;

	assert_ok(bind_to(id, "::", 1));
	assert_ok(rdma_listen(id, 7));
	assert_int_equal(fake.listeners[0].param.family, ROOST_CM_FAMILY_ANY);
	assert_int_equal(fake.listeners[0].param.backlog, 7);
	assert_ok(rdma_destroy_id(id));

	id = fake_new_id(RDMA_PS_TCP);
	assert_ok(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
				  &on, sizeof(on)));
	assert_ok(bind_to(id, "::", 1));
	assert_ok(rdma_listen(id, -1));
	assert_int_equal(fake.listeners[2].param.family, ROOST_CM_FAMILY_IPV6);
	assert_int_equal(fake.listeners[2].param.backlog, ROOST_CM_BACKLOG_MAX);
	assert_ok(rdma_destroy_id(id));
}

static void listen__unbound_is_bound_first(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);

	assert_ok(rdma_listen(id, 0));
	assert_int_equal(fake.nb_listeners, 2);
	assert_true(ntohs(rdma_get_src_port(id)) >= 32768);
	assert_ok(rdma_destroy_id(id));
}

static void devices__are_the_ids_contexts(void **state)
{
	struct rdma_cm_id *id = fake_new_id(RDMA_PS_TCP);
	struct ibv_context **list;
	int nb;

	list = rdma_get_devices(&nb);
	assert_non_null(list);
	assert_int_equal(nb, 2);
	assert_null(list[2]);
	assert_ok(bind_to(id, "198.18.1.1", 0));
	assert_ptr_equal(id->verbs, list[1]);
	rdma_free_devices(list);
	rdma_free_devices(NULL);
	assert_ok(rdma_destroy_id(id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_CHANNEL_TEST(bind__what_the_process_may_not_have),
		FAKE_CHANNEL_TEST(bind__port_spaces),
		FAKE_CHANNEL_TEST(bind__address_gives_the_device),
		FAKE_CHANNEL_TEST(bind__addresses_of_others),
		FAKE_CHANNEL_TEST(bind__wildcard_has_no_device),
		FAKE_CHANNEL_TEST(bind__loopback_is_a_wildcard),
		FAKE_CHANNEL_TEST(bind__gid),
		FAKE_CHANNEL_TEST(bind__in_use),
		FAKE_CHANNEL_TEST(bind__claims_the_port_number),
		FAKE_CHANNEL_TEST(bind__a_refused_claim_is_its_error),
		FAKE_CHANNEL_TEST(listen__wildcard_is_all_devices),
		FAKE_CHANNEL_TEST(listen__v6_wildcard_takes_both_families),
		FAKE_CHANNEL_TEST(listen__unbound_is_bound_first),
		FAKE_CHANNEL_TEST(devices__are_the_ids_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
