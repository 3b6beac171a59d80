/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include "pmd_glue/process/rights.h"
#include "tests/cmocka.h"

/* What is given up stays away, from programs that are executed, too. */
static int give_up(void)
{
	char lacks[ROOST_RIGHTS_MAX];

	if (roost_rights_keep("CAP_NET_RAW,CAP_BPF") != 0)
		return 1;
	if (roost_rights_lack("CAP_NET_RAW", lacks))
		return 2;
	if (!roost_rights_lack("CAP_NET_RAW,CAP_NET_ADMIN,CAP_SYS_ADMIN",
			       lacks) ||
	    strcmp(lacks, "CAP_NET_ADMIN and CAP_SYS_ADMIN") != 0)
		return 3;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 4;
	if (prctl(PR_CAPBSET_READ, CAP_NET_ADMIN, 0, 0, 0) != 0 ||
	    prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) != 0 ||
	    prctl(PR_CAPBSET_READ, CAP_NET_RAW, 0, 0, 0) != 1)
		return 5;
	/* The kernel agrees: the one works, the other does not. */
	if (socket(AF_INET, SOCK_RAW, 1) < 0)
		return 6;
	if (chown("/", 1, 1) == 0)
		return 7;
	/* Once more, with less; and more is not got back. */
	if (roost_rights_keep("") != 0 ||
	    roost_rights_keep("CAP_NET_RAW") != 0 ||
	    socket(AF_INET, SOCK_RAW, 1) >= 0)
		return 8;
	return 0;
}

static void rights__are_given_up(void **state)
{
	char lacks[ROOST_RIGHTS_MAX];
	int status;
	pid_t pid;

	if (geteuid() != 0 ||
	    roost_rights_lack("CAP_NET_RAW,CAP_NET_ADMIN", lacks))
		skip();
	pid = fork();
	if (pid == 0)
		_exit(give_up());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A user without any has nothing to give up. */
static void rights__of_a_user(void **state)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(1);
		_exit(roost_rights_keep("CAP_NET_RAW") ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights__are_given_up),
		cmocka_unit_test(rights__of_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
