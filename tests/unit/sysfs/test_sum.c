/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sysfs/sum.h"
#include "tests/cmocka.h"

static char picture[] = "/tmp/test_sum.XXXXXX";
static char file[64];

static int setup(void **state)
{
	(void)state;
	strcpy(strchr(picture, '.'), ".XXXXXX");
	assert_non_null(mkdtemp(picture));
	snprintf(file, sizeof(file), "%s/.counters-roost0", picture);
	assert_false(roost_picture_has_sum(picture, "roost0"));
	assert_int_equal(roost_picture_sum_make(picture, "roost0"), 0);
	assert_true(roost_picture_has_sum(picture, "roost0"));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(picture);
}

static int sum_of(unsigned int *row, uint64_t pkts, uint64_t *all)
{
	const struct roost_picture_counters own = {
		.port_xmit_packets = pkts,
		.req_remote_invalid_request = 1,
	};
	struct roost_picture_counters sum;
	int ret = roost_picture_sum(picture, "roost0", row, &own, &sum);

	if (ret == 0)
		*all = sum.port_xmit_packets;
	return ret;
}

/* A process that counts so many packets and ends. */
static void count_and_end(uint64_t pkts)
{
	unsigned int row = ROOST_PICTURE_NO_ROW;
	uint64_t all;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(sum_of(&row, pkts, &all) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The picture of a daemon has no file, and processes make none. */
static void sum__needs_the_file(void **state)
{
	unsigned int row = ROOST_PICTURE_NO_ROW;
	uint64_t all = 0;

	(void)state;
	unlink(file);
	assert_int_equal(sum_of(&row, 5, &all), -ENOENT);
	assert_false(roost_picture_has_sum(picture, "roost0"));
}

static void sum__replaces_a_row_and_adds_rows(void **state)
{
	unsigned int one = ROOST_PICTURE_NO_ROW, other = ROOST_PICTURE_NO_ROW;
	uint64_t all = 0;

	(void)state;
	assert_int_equal(sum_of(&one, 5, &all), 0);
	assert_int_equal(all, 5);
	assert_int_equal(sum_of(&one, 7, &all), 0);
	assert_int_equal(all, 7);
	assert_int_equal(sum_of(&other, 100, &all), 0);
	assert_int_equal(all, 107);
	assert_int_not_equal(one, other);
	assert_int_equal(sum_of(&one, 8, &all), 0);
	assert_int_equal(all, 108);
}

static void sum__keeps_what_the_dead_counted(void **state)
{
	unsigned int row = ROOST_PICTURE_NO_ROW;
	uint64_t all = 0;

	(void)state;
	/* More of them than rows. */
	for (unsigned int i = 0; i < 2 * ROOST_PICTURE_ROWS; i++)
		count_and_end(10);
	assert_int_equal(sum_of(&row, 1, &all), 0);
	assert_int_equal(all, 20 * ROOST_PICTURE_ROWS + 1);
}

static void sum__refuses_more_than_rows(void **state)
{
	unsigned int row;
	uint64_t all = 0;

	(void)state;
	for (unsigned int i = 1; i < ROOST_PICTURE_ROWS; i++) {
		row = ROOST_PICTURE_NO_ROW;
		assert_int_equal(sum_of(&row, 1, &all), 0);
	}
	row = ROOST_PICTURE_NO_ROW;
	assert_int_equal(sum_of(&row, 1, &all), -ENOSPC);
	assert_int_equal(all, ROOST_PICTURE_ROWS - 1);
}

static void sum__does_not_wait(void **state)
{
	unsigned int row = ROOST_PICTURE_NO_ROW;
	uint64_t all = 0;
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	(void)state;
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(sum_of(&row, 1, &all), -EAGAIN);
	close(fd);
	assert_int_equal(sum_of(&row, 1, &all), 0);
	assert_int_equal(all, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sum__needs_the_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			sum__replaces_a_row_and_adds_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(
			sum__keeps_what_the_dead_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(sum__refuses_more_than_rows,
						setup, teardown),
		cmocka_unit_test_setup_teardown(sum__does_not_wait, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
