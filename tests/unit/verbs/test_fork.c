/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <sys/wait.h>
#include <unistd.h>

#include "lib/verbs/private.h"
#include "verbs_test.h"

static void fork__needs_nothing(void **state)
{
	char buf[8];

	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	assert_int_equal(ibv_dontfork_range(buf, sizeof(buf)), 0);
	assert_int_equal(ibv_dofork_range(buf, sizeof(buf)), 0);
}

static void fork__child_that_uses_no_verbs_just_runs(void **state)
{
	struct ibv_context *c = open_roost0();
	int status;
	pid_t pid;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(42);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork__needs_nothing),
		cmocka_unit_test(fork__child_that_uses_no_verbs_just_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
