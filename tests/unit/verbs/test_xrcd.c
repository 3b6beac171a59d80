/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "verbs_test.h"

static struct ibv_context *c;
static char path[] = "/tmp/roost-test-xrcd-XXXXXX";
static int fd;

static int setup(void **state)
{
	c = open_roost0();
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	close(fd);
	unlink(path);
	close_roost0(c);
	return 0;
}

static struct ibv_xrcd *open_by(struct ibv_context *context, int by, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = by,
		.oflags = oflags,
	};

	return ibv_open_xrcd(context, &attr);
}

static void open_xrcd__anonymous_ones_are_apart(void **state)
{
	struct ibv_xrcd *a = open_by(c, -1, 0), *b = open_by(c, -1, 0);

	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_equal(a->context, c);
	assert_null(fake.xrcd_shared);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(ibv_close_xrcd(b), 0);
	assert_int_equal(fake.xrcds, 0);
}

static void open_xrcd__one_file_is_one_domain(void **state)
{
	int other_fd = open(path, O_RDONLY);
	struct ibv_xrcd *a, *b;

	/* the first must be allowed to create it */
	assert_null_errno(open_by(c, fd, 0), EAGAIN);
	a = open_by(c, fd, O_CREAT);
	assert_non_null(a);
	assert_null(fake.xrcd_shared);
	b = open_by(c, other_fd, 0);
	assert_non_null(b);
	assert_non_null(fake.xrcd_shared);
	assert_null_errno(open_by(c, other_fd, O_CREAT | O_EXCL), EINVAL);
	/* the descriptors are not needed any more */
	close(other_fd);
	ibv_close_xrcd(a);
	fake.xrcd_shared = NULL;
	a = open_by(c, fd, 0);
	assert_non_null(fake.xrcd_shared);
	ibv_close_xrcd(a);
	ibv_close_xrcd(b);
	/* and with the last one it is gone */
	assert_null_errno(open_by(c, fd, 0), EAGAIN);
}

static void open_xrcd__other_file_other_domain(void **state)
{
	int other_fd = open("/", O_RDONLY);
	struct ibv_xrcd *a = open_by(c, fd, O_CREAT);
	struct ibv_xrcd *b = open_by(c, other_fd, O_CREAT | O_EXCL);

	assert_non_null(b);
	assert_null(fake.xrcd_shared);
	ibv_close_xrcd(a);
	ibv_close_xrcd(b);
	close(other_fd);
}

static void open_xrcd__errors(void **state)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1 };

	assert_null_errno(ibv_open_xrcd(c, &attr), EINVAL);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	assert_null_errno(ibv_open_xrcd(c, &attr), EINVAL);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_RESERVED;
	assert_null_errno(ibv_open_xrcd(c, &attr), EOPNOTSUPP);
	assert_null_errno(open_by(c, 9999, O_CREAT), EBADF);
	fake.fail_call = "roost_xrcd_open";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(open_by(c, fd, O_CREAT), ENOMEM);
	fake.fail_call = NULL;
	assert_null_errno(open_by(c, fd, 0), EAGAIN);
}

static void close_xrcd__refused_changes_nothing(void **state)
{
	struct ibv_xrcd *a = open_by(c, fd, O_CREAT), *b;

	fake.fail_call = "roost_xrcd_close";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_close_xrcd(a), EBUSY);
	fake.fail_call = NULL;
	b = open_by(c, fd, 0);
	assert_non_null(b);
	ibv_close_xrcd(b);
	assert_int_equal(ibv_close_xrcd(a), 0);
}

/* ---- other processes ----------------------------------------------------- */

/* As another process that has a domain of the file; -1: one has it already. */
static int mark_of_file(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_DGRAM, 0), len;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
		       "roost/xrcd/%llx/%x:%x/%llu",
		       (unsigned long long)be64toh(
			       ibv_get_device_guid(c->device)),
		       major(st.st_dev), minor(st.st_dev),
		       (unsigned long long)st.st_ino);
	if (bind(s, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     (size_t)len)) == 0)
		return s;
	assert_int_equal(errno, EADDRINUSE);
	close(s);
	return -1;
}

static void mark__lives_as_long_as_the_domain(void **state)
{
	struct ibv_xrcd *a = open_by(c, fd, O_CREAT), *b = open_by(c, fd, 0);
	int s;

	assert_int_equal(mark_of_file(), -1);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(mark_of_file(), -1);
	assert_int_equal(ibv_close_xrcd(b), 0);
	s = mark_of_file();
	assert_true(s >= 0);
	close(s);
}

/* Nothing can be done about it; but the program is told, once. */
static void mark__of_another_process_is_told_once(void **state)
{
	int s = mark_of_file(), err = dup(2);
	int lines = memfd_create("lines", 0);
	struct ibv_xrcd *x;
	char text[1024] = "";

	fflush(stderr);
	dup2(lines, 2);
	for (int i = 0; i < 2; i++) {
		x = open_by(c, fd, O_CREAT);
		assert_non_null(x);
		assert_int_equal(ibv_close_xrcd(x), 0);
	}
	dup2(err, 2);
	close(err);
	assert_true(pread(lines, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "roost: ibv_open_xrcd: another process"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	close(lines);
	close(s);
}

static void mark__of_another_process_refuses(void **state)
{
	int s = mark_of_file();
	struct ibv_xrcd *x;

	assert_null_errno(open_by(c, fd, 0), EOPNOTSUPP);
	assert_null_errno(open_by(c, fd, O_CREAT | O_EXCL), EINVAL);
	x = open_by(c, fd, O_CREAT);
	assert_non_null(x);
	close(s);
	/* Who asked in vain has left no mark. */
	assert_int_equal(ibv_close_xrcd(x), 0);
	assert_null_errno(open_by(c, fd, 0), EAGAIN);
	x = open_by(c, fd, O_CREAT | O_EXCL);
	assert_non_null(x);
	assert_int_equal(ibv_close_xrcd(x), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open_xrcd__anonymous_ones_are_apart),
		TEST(open_xrcd__one_file_is_one_domain),
		TEST(open_xrcd__other_file_other_domain),
		TEST(open_xrcd__errors),
		TEST(close_xrcd__refused_changes_nothing),
		TEST(mark__lives_as_long_as_the_domain),
		TEST(mark__of_another_process_is_told_once),
		TEST(mark__of_another_process_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
