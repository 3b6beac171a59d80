/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_OPEN_FDS_H
#define ROOST_TESTS_UNIT_OPEN_FDS_H

/* How many descriptors the process has, and some that are always the same. */

#include <dirent.h>

#include "tests/cmocka.h"

static inline unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nb = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nb++;
	closedir(dir);
	return nb;
}

#endif
