/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_RDMACM_CALLS_H
#define ROOST_TESTS_RDMACM_CALLS_H

/*
 * What tests that call librdmacm share, with a CM of their own or with a real
 * one.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "tests/cmocka.h"

static inline struct sockaddr_storage addr_of(const char *ip, uint16_t port)
{
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;

	if (inet_pton(AF_INET, ip, &in->sin_addr) == 1) {
		addr.ss_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		memset(&addr, 0, sizeof(addr));
		assert_int_equal(inet_pton(AF_INET6, ip, &in6->sin6_addr), 1);
		addr.ss_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return addr;
}

#define assert_ok(call) assert_int_equal(call, 0)

/* The call is expected to return -1 and set errno. */
#define assert_fails(call, value)                                              \
	do {                                                                   \
		errno = 0;                                                     \
		assert_int_equal(call, -1);                                    \
		assert_int_equal(errno, value);                                \
	} while (0)

#endif
