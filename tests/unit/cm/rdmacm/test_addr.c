/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "cm/rdmacm/addr.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addr__len_is_that_of_the_family),
		cmocka_unit_test(addr__v4_and_back),
		cmocka_unit_test(addr__v6_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
