/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_TEST_H
#define ROOST_TEST_VERBS_TEST_H

/*
 * What the tests of the shim share: a program's view of roost0, with the fake
 * engine behind it.
 */

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "fake_engine.h"
#include "tests/cmocka.h"

#define NB(a) (sizeof(a) / sizeof((a)[0]))

static inline struct ibv_context *open_roost0(void)
{
	struct ibv_device **list;
	struct ibv_context *context;

	fake_reset();
	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	context = ibv_open_device(list[0]);
	assert_non_null(context);
	ibv_free_device_list(list);
	return context;
}

static inline void close_roost0(struct ibv_context *context)
{
	assert_int_equal(ibv_close_device(context), 0);
}

/* A domain without a file. */
static inline struct ibv_xrcd *open_xrcd(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};

	return ibv_open_xrcd(context, &attr);
}

/* The call is expected to give NULL and this errno. */
#define assert_null_errno(call, value)                                         \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(call);                                             \
		assert_int_equal(errno, value);                                \
	} while (0)

/* The call is expected to return this errno value, and to set it. */
#define assert_errno(call, value)                                              \
	do {                                                                   \
		errno = 0;                                                     \
		assert_int_equal(call, value);                                 \
		assert_int_equal(errno, value);                                \
	} while (0)

/* The call is expected to return -1 and set errno. */
#define assert_minus_one_errno(call, value)                                    \
	do {                                                                   \
		errno = 0;                                                     \
		assert_int_equal(call, -1);                                    \
		assert_int_equal(errno, value);                                \
	} while (0)

#endif
