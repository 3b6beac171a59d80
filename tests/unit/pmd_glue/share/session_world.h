/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_PMD_GLUE_SHARE_SESSION_WORLD_H
#define TESTS_UNIT_PMD_GLUE_SHARE_SESSION_WORLD_H

/* A client of a fake daemon. Included by one file of a test program. */

#include "pmd_glue/share/session.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/share/fake_daemon.h"

static struct fake_daemon d;
static struct roost_shm_memory memory; /* the client's */
static struct roost_share_grant grant;
static struct roost_share_session *s;

static int setup(void **state)
{
	const struct roost_shm_shape shape = { 64, ROOST_SHM_SLOT_BYTES, 2,
					       32 };

	assert_int_equal(roost_shm_memory_make(&shape, &memory), 0);
	fake_prepare(&d);
	return 0;
}

static int teardown(void **state)
{
	fake_stop(&d);
	roost_shm_memory_close(&memory);
	return 0;
}

static int open_session(const char *service)
{
	const struct roost_share_session_conf conf = {
		.service = service,
		.label = "a port",
		.memory_fd = memory.fd,
		.seat = 1,
	};

	return roost_share_session_open(&conf, &grant, &s);
}

#endif
