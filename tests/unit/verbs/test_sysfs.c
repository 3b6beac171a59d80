/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/verbs/private.h"
#include "verbs_test.h"

static char dir[] = "/tmp/roost-sysfs-XXXXXX";

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

static int read_back(const char *content, char *buf, size_t size)
{
	char path[64];
	int fd, len;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
	len = ibv_read_sysfs_file(dir, "file", buf, size);
	unlink(path);
	return len;
}

static void read__strips_one_newline(void **state)
{
	char buf[16];

	assert_int_equal(read_back("board\n", buf, sizeof(buf)), 5);
	assert_string_equal(buf, "board");
	assert_int_equal(read_back("board", buf, sizeof(buf)), 5);
	assert_string_equal(buf, "board");
	assert_int_equal(read_back("a\n\n", buf, sizeof(buf)), 2);
	assert_string_equal(buf, "a\n");
	assert_int_equal(read_back("", buf, sizeof(buf)), 0);
}

/* What does not fit with its terminator is an error, not a part. */
static void read__fits_or_fails(void **state)
{
	char buf[6];

	assert_int_equal(read_back("board\n", buf, 6), 5);
	assert_string_equal(buf, "board");
	assert_int_equal(read_back("boards", buf, 6), -1);
	assert_int_equal(read_back("boards\n", buf, 6), -1);
}

static void read__no_such_file(void **state)
{
	char buf[8];

	errno = 0;
	assert_int_equal(ibv_read_sysfs_file(dir, "none", buf, 8), -1);
	assert_int_equal(errno, ENOENT);
}

/* What the user called the port; devices are there once they were listed. */
static void read__board_id(void **state)
{
	char buf[32];

	setenv("ROOST_PORT0_LINK", "lab", 1);
	setenv("ROOST_PORT0_VLAN", "5", 1);
	ibv_free_device_list(ibv_get_device_list(NULL));
	assert_int_equal(ibv_read_sysfs_file("/sys/class/infiniband/roost0",
					     "board_id", buf, sizeof(buf)),
			 17);
	assert_string_equal(buf, "link \"lab\" VLAN 5");
	assert_int_equal(ibv_read_sysfs_file("/sys/class/infiniband/roost0",
					     "board_id", buf, 17),
			 -1);
	assert_int_equal(ibv_read_sysfs_file("/sys/class/infiniband/roost1",
					     "board_id", buf, sizeof(buf)),
			 -1);
	assert_int_equal(ibv_read_sysfs_file("/sys/class/infiniband/roost0",
					     "hca_type", buf, sizeof(buf)),
			 -1);
}

static void path__is_where_linux_has_it(void **state)
{
	assert_string_equal(ibv_get_sysfs_path(), "/sys");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__strips_one_newline),
		cmocka_unit_test(read__fits_or_fails),
		cmocka_unit_test(read__no_such_file),
		cmocka_unit_test(read__board_id),
		cmocka_unit_test(path__is_where_linux_has_it),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
