/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/preload/path.h"
#include "tests/cmocka.h"

#define PICTURE "/dev/shm/picture"

static struct roost_preload_path to;

/* Where the path leads, as the wrappers decide it. */
static const char *lead(int dirfd, const char *path)
{
	return roost_preload_may_be_ours(path)
		       ? roost_preload_rewrite(dirfd, path, &to)
		       : path;
}

static void use_picture(void)
{
	roost_preload_set_picture(PICTURE);
}

static void rewrite__leads_into_the_picture(void **state)
{
	/* NULL: stays as it is */
	static const char *const rows[][2] = {
		{ "/sys/class/infiniband", "/sys/class/infiniband" },
		{ "/sys/class/infiniband/", "/sys/class/infiniband/" },
		{ "/sys/class/infiniband//", "/sys/class/infiniband//" },
		{ "/sys/class/infiniband/roost0/device",
		  "/sys/class/infiniband/roost0/device" },
		{ "/sys/class/infiniband_verbs/uverbs_roost0",
		  "/sys/class/infiniband_verbs/uverbs_roost0" },
		{ "/sys/class/infiniband_mad", "/sys/class/infiniband_mad" },
		{ "/sys/devices/infiniband_roost/roost0",
		  "/sys/devices/infiniband_roost/roost0" },
		{ "/dev/infiniband", "/dev/infiniband" },
		{ "/dev/infiniband/uverbs_roost0",
		  "/dev/infiniband/uverbs_roost0" },
		/* detours above */
		{ "//sys///class/infiniband/x", "/sys/class/infiniband/x" },
		{ "/sys/./class/./infiniband/x", "/sys/class/infiniband/x" },
		{ "/sys/bus/../class/infiniband/x", "/sys/class/infiniband/x" },
		{ "/../../sys/class/infiniband", "/sys/class/infiniband" },
		{ "/sys/class/net/../../class/infiniband/x",
		  "/sys/class/infiniband/x" },
		{ "/sys/class/infiniband/../infiniband_verbs/x",
		  "/sys/class/infiniband_verbs/x" },
		{ "/sys/class/infiniband/./../infiniband/x",
		  "/sys/class/infiniband/x" },
		/* below, it is the kernel's */
		{ "/sys/class/infiniband/roost0/../../x",
		  "/sys/class/infiniband/roost0/../../x" },
		{ "/sys/class/infiniband/./roost0//device/..",
		  "/sys/class/infiniband/./roost0//device/.." },
		/* by the root */
		{ "/proc/self/root/sys/class/infiniband/x",
		  "/sys/class/infiniband/x" },
		{ "/proc/self/root/proc/self/root/dev/infiniband",
		  "/dev/infiniband" },
		{ "/proc/self/rooted/dev/infiniband", NULL },
		/* others */
		{ "/sys/class", NULL },
		{ "/sys/class/net/eth0", NULL },
		{ "/sys/classinfiniband", NULL },
		{ "/sys/class/xinfiniband", NULL },
		{ "/sys/devices/infiniband", NULL },
		{ "/sys/devices/infiniband_roost0", NULL },
		{ "/dev/infiniband0", NULL },
		{ "/dev/infiniband_roost", NULL },
		{ "/usr/include/infiniband/verbs.h", NULL },
		{ "/home/x/sys/class/infiniband", NULL },
		{ "/", NULL },
		{ "", NULL },
		{ PICTURE "/sys/class/infiniband/roost0", NULL },
	};

	(void)state;
	use_picture();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *led = lead(AT_FDCWD, rows[i][0]);

		if (!rows[i][1]) {
			assert_ptr_equal(led, rows[i][0]);
			continue;
		}
		assert_memory_equal(led, PICTURE, sizeof(PICTURE) - 1);
		assert_string_equal(led + sizeof(PICTURE) - 1, rows[i][1]);
	}
}

static void rewrite__leads_out_again(void **state)
{
	static const char *const rows[][2] = {
		{ "/dev/infiniband/..", "/dev" },
		{ "/dev/infiniband/./../", "/dev/" },
		{ "/dev/infiniband/../null", "/dev/null" },
		{ "/sys/class/infiniband/../net", "/sys/class/net" },
		{ "/sys/class/infiniband/.././net/eth0/..",
		  "/sys/class/./net/eth0/.." },
		{ "/sys/class/infiniband/../infiniband_verbs/../../bus",
		  "/sys/class/../bus" },
		{ "/sys/bus/../class/infiniband_mad/../../../etc/motd",
		  "/sys/class/../../etc/motd" },
		{ "/sys/devices/infiniband_roost/../system",
		  "/sys/devices/system" },
	};

	(void)state;
	use_picture();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(lead(AT_FDCWD, rows[i][0]), rows[i][1]);
}

static void rewrite__knows_nodes(void **state)
{
	static const struct {
		const char *path;
		bool is_node;
	} rows[] = {
		{ "/dev/infiniband/uverbs_roost0", true },
		{ "/dev//infiniband//uverbs_roost0", true },
		{ "/dev/infiniband", false },
		{ "/dev/infiniband/", false },
		{ "/dev/infiniband/.", false },
		{ "/dev/infiniband/uverbs_roost0/", false },
		{ "/sys/class/infiniband/roost0", false },
		{ "/sys/class/infiniband_verbs/uverbs_roost0", false },
		{ "/usr/include/infiniband/verbs.h", false },
	};

	(void)state;
	use_picture();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		to.is_node = !rows[i].is_node;
		lead(AT_FDCWD, rows[i].path);
		assert_int_equal(to.is_node, rows[i].is_node);
	}
}

