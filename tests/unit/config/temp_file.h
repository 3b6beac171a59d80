/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_CONFIG_TEMP_FILE_H
#define ROOST_TESTS_CONFIG_TEMP_FILE_H

/*
 * A configuration file that a test writes: one for the whole program, in a
 * directory of its own under TMPDIR.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char temp_dir[256];
static char temp_path[300];

/* cmocka group setup and teardown. */
static int temp_file_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(temp_dir, sizeof(temp_dir), "%.200s/roost-config-XXXXXX",
		 tmp ? tmp : "/tmp");
	if (!mkdtemp(temp_dir))
		return -1;
	snprintf(temp_path, sizeof(temp_path), "%s/roost.conf", temp_dir);
	return 0;
}

static int temp_file_remove(void **state)
{
	unlink(temp_path);
	return rmdir(temp_dir);
}

static void temp_file_write_bytes(const char *bytes, size_t len)
{
	FILE *f = fopen(temp_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

#endif
