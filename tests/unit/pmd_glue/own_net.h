/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_OWN_NET_H
#define ROOST_TESTS_UNIT_PMD_GLUE_OWN_NET_H

/*
 * A network namespace of the test's own, so that interfaces can be made that
 * nobody else sees, and that are gone with the test.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What meson takes for a test that was skipped. */
#define OWN_NET_SKIPPED 77

/* Enter it, before any thread is there; exits where that is not possible. */
static inline void own_net_enter(void)
{
	int fd = unshare(CLONE_NEWNET) == 0 ? open("/dev/net/tun", O_RDWR) : -1;

	if (fd < 0) {
		fprintf(stderr, "no interfaces of our own: %s\n",
			strerror(errno));
		exit(OWN_NET_SKIPPED);
	}
	close(fd);
}

#endif
