/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pmd_glue/port/peer_socket.h"
#include "tests/cmocka.h"

static char folder[] = "/tmp/roost-peer-XXXXXX";
static char path[64];
static char why[256];

static int prepare(const char *where, bool serves, bool must_be_there)
{
	why[0] = '\0';
	return roost_peer_socket_prepare(where, serves, must_be_there, why,
					 sizeof(why));
}

static int serve(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (const void *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void socket__free_path(void **state)
{
	assert_int_equal(prepare(path, true, false), 0);
	assert_int_equal(prepare(path, false, false), 0);
	assert_int_equal(prepare("roost-peer.sock", true, false), 0);
}

static void socket__no_folder(void **state)
{
	assert_int_equal(prepare("/nowhere/x.sock", true, false), -ENOENT);
	assert_string_equal(why, "no directory \"/nowhere/\" for its socket; "
				 "make it, or name another path");
	assert_int_equal(prepare("/nowhere/x.sock", false, true), -ENOENT);
}

static void socket__nobody_serves(void **state)
{
	assert_int_equal(prepare(path, false, true), -ENOENT);
	assert_non_null(strstr(why, "start the other end first"));
}

static void socket__left_behind_is_removed(void **state)
{
	close(serve());
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(prepare(path, true, false), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void socket__in_use_stays(void **state)
{
	int fd = serve();

	assert_int_equal(prepare(path, true, false), -EBUSY);
	assert_non_null(strstr(why, "another process serves"));
	assert_int_equal(prepare(path, false, true), 0);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	unlink(path);
}

static void socket__other_files_stay(void **state)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	close(fd);
	assert_int_equal(prepare(path, true, false), -ENOTSOCK);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

static void socket__long_path(void **state)
{
	char text[200];

	memset(text, 'x', sizeof(text));
	text[0] = '/';
	text[108] = '\0';
	assert_int_equal(prepare(text, true, false), -ENAMETOOLONG);
	text[107] = '\0';
	assert_int_equal(prepare(text, true, false), 0);
}

static int setup(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/x.sock", folder);
	return 0;
}

static int teardown(void **state)
{
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(socket__free_path),
		cmocka_unit_test(socket__no_folder),
		cmocka_unit_test(socket__nobody_serves),
		cmocka_unit_test(socket__left_behind_is_removed),
		cmocka_unit_test(socket__in_use_stays),
		cmocka_unit_test(socket__other_files_stay),
		cmocka_unit_test(socket__long_path),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
