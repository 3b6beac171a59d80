/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "tests/cmocka.h"

static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 };

static void addr__len_is_that_of_the_family(void **state)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET };

	assert_int_equal(roost_rdmacm_addr_len((struct sockaddr *)&addr),
			 sizeof(struct sockaddr_in));
	addr.ss_family = AF_INET6;
	assert_int_equal(roost_rdmacm_addr_len((struct sockaddr *)&addr),
			 sizeof(struct sockaddr_in6));
	addr.ss_family = AF_UNIX;
	assert_int_equal(roost_rdmacm_addr_len((struct sockaddr *)&addr), 0);
	assert_int_equal(roost_rdmacm_addr_len(NULL), 0);
}

/* Loopback, as in the kernel; a mapped one is nobody's. */
static void addr__loopback_is_any(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };

	inet_pton(AF_INET, "127.255.0.1", &in.sin_addr);
	assert_true(roost_rdmacm_addr_is_any((struct sockaddr *)&in));
	inet_pton(AF_INET, "128.0.0.1", &in.sin_addr);
	assert_false(roost_rdmacm_addr_is_any((struct sockaddr *)&in));
	inet_pton(AF_INET6, "::1", &in6.sin6_addr);
	assert_true(roost_rdmacm_addr_is_any((struct sockaddr *)&in6));
	inet_pton(AF_INET6, "::2", &in6.sin6_addr);
	assert_false(roost_rdmacm_addr_is_any((struct sockaddr *)&in6));
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &in6.sin6_addr);
	assert_false(roost_rdmacm_addr_is_any((struct sockaddr *)&in6));
}

static void addr__v4_and_back(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7174) };
	struct sockaddr_storage back;
	struct roost_gid gid;

	assert_true(roost_rdmacm_addr_is_any((struct sockaddr *)&in));
	inet_pton(AF_INET, "198.18.0.1", &in.sin_addr);
	assert_false(roost_rdmacm_addr_is_any((struct sockaddr *)&in));
	assert_int_equal(roost_rdmacm_addr_port((struct sockaddr *)&in), 7174);
	gid = roost_rdmacm_addr_gid((struct sockaddr *)&in);
	assert_memory_equal(gid.b, mapped, 16);
	assert_int_equal(roost_rdmacm_gid_family(&gid), AF_INET);
	roost_rdmacm_addr_make(&back, AF_INET, &gid, 7174);
	assert_memory_equal(&back, &in, sizeof(in));
}

static void addr__v6_and_back(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_storage back;
	struct roost_gid gid;

	assert_true(roost_rdmacm_addr_is_any((struct sockaddr *)&in6));
	inet_pton(AF_INET6, "fd00::7", &in6.sin6_addr);
	assert_false(roost_rdmacm_addr_is_any((struct sockaddr *)&in6));
	roost_rdmacm_addr_set_port((struct sockaddr *)&in6, 9);
	assert_int_equal(ntohs(in6.sin6_port), 9);
	gid = roost_rdmacm_addr_gid((struct sockaddr *)&in6);
	assert_memory_equal(gid.b, &in6.sin6_addr, 16);
	assert_int_equal(roost_rdmacm_gid_family(&gid), AF_INET6);
	roost_rdmacm_addr_make(&back, AF_INET6, &gid, 9);
	assert_memory_equal(&back, &in6, sizeof(in6));
}

/* AF_IB: the GID is the address, the service ID has the port number. */
static void addr__ib_is_ip(void **state)
{
	static const struct {
		const char *gid, *ip;
		uint64_t sid;
		int ret;
	} rows[] = {
		{ "fe80::1", "fe80::1", 0x13f0000, 0 },
		{ "fe80::1", "fe80::1", 0x13f1c06, 0 },
		{ "fe80::1", "fe80::1", 0x1c06, 0 },
		{ "::ffff:198.18.0.1", "198.18.0.1", 0x13f1c06, 0 },
		{ "::", "::", 0, 0 },
		{ "fe80::1", NULL, 0x1061c06, -EINVAL },
		{ "fe80::1", NULL, 0x1000000013f1c06, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_ib ib = { .sib_family = AF_IB,
					  .sib_pkey = 0xffff,
					  .sib_scope_id = 1 };
		struct sockaddr_storage ip;
		char text[INET6_ADDRSTRLEN];

		inet_pton(AF_INET6, rows[i].gid, &ib.sib_addr);
		ib.sib_sid = htobe64(rows[i].sid);
		assert_int_equal(roost_rdmacm_addr_ip((struct sockaddr *)&ib,
						      RDMA_PS_IB, &ip),
				 rows[i].ret);
		if (rows[i].ret)
			continue;
		inet_ntop(
			ip.ss_family,
			ip.ss_family == AF_INET
				? (void *)&((struct sockaddr_in *)&ip)->sin_addr
				: (void *)&((struct sockaddr_in6 *)&ip)
					  ->sin6_addr,
			text, sizeof(text));
		assert_string_equal(text, rows[i].ip);
		assert_int_equal(roost_rdmacm_addr_port((struct sockaddr *)&ip),
				 rows[i].sid & 0xffff);
	}
}

static void addr__mapped_is_v4(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(7174) };
	struct sockaddr_in wanted = { .sin_family = AF_INET,
				      .sin_port = htons(7174) };
	struct sockaddr_storage ip;

	memcpy(&in6.sin6_addr, mapped, sizeof(mapped));
	inet_pton(AF_INET, "198.18.0.1", &wanted.sin_addr);
	assert_int_equal(roost_rdmacm_addr_ip((struct sockaddr *)&in6,
					      RDMA_PS_TCP, &ip),
			 0);
	assert_memory_equal(&ip, &wanted, sizeof(wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addr__len_is_that_of_the_family),
		cmocka_unit_test(addr__loopback_is_any),
		cmocka_unit_test(addr__v4_and_back),
		cmocka_unit_test(addr__v6_and_back),
		cmocka_unit_test(addr__ib_is_ip),
		cmocka_unit_test(addr__mapped_is_v4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
