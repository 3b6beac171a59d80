/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_PD_WORLD_H
#define ROOST_TEST_VERBS_PD_WORLD_H

/* A context and a PD for each test. Included by one file of a test program. */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;

static int setup(void **state)
{
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	close_roost0(c);
	return 0;
}

#endif
