/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_CONFIG_RESOLVE_WORLD_H
#define ROOST_TESTS_CONFIG_RESOLVE_WORLD_H

/*
 * Options that a test gives, and what becomes of them. Included by one file of
 * a test program.
 */

#include <roost/config.h>
#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "tests/cmocka.h"

#define NOTHING ((char *[]){ NULL })
#define ENV(...) ((char *[]){ __VA_ARGS__, NULL })

static struct roost_config c, options;
static char err[ROOST_CONFIG_ERR_MAX];

static int setup(void **state)
{
	roost_config_init(&options);
	return 0;
}

static void give(int key, unsigned int port, const char *value)
{
	assert_int_equal(roost_config_set(&options, "--x", key, port, value,
					  err),
			 0);
}

#endif
