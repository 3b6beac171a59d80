/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "apps/shim.h"
#include <roost/config.h>
#include "tests/cmocka.h"
#include "tests/unit/apps/temp_dir.h"

static char exe[PATH_MAX], verbs[PATH_MAX], rdmacm[PATH_MAX];
static char dirs[ROOST_SHIM_DIRS_MAX], err[ROOST_CONFIG_ERR_MAX];

static void cut(char *path)
{
	*strrchr(path, '/') = '\0';
}

static void find__in_the_build_tree(void **state)
{
	char expected[ROOST_SHIM_DIRS_MAX + 1];

	temp_dir_touch("build/apps/roost", 0755, exe);
	temp_dir_touch("build/lib/verbs/libibverbs.so.1", 0644, verbs);
	temp_dir_touch("build/cm/rdmacm/librdmacm.so.1", 0644, rdmacm);
	assert_int_equal(roost_shim_find(exe, dirs, err), 0);
	cut(verbs);
	cut(rdmacm);
	snprintf(expected, sizeof(expected), "%s:%s", verbs, rdmacm);
	assert_string_equal(dirs, expected);
}

static void find__in_an_installation_anywhere(void **state)
{
	temp_dir_touch("moved/" ROOST_BINDIR "/roost", 0755, exe);
	temp_dir_touch("moved/" ROOST_SHIMDIR "/libibverbs.so.1", 0644, verbs);
	temp_dir_touch("moved/" ROOST_SHIMDIR "/librdmacm.so.1", 0644, rdmacm);
	assert_int_equal(roost_shim_find(exe, dirs, err), 0);
	cut(verbs);
	assert_string_equal(dirs, verbs);
}

static void find__installed_never_takes_a_build_tree(void **state)
{
	temp_dir_touch("both/" ROOST_BINDIR "/roost", 0755, exe);
	temp_dir_touch("both/lib/verbs/libibverbs.so.1", 0644, verbs);
	temp_dir_touch("both/cm/rdmacm/librdmacm.so.1", 0644, rdmacm);
	assert_int_equal(roost_shim_find(exe, dirs, err), -ENOENT);
}

static void assert_missing(const char *library)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	assert_int_equal(roost_shim_find(exe, dirs, err), -ENOENT);
	snprintf(expected, sizeof(expected),
		 "%s/none/%s: cannot be read: No such file or directory; build "
		 "or install Roost again",
		 temp_dir, library);
	assert_string_equal(err, expected);
}

static void find__missing_library_is_named(void **state)
{
	temp_dir_touch("none/apps/roost", 0755, exe);
	assert_missing("lib/verbs/libibverbs.so.1");
	temp_dir_touch("none/lib/verbs/libibverbs.so.1", 0644, verbs);
	assert_missing("cm/rdmacm/librdmacm.so.1");
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

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *path = roost_shim_library_path("/shim", rows[i].before);

		assert_string_equal(path, rows[i].after);
		free(path);
	}
}

static void find_preload__where_the_shims_are(void **state)
{
	char library[PATH_MAX], path[PATH_MAX];

	temp_dir_touch("build/apps/roost", 0755, exe);
	temp_dir_touch("build/lib/preload/libroost-sysfs.so", 0644, library);
	assert_int_equal(roost_shim_find_preload(exe, path, err), 0);
	assert_string_equal(path, library);
	temp_dir_touch("in st/bin/roost", 0755, exe);
	assert_int_equal(roost_shim_find_preload(exe, path, err), -ENOENT);
	temp_dir_touch("in st/" ROOST_SHIMDIR "/libroost-sysfs.so", 0644,
		       library);
	/* LD_PRELOAD is a list. */
	assert_int_equal(roost_shim_find_preload(exe, path, err), -EINVAL);
	assert_non_null(strstr(err, "a space"));
}

static void preload__comes_behind_others(void **state)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ NULL, "/p.so" },
		{ "", "/p.so" },
		{ "/libasan.so", "/libasan.so:/p.so" },
		{ "/a.so /b.so", "/a.so /b.so:/p.so" },
		{ "/p.so", "/p.so" },
		{ " /a.so: /p.so", " /a.so: /p.so" },
		{ "/p.so.1", "/p.so.1:/p.so" },
		{ ":", "::/p.so" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *value = roost_shim_preload("/p.so", rows[i].before);

		assert_string_equal(value, rows[i].after);
		free(value);
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
		cmocka_unit_test(find_preload__where_the_shims_are),
		cmocka_unit_test(preload__comes_behind_others),
	};

	return cmocka_run_group_tests(tests, temp_dir_make, temp_dir_remove);
}
