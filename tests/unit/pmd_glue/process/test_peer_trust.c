/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmd_glue/process/peer_trust.h"
#include "tests/cmocka.h"

/* The kernel's name for users without a number in a namespace. */
#define NOBODY 65534

static struct roost_peer_trust trust = { .label = "a port" };

static int pair_with(uid_t uid)
{
	int fds[2];

	/* Of a socketpair, both ends have who made it. */
	if (seteuid(uid) != 0)
		return -1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(seteuid(0), 0);
	close(fds[1]);
	return fds[0];
}

static void skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: only root can be another user\n");
	skip();
}

static void trust__own_user_root_and_the_named(void **state)
{
	int of_root, of_other, of_third;

	skip_unless_root();
	of_root = pair_with(0);
	of_other = pair_with(4321);
	of_third = pair_with(4322);
	assert_true(roost_peer_is_trusted(&trust, of_root));
	assert_false(roost_peer_is_trusted(&trust, of_other));
	trust.users = (struct roost_users){ .nb = 1, .v = { 4321 } };
	assert_true(roost_peer_is_trusted(&trust, of_other));
	assert_false(roost_peer_is_trusted(&trust, of_third));
	trust.users.nb = 0;
	assert_int_equal(seteuid(4322), 0);
	assert_true(roost_peer_is_trusted(&trust, of_root));
	assert_true(roost_peer_is_trusted(&trust, of_third));
	assert_false(roost_peer_is_trusted(&trust, of_other));
	assert_int_equal(seteuid(0), 0);
	close(of_root);
	close(of_other);
	close(of_third);
}

/* What has no peer is no peer. */
static void trust__no_credentials_no_trust(void **state)
{
	int alone = socket(AF_UNIX, SOCK_STREAM, 0);
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_false(roost_peer_is_trusted(&trust, fds[0]));
	assert_false(roost_peer_is_trusted(&trust, alone));
	assert_false(roost_peer_is_trusted(&trust, -1));
	close(alone);
	close(fds[0]);
	close(fds[1]);
}

/* In a namespace with no users but one that is not mapped, all others look the
 * same as we do.
 */
static void trust__who_is_not_mapped_is_nobody(void **state)
{
	int status;
	pid_t pid;

	skip_unless_root();
	assert_true(roost_uid_is_ours(0));
	pid = fork();
	if (pid == 0) {
		if (setresuid(4321, 4321, 4321) != 0 ||
		    unshare(CLONE_NEWUSER) != 0)
			_exit(77);
		trust.users = (struct roost_users){ .nb = 1, .v = { NOBODY } };
		_exit(geteuid() != NOBODY || roost_uid_is_ours(geteuid()));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* Outside of all namespaces it is a user like others. */
static void trust__nobody_may_be_somebody(void **state)
{
	int fd;

	skip_unless_root();
	fd = pair_with(NOBODY);
	assert_false(roost_peer_is_trusted(&trust, fd));
	close(fd);
}

/* A flood of strangers is a line. */
static void trust__tells_once(void **state)
{
	int fd = pair_with(geteuid()), err[2], saved = dup(STDERR_FILENO);
	char text[4096] = "", pid[32];
	ssize_t len;

	assert_int_equal(pipe(err), 0);
	dup2(err[1], STDERR_FILENO);
	for (int i = 0; i < 100; i++)
		roost_peer_report(&trust, fd);
	dup2(saved, STDERR_FILENO);
	close(err[1]);
	close(saved);
	len = read(err[0], text, sizeof(text) - 1);
	assert_true(len > 0);
	snprintf(pid, sizeof(pid), "process %d of user %d", getpid(),
		 geteuid());
	assert_non_null(strstr(text, pid));
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	assert_int_equal(atomic_load(&trust.nb_untold), 99);
	close(err[0]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trust__own_user_root_and_the_named),
		cmocka_unit_test(trust__no_credentials_no_trust),
		cmocka_unit_test(trust__who_is_not_mapped_is_nobody),
		cmocka_unit_test(trust__nobody_may_be_somebody),
		cmocka_unit_test(trust__tells_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
