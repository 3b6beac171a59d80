/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A program that sets handlers of SIGSEGV and SIGBUS after it registered
 * memory: it sees what it has set, its own faults come to its handler as it
 * asked for, and those of Roost's accesses do not.
 */

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/engine/core/catch.h"
#include "lib/wire/guard.h"
#include "tests/cmocka.h"

#define PAGE 4096u

static uint8_t *gone; /* a page that is not mapped */
static volatile sig_atomic_t nb_calls, nb_plain_calls;
static void *volatile fault_at;
static sigset_t mask_seen;
static sigjmp_buf back;

static void with_info(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	nb_calls++;
	fault_at = info->si_addr;
	pthread_sigmask(SIG_SETMASK, NULL, &mask_seen);
	siglongjmp(back, 1);
}

static void plain(int sig)
{
	(void)sig;
	nb_plain_calls++;
	siglongjmp(back, 1);
}

static void touch(void)
{
	if (sigsetjmp(back, 1) == 0)
		(void)*(volatile uint8_t *)gone;
}

/* Returns whether Roost found the memory gone, as a worker does. */
static bool roost_reads(void)
{
	uint8_t to[100];
	bool is_gone;

	memset(to, 1, sizeof(to));
	is_gone = roost_guard_copy(to, gone, sizeof(to));
	for (size_t i = 0; i < sizeof(to); i++)
		assert_int_equal(to[i], 0);
	return is_gone;
}

static int start(void **state)
{
	gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (gone == MAP_FAILED)
		return -1;
	roost_catch_start();
	return munmap(gone, PAGE);
}

static void action__set_later(void **state)
{
	struct sigaction act = { .sa_sigaction = with_info,
				 .sa_flags = SA_SIGINFO | SA_NODEFER },
			 seen;

	sigaddset(&act.sa_mask, SIGUSR1);
	assert_int_equal(sigaction(SIGSEGV, &act, NULL), 0);
	assert_int_equal(sigaction(SIGSEGV, NULL, &seen), 0);
	assert_ptr_equal(seen.sa_sigaction, with_info);
	assert_int_equal(seen.sa_flags & (SA_SIGINFO | SA_NODEFER),
			 SA_SIGINFO | SA_NODEFER);
	assert_true(sigismember(&seen.sa_mask, SIGUSR1));
	assert_true(roost_reads());
	assert_int_equal(nb_calls, 0);
	touch();
	assert_int_equal(nb_calls, 1);
	assert_ptr_equal(fault_at, gone);
	assert_true(sigismember(&mask_seen, SIGUSR1));
	assert_false(sigismember(&mask_seen, SIGSEGV));
	assert_true(roost_reads());
	assert_int_equal(nb_calls, 1);
}

static void action__set_by_signal(void **state)
{
	struct sigaction seen;

	assert_true(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
	assert_true(signal(SIGSEGV, plain) == SIG_DFL);
	assert_true(signal(SIGBUS, plain) != SIG_ERR);
	assert_true(signal(SIGSEGV, plain) == plain);
	assert_int_equal(sigaction(SIGSEGV, NULL, &seen), 0);
	assert_ptr_equal(seen.sa_handler, plain);
	assert_true(roost_reads());
	assert_int_equal(nb_plain_calls, 0);
	touch();
	assert_int_equal(nb_plain_calls, 1);
	if (sigsetjmp(back, 1) == 0)
		raise(SIGBUS);
	assert_int_equal(nb_plain_calls, 2);
}

/* Of another signal, nothing changes. */
static void action__of_other_signals(void **state)
{
	struct sigaction seen;

	assert_true(signal(SIGUSR1, plain) == SIG_DFL);
	assert_true(signal(SIGUSR1, SIG_IGN) == plain);
	assert_int_equal(sigaction(SIGUSR1, NULL, &seen), 0);
	assert_true(seen.sa_handler == SIG_IGN);
	assert_int_equal(sigaction(SIGKILL, &seen, NULL), -1);
}

/* How a child ends that faults by itself, or is sent the signal. */
static int end_of_child(const struct sigaction *act, bool sent)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct sigaction dfl = { .sa_handler = SIG_DFL };

		sigaction(SIGSEGV, &dfl, NULL);
		sigaction(SIGSEGV, act, NULL);
		if (!roost_reads())
			_exit(1);
		if (sent)
			raise(SIGSEGV);
		else
			touch();
		/* SA_RESETHAND: the second one ends it. */
		if (act->sa_flags & (int)SA_RESETHAND)
			touch();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void action__of_the_kernel(void **state)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	assert_int_equal(end_of_child(&act, false), SIGSEGV);
	assert_int_equal(end_of_child(&act, true), SIGSEGV);
	act.sa_handler = SIG_IGN;
	assert_int_equal(end_of_child(&act, false), SIGSEGV);
	assert_int_equal(end_of_child(&act, true), 0);
	act.sa_handler = plain;
	assert_int_equal(end_of_child(&act, false), 0);
	act.sa_flags = (int)SA_RESETHAND;
	assert_int_equal(end_of_child(&act, false), SIGSEGV);
}

int main(void)
{
	/* No other order: the first one is the first that sets a handler. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(action__set_later),
		cmocka_unit_test(action__set_by_signal),
		cmocka_unit_test(action__of_other_signals),
		cmocka_unit_test(action__of_the_kernel),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
