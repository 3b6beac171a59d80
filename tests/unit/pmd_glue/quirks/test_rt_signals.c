/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <signal.h>
#include <string.h>

#include "pmd_glue/quirks/rt_signals.h"
#include "tests/cmocka.h"

static void handler(int signo)
{
	(void)signo;
}

static void set(int signo, void (*what)(int))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = what;
	assert_int_equal(sigaction(signo, &sa, NULL), 0);
}

static void (*get(int signo))(int)
{
	struct sigaction sa;

	assert_int_equal(sigaction(signo, NULL, &sa), 0);
	return sa.sa_handler;
}

static void rt_signals__none_looks_free(void **state)
{
	roost_rt_signals_hide();
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		assert_true(get(signo) != SIG_DFL);
	roost_rt_signals_show();
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		assert_true(get(signo) == SIG_DFL);
}

static void rt_signals__those_of_the_application_stay(void **state)
{
	set(SIGRTMIN + 2, handler);
	roost_rt_signals_hide();
	assert_true(get(SIGRTMIN + 2) == handler);
	set(SIGRTMIN + 3, handler); /* taken in between */
	roost_rt_signals_show();
	assert_true(get(SIGRTMIN + 2) == handler);
	assert_true(get(SIGRTMIN + 3) == handler);
	set(SIGRTMIN + 2, SIG_DFL);
	set(SIGRTMIN + 3, SIG_DFL);
}

/* One port is opened aside while another one's driver is called. */
static void rt_signals__the_last_one_shows_them(void **state)
{
	roost_rt_signals_hide();
	roost_rt_signals_hide();
	roost_rt_signals_show();
	assert_true(get(SIGRTMIN + 2) != SIG_DFL);
	roost_rt_signals_show();
	assert_true(get(SIGRTMIN + 2) == SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rt_signals__none_looks_free),
		cmocka_unit_test(rt_signals__those_of_the_application_stay),
		cmocka_unit_test(rt_signals__the_last_one_shows_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
