/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_APPS_TEMP_DIR_H
#define ROOST_TESTS_APPS_TEMP_DIR_H

/*
 * A directory for the files of one test program, under TMPDIR.
 */

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char temp_dir[256];

/* cmocka group setup and teardown. */
static int temp_dir_make(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char pattern[256], *real;

	snprintf(pattern, sizeof(pattern), "%.200s/roost-apps-XXXXXX",
		 tmp ? tmp : "/tmp");
	if (!mkdtemp(pattern))
		return -1;
	real = realpath(pattern, NULL);
	if (!real)
		return -1;
	snprintf(temp_dir, sizeof(temp_dir), "%s", real);
	free(real);
	return 0;
}

static int temp_dir_remove_one(const char *path, const struct stat *st,
			       int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static int temp_dir_remove(void **state)
{
	return nftw(temp_dir, temp_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* An empty file at temp_dir/name with its directories; path: PATH_MAX. */
static void temp_dir_touch(const char *name, mode_t mode, char *path)
{
	int fd;

	snprintf(path, PATH_MAX, "%s/%s", temp_dir, name);
	for (char *s = path + strlen(temp_dir) + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		mkdir(path, 0755);
		*s = '/';
	}
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

#endif