static void rewrite__follows_directories(void **state)
{
	static const struct {
		const char *dir, *path, *led;
	} rows[] = {
		{ "/", "sys/class/infiniband/x", "/sys/class/infiniband/x" },
		{ "/sys", "class/infiniband", "/sys/class/infiniband" },
		{ "/sys/class", "infiniband", "/sys/class/infiniband" },
		{ "/sys/class", "./infiniband/", "/sys/class/infiniband/" },
		{ "/sys/class", "../class/infiniband",
		  "/sys/class/infiniband" },
		{ "/dev", "infiniband/x", "/dev/infiniband/x" },
		{ "/tmp", "../dev/infiniband/x", "/dev/infiniband/x" },
		{ "/tmp", "infiniband", NULL },
		{ "/usr", "sys/class/infiniband", NULL },
	};
	int home = open(".", O_RDONLY | O_DIRECTORY), fd;
	const char *led;

	(void)state;
	use_picture();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fd = open(rows[i].dir, O_RDONLY | O_DIRECTORY);
		assert_int_equal(fchdir(fd), 0);
		for (int k = 0; k < 2; k++) {
			led = lead(k ? fd : AT_FDCWD, rows[i].path);
			if (rows[i].led)
				assert_string_equal(led + sizeof(PICTURE) - 1,
						    rows[i].led);
			else
				assert_ptr_equal(led, rows[i].path);
			assert_int_equal(fchdir(home), 0);
		}
		close(fd);
	}
	close(home);
}

/* A descriptor that is none, or is no directory: the kernel's error. */
static void rewrite__leaves_wrong_descriptors(void **state)
{
	static const char path[] = "class/infiniband";

	(void)state;
	use_picture();
	errno = 0;
	assert_ptr_equal(lead(-1, path), path);
	assert_ptr_equal(lead(987654, path), path);
	assert_ptr_equal(lead(INT32_MIN, path), path);
	assert_int_equal(errno, 0);
}

static void rewrite__says_what_has_no_room(void **state)
{
	char path[2 * PATH_MAX] = "/sys/class/infiniband/";

	(void)state;
	use_picture();
	memset(path + strlen(path), 'x',
	       PATH_MAX - strlen(path) - sizeof(PICTURE));
	assert_string_equal(lead(AT_FDCWD, path) + sizeof(PICTURE) - 1, path);
	strcat(path, "x");
	errno = 0;
	assert_null(lead(AT_FDCWD, path));
	assert_int_equal(errno, ENAMETOOLONG);
	/* One that the kernel refuses, before it is ours. */
	memset(path, 'x', sizeof(path) - 1);
	memcpy(path, "/infiniband/", 12);
	errno = 0;
	assert_ptr_equal(lead(AT_FDCWD, path), path);
	assert_int_equal(errno, 0);
}

static void rewrite__without_a_picture_does_nothing(void **state)
{
	static const char path[] = "/sys/class/infiniband";
	char too_long[ROOST_PICTURE_PATH_MAX + 1] = "/";

	(void)state;
	memset(too_long + 1, 'x', sizeof(too_long) - 2);
	roost_preload_set_picture(NULL);
	assert_ptr_equal(lead(AT_FDCWD, path), path);
	roost_preload_set_picture("");
	assert_ptr_equal(lead(AT_FDCWD, path), path);
	roost_preload_set_picture("relative");
	assert_ptr_equal(lead(AT_FDCWD, path), path);
	roost_preload_set_picture(too_long);
	assert_ptr_equal(lead(AT_FDCWD, path), path);
	assert_int_equal(roost_preload_hidden(path, strlen(path)), 0);
}

static void hidden__is_the_picture_only(void **state)
{
	static const struct {
		const char *path;
		size_t hidden;
	} rows[] = {
		{ PICTURE "/sys/class/infiniband", sizeof(PICTURE) - 1 },
		{ PICTURE "/sys", sizeof(PICTURE) - 1 },
		{ PICTURE, 0 },
		{ PICTURE "2/sys", 0 },
		{ "/dev/shm", 0 },
		{ "/sys/class/infiniband", 0 },
		{ "", 0 },
	};

	(void)state;
	use_picture();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(roost_preload_hidden(rows[i].path,
						      strlen(rows[i].path)),
				 rows[i].hidden);
}

static void may_be_ours__is_a_search(void **state)
{
	(void)state;
	assert_false(roost_preload_may_be_ours(NULL));
	assert_false(roost_preload_may_be_ours(""));
	assert_false(roost_preload_may_be_ours("infiniban"));
	assert_false(roost_preload_may_be_ours("/etc/passwd"));
	assert_true(roost_preload_may_be_ours("infiniband"));
	assert_true(roost_preload_may_be_ours("infininfiniband"));
	assert_false(roost_preload_may_be_ours("infinibanx"));
	assert_false(roost_preload_may_be_ours("xnfiniband"));
	assert_false(roost_preload_may_be_ours("infinbandinfiniban"));
	/* At each place, behind each byte. */
	for (int byte = 1; byte < 256; byte++) {
		for (int before = 0; before < 24; before++) {
			char path[64] = "";

			memset(path, byte, (size_t)before);
			strcpy(path + before, "infinibanD/x");
			assert_false(roost_preload_may_be_ours(path));
			path[before + 9] = 'd';
			assert_true(roost_preload_may_be_ours(path));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rewrite__leads_into_the_picture),
		cmocka_unit_test(rewrite__leads_out_again),
		cmocka_unit_test(rewrite__knows_nodes),
		cmocka_unit_test(rewrite__follows_directories),
		cmocka_unit_test(rewrite__leaves_wrong_descriptors),
		cmocka_unit_test(rewrite__says_what_has_no_room),
		cmocka_unit_test(rewrite__without_a_picture_does_nothing),
		cmocka_unit_test(hidden__is_the_picture_only),
		cmocka_unit_test(may_be_ours__is_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
