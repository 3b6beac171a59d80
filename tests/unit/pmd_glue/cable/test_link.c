/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmd_glue/cable/link.h"
#include "tests/cmocka.h"

static char name[32]; /* nobody else's */
static pid_t pids[2];

static int make_name(void **state)
{
	snprintf(name, sizeof(name), "test-%d", getpid());
	return 0;
}

/* A child that claims an end, where it is told to, and then waits to be killed;
 * *end is the end that it has.
 */
static pid_t child(bool claims, unsigned int *end)
{
	struct roost_link link = { .end = 77 };
	int pipe_fds[2];
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (claims && roost_link_claim(name, &link, pids) != 0)
			_exit(1);
		if (write(pipe_fds[1], &link.end, sizeof(link.end)) > 0)
			pause();
		_exit(1);
	}
	assert_true(pid > 0);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], end, sizeof(*end)), sizeof(*end));
	close(pipe_fds[0]);
	return pid;
}

static pid_t holder(unsigned int *end)
{
	return child(true, end);
}

static void kill_and_wait(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void link_claim__first_then_second_end(void **state)
{
	struct roost_link a, b;

	assert_int_equal(roost_link_claim(name, &a, pids), 0);
	assert_int_equal(a.end, 0);
	assert_int_equal(roost_link_claim(name, &b, pids), 0);
	assert_int_equal(b.end, 1);
	roost_link_release(&a);
	roost_link_release(&b);
}

static void link_claim__third_learns_who_has_it(void **state)
{
	struct roost_link c;
	unsigned int end;
	pid_t a = holder(&end), b = holder(&end);

	assert_int_equal(end, 1);
	assert_int_equal(roost_link_claim(name, &c, pids), -EBUSY);
	assert_int_equal(pids[0], a);
	assert_int_equal(pids[1], b);
	kill_and_wait(a);
	kill_and_wait(b);
}

static void link_claim__released_end_is_free(void **state)
{
	struct roost_link a, b, c;

	assert_int_equal(roost_link_claim(name, &a, pids), 0);
	assert_int_equal(roost_link_claim(name, &b, pids), 0);
	roost_link_release(&a);
	assert_int_equal(roost_link_claim(name, &c, pids), 0);
	assert_int_equal(c.end, 0);
	roost_link_release(&b);
	roost_link_release(&c);
}

static void link_claim__killed_holder_leaves_nothing(void **state)
{
	struct roost_link c;
	unsigned int end;
	pid_t a = holder(&end), b = holder(&end);

	kill_and_wait(b);
	assert_int_equal(roost_link_claim(name, &c, pids), 0);
	assert_int_equal(c.end, 1);
	roost_link_release(&c);
	kill_and_wait(a);
	assert_int_equal(roost_link_claim(name, &c, pids), 0);
	assert_int_equal(c.end, 0);
	roost_link_release(&c);
}

/* A child that the application forks must not keep the parent's end. */
static void link_claim__forked_child_holds_nothing(void **state)
{
	struct roost_link a, b;
	unsigned int end;
	pid_t pid;

	assert_int_equal(roost_link_claim(name, &a, pids), 0);
	pid = child(false, &end);
	roost_link_release(&a);
	assert_int_equal(roost_link_claim(name, &b, pids), 0);
	assert_int_equal(b.end, 0);
	roost_link_release(&b);
	kill_and_wait(pid);
}

static void link_mac__of_name_and_end(void **state)
{
	uint8_t a[6], b[6], again[6], other[6];

	roost_link_mac("default", 0, a);
	roost_link_mac("default", 1, b);
	roost_link_mac("default", 0, again);
	roost_link_mac("defaulu", 0, other);
	assert_int_equal(a[0], 0x02);
	assert_memory_equal(a, again, 6);
	assert_memory_not_equal(a, b, 6);
	assert_memory_not_equal(a, other, 6);
}

static void link_address__of_user_name_and_end(void **state)
{
	char address[ROOST_LINK_ADDRESS_MAX], wanted[64];
	char longest[ROOST_LINK_NAME_MAX + 1] = "";

	snprintf(wanted, sizeof(wanted), "@roost/%u/x/2", getuid());
	roost_link_address("x", 1, address);
	assert_string_equal(address, wanted);
	/* Of any user, the longest name is whole. */
	memset(longest, 'y', sizeof(longest) - 1);
	assert_true(strlen("@roost/4294967295//2") + strlen(longest) <
		    sizeof(address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_claim__first_then_second_end),
		cmocka_unit_test(link_claim__third_learns_who_has_it),
		cmocka_unit_test(link_claim__released_end_is_free),
		cmocka_unit_test(link_claim__killed_holder_leaves_nothing),
		cmocka_unit_test(link_claim__forked_child_holds_nothing),
		cmocka_unit_test(link_mac__of_name_and_end),
		cmocka_unit_test(link_address__of_user_name_and_end),
	};

	return cmocka_run_group_tests(tests, make_name, NULL);
}
