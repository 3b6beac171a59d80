/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "apps/shim.h"
#include "lib/config/config.h"
#include "tests/unit/apps/temp_dir.h"

static char exe[PATH_MAX], library[PATH_MAX], dir[PATH_MAX];
static char err[ROOST_CONFIG_ERR_MAX];

/* dir is where library lies. */
static void assert_found(void)
{
	*strrchr(library, '/') = '\0';
	assert_string_equal(dir, library);
}

static void find__in_the_build_tree(void **state)
{
	(void)state;
	temp_dir_touch("build/apps/roost", 0755, exe);
	temp_dir_touch("build/lib/verbs/libibverbs.so.1", 0644, library);
	assert_int_equal(roost_shim_find(exe, dir, err), 0);
	assert_found();
}

static void find__in_an_installation_anywhere(void **state)
{
	(void)state;
	temp_dir_touch("moved/" ROOST_BINDIR "/roost", 0755, exe);
	temp_dir_touch("moved/" ROOST_SHIMDIR "/libibverbs.so.1", 0644,
		       library);
	assert_int_equal(roost_shim_find(exe, dir, err), 0);
	assert_found();
}

static void find__installed_never_takes_a_build_tree(void **state)
{
	(void)state;
	temp_dir_touch("both/" ROOST_BINDIR "/roost", 0755, exe);
	temp_dir_touch("both/lib/verbs/libibverbs.so.1", 0644, library);
	assert_int_equal(roost_shim_find(exe, dir, err), -ENOENT);
}

static void find__missing_library_is_named(void **state)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	(void)state;
	temp_dir_touch("none/apps/roost", 0755, exe);
	assert_int_equal(roost_shim_find(exe, dir, err), -ENOENT);
	snprintf(expected, sizeof(expected),
		 "%s/none/lib/verbs/libibverbs.so."
		 "1: cannot be read: No such file or directory; build or "
		 "install Roost again",
		 temp_dir);
	assert_string_equal(err, expected);
}

static void library_path__prepends_once(void **state)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ NULL, "/shim" },
		/* An empty element would be the working directory. */
		{ "", "/shim" },
		{ "/a:/b", "/shim:/a:/b" },
		{ "/shim", "/shim" },
		{ "/shim:/a", "/shim:/a" },
		{ "/shimmer", "/shim:/shimmer" },
		{ "/a:/shim", "/shim:/a:/shim" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *path = roost_shim_library_path("/shim", rows[i].before);

		assert_string_equal(path, rows[i].after);
		free(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__in_the_build_tree),
		cmocka_unit_test(find__in_an_installation_anywhere),
		cmocka_unit_test(find__installed_never_takes_a_build_tree),
		cmocka_unit_test(find__missing_library_is_named),
		cmocka_unit_test(library_path__prepends_once),
	};

	return cmocka_run_group_tests(tests, temp_dir_make, temp_dir_remove);
}
