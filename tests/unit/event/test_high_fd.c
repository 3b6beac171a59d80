/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/event/high_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "tests/cmocka.h"

static int low;

static int begin(void **state)
{
	(void)state;
	low = eventfd(7, 0);
	return low < 0;
}

static int end(void **state)
{
	(void)state;
	close(low);
	return 0;
}

static void limit_to(rlim_t soft)
{
	struct rlimit limit;

	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	if (limit.rlim_max < soft)
		skip();
	limit.rlim_cur = soft;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
}

/* It is the same eventfd, at a number in [least, end), and low is free. */
static void check_moved(int fd, int least, int end)
{
	uint64_t value;

	assert_in_range(fd, least, end - 1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(fd, &value, sizeof(value)), sizeof(value));
	assert_int_equal(value, 7);
	assert_int_equal(fcntl(low, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	low = fd;
}

/* Programs with select(2) have all numbers that it can take. */
static void high_fd__large_limit_above_select(void **state)
{
	(void)state;
	limit_to(2 * FD_SETSIZE);
	check_moved(roost_high_fd(low), FD_SETSIZE, 2 * FD_SETSIZE);
}

static void high_fd__usual_limit_last_quarter(void **state)
{
	(void)state;
	limit_to(1024);
	check_moved(roost_high_fd(low), 768, 1024);
}

static void high_fd__small_limit_last_quarter(void **state)
{
	(void)state;
	limit_to(64);
	check_moved(roost_high_fd(low), 48, 64);
}

static void high_fd__none_free_stays(void **state)
{
	int others[16];

	(void)state;
	limit_to(64);
	for (int i = 0; i < 16; i++)
		others[i] = roost_high_fd(eventfd(0, 0));
	assert_int_equal(others[15], 63);
	assert_int_equal(roost_high_fd(low), low);
	assert_int_equal(fcntl(low, F_GETFD), 0);
	for (int i = 0; i < 16; i++)
		close(others[i]);
}

static void high_fd__high_one_stays(void **state)
{
	(void)state;
	limit_to(64);
	low = roost_high_fd(low);
	assert_int_equal(roost_high_fd(low), low);
}

/* The result of a call that failed may be passed on as it is. */
static void high_fd__keeps_errno(void **state)
{
	(void)state;
	errno = EMFILE;
	assert_int_equal(roost_high_fd(-1), -1);
	assert_int_equal(errno, EMFILE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(high_fd__large_limit_above_select),
		TEST(high_fd__usual_limit_last_quarter),
		TEST(high_fd__small_limit_last_quarter),
		TEST(high_fd__none_free_stays),
		TEST(high_fd__high_one_stays),
		TEST(high_fd__keeps_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
