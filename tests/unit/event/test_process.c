/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/event/process.h"
#include "tests/cmocka.h"

#define CHILD_S 10

/* What the functions below did, one digit each. */
static unsigned int ran;

static void first(void)
{
	ran = ran * 10 + 1;
}

static void second(void)
{
	ran = ran * 10 + 2;
}

__attribute__((constructor)) static void watch(void)
{
	static struct roost_process_child children[] = { { .run = first },
							 { .run = second } };

	roost_process_at_child(&children[0]);
	roost_process_at_child(&children[1]);
}

/* The child's answer, 0 to 255; a signal ends the test. */
static int answer(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void process__number_stays(void **state)
{
	const uint32_t mine = roost_process();

	assert_int_not_equal(mine, 0);
	assert_int_equal(roost_process(), mine);
	assert_int_equal(ran, 0);
}

/* 0: a new number, kept, and both functions ran once and in order. */
static int child_main(uint32_t of_parent)
{
	const uint32_t mine = roost_process();

	return mine <= of_parent || roost_process() != mine || ran != 12;
}

static void process__child_has_another(void **state)
{
	const uint32_t mine = roost_process();
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		alarm(CHILD_S);
		_exit(child_main(mine));
	}
	assert_int_equal(answer(pid), 0);
	assert_int_equal(roost_process(), mine);
	assert_int_equal(ran, 0);
}

static void process__grandchild_has_a_third(void **state)
{
	const uint32_t mine = roost_process();
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		const uint32_t child = roost_process();

		alarm(CHILD_S);
		ran = 0;
		pid = fork();
		if (pid == 0)
			_exit(child_main(child) || child <= mine);
		_exit(waitpid(pid, &status, 0) != pid || status != 0);
	}
	assert_int_equal(answer(pid), 0);
}

/* No handler of fork(3) runs; the kernel has cleared the page. */
static void process__child_without_handlers_has_another(void **state)
{
	const uint32_t mine = roost_process();
	pid_t pid;

	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(child_main(mine));
	assert_int_equal(answer(pid), 0);
}

static uint32_t seen;

static int shares_memory(void *arg)
{
	seen = roost_process();
	return arg != NULL;
}

static void process__child_in_the_same_memory_has_the_same(void **state)
{
	static uint8_t stack[65536] __attribute__((aligned(16)));

	assert_int_equal(answer(clone(shares_memory, stack + sizeof(stack),
				      CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)),
			 0);
	assert_int_equal(seen, roost_process());
	assert_int_equal(ran, 0);
}

#define PAGE_BYTES 65536 /* of any size: whole ones */

/* What a child, made without handlers, finds in the four: a bit each. */
static int child_finds(const uint8_t *pages)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	int found = 0;

	if (pid == 0) {
		for (int i = 0; i < 4; i++)
			found = found << 1 | pages[i * PAGE_BYTES];
		_exit(found);
	}
	return answer(pid);
}

static void process__pages_that_children_find_zeroed(void **state)
{
	uint8_t *pages = aligned_alloc(PAGE_BYTES, 4 * PAGE_BYTES);
	uint8_t *middle;

	assert_non_null(pages);
	middle = pages + PAGE_BYTES;
	memset(pages, 1, 4 * PAGE_BYTES);
	roost_process_clear(middle, 2 * PAGE_BYTES);
	assert_int_equal(child_finds(pages), 9);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pages[i * PAGE_BYTES], 1);
	roost_process_keep(middle, 2 * PAGE_BYTES);
	assert_int_equal(child_finds(pages), 15);
	/* No whole page: nothing is done. */
	roost_process_clear(middle, 64);
	roost_process_clear(middle + 64, PAGE_BYTES);
	assert_int_equal(child_finds(pages), 15);
	free(pages);
}

/* ---- holding forks off --------------------------------------------------- */

/* Equal but between hold and release. */
static volatile uint32_t left, right;
static atomic_bool stop;

static void *change(void *arg)
{
	while (!atomic_load(&stop)) {
		roost_process_fork_hold();
		left++;
		sched_yield();
		right++;
		roost_process_fork_release();
	}
	return arg;
}

static void process__held_off_fork_sees_all_or_nothing(void **state)
{
	pthread_t thread;
	pid_t pid;

	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	for (int i = 0; i < 100; i++) {
		pid = fork();
		if (pid == 0) {
			alarm(CHILD_S);
			/* The lock is the child's own, and free. */
			roost_process_fork_hold();
			roost_process_fork_release();
			_exit(left != right);
		}
		assert_int_equal(answer(pid), 0);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

/* As a signal handler that forks may. */
static void process__fork_of_who_holds_it_off_comes_back(void **state)
{
	pid_t pid;

	alarm(CHILD_S);
	roost_process_fork_hold();
	pid = fork();
	if (pid == 0)
		_exit(child_main(0));
	roost_process_fork_release();
	assert_int_equal(answer(pid), 0);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process__number_stays),
		cmocka_unit_test(process__child_has_another),
		cmocka_unit_test(process__grandchild_has_a_third),
		cmocka_unit_test(process__child_without_handlers_has_another),
		cmocka_unit_test(
			process__child_in_the_same_memory_has_the_same),
		cmocka_unit_test(process__pages_that_children_find_zeroed),
		cmocka_unit_test(process__held_off_fork_sees_all_or_nothing),
		cmocka_unit_test(process__fork_of_who_holds_it_off_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
