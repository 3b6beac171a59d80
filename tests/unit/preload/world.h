/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_PRELOAD_WORLD_H
#define ROOST_TESTS_PRELOAD_WORLD_H

/*
 * A program under the preloaded library, with a picture of one device: it
 * starts itself with both. Includes what cmocka needs.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sysfs/picture.h"
#include "tests/cmocka.h"

#define CLASS "/sys/class/infiniband"
#define DEVICE CLASS "/roost0"
#define TYPE DEVICE "/node_type"
#define NONE DEVICE "/nothing"
#define NODE "/dev/infiniband/uverbs_roost0"
#define REAL_DEVICE "/sys/devices/infiniband_roost/roost0/infiniband/roost0"

/* What the compiler must not know, so that it calls the fortified variants. */
static volatile int flags_of_open = O_RDONLY;
static volatile size_t room = PATH_MAX;

static void check_text(int fd)
{
	char text[32] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "1: CA\n");
	close(fd);
}

static int drop(const char *path, const struct stat *st, int what,
		struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static int make(char *picture)
{
	static const struct roost_picture_dev dev = {
		.name = "roost0",
		.fw_ver = "1",
		.board_id = "board",
	};
	static const struct roost_picture_port port = { .is_active = true };
	static const struct roost_picture_counters counters;

	if (!mkdtemp(picture))
		return -errno;
	return roost_picture_put_dev(picture, &dev) ||
	       roost_picture_put_port(picture, "roost0", 1, &port, NULL) ||
	       roost_picture_put_counters(picture, "roost0", 1, &counters,
					  NULL);
}

/* check() runs the tests. Returns the status of the program. */
static int under_preload(int argc, char **argv, int (*check)(void))
{
	char picture[] = "/tmp/test_calls.XXXXXX";
	char again[] = "again";
	char *const words[] = { argv[0], again, NULL };
	int status = -1;
	pid_t pid;

	if (argc > 1)
		return check();
	if (make(picture))
		return 1;
	setenv(ROOST_PICTURE_VARIABLE, picture, 1);
	setenv("LD_PRELOAD", PRELOAD, 1);
	/* The C library's functions come after those of a sanitizer anyway. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ) ==
	    0)
		waitpid(pid, &status, 0);
	nftw(picture, drop, 16, FTW_DEPTH | FTW_PHYS);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#endif
