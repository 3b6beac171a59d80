/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>
#include <unistd.h>

#include "pmd_glue/process/report.h"
#include "tests/cmocka.h"

/* Report text with stderr caught. Returns what came out. */
static const char *reported(const char *text)
{
	static char out[2048];
	int fds[2], saved = dup(STDERR_FILENO);
	ssize_t len;

	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	roost_report("%s", text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	len = read(fds[0], out, sizeof(out) - 1);
	close(fds[0]);
	out[len > 0 ? len : 0] = '\0';
	return out;
}

static void report__is_one_line(void **state)
{
	assert_string_equal(reported("it broke; mend it"),
			    "roost: it broke; mend it\n");
}

/* What users wrote may hold anything. */
static void report__stays_one_line(void **state)
{
	assert_string_equal(reported("a\nb\x1b[31m"), "roost: a?b?[31m\n");
}

static void report__long_text_is_cut(void **state)
{
	char text[4000];
	const char *out;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	out = reported(text);
	assert_int_equal(strlen(out), 1023);
	assert_int_equal(out[1022], '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report__is_one_line),
		cmocka_unit_test(report__stays_one_line),
		cmocka_unit_test(report__long_text_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
