/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "apps/command.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/temp_dir.h"

static char path[PATH_MAX], found[PATH_MAX];

static void set_path(const char *format)
{
	char value[2 * PATH_MAX];

	snprintf(value, sizeof(value), format, temp_dir, temp_dir);
	setenv("PATH", value, 1);
}

static void find__takes_the_first_executable(void **state)
{
	temp_dir_touch("first/prog", 0644, path);
	temp_dir_touch("second/prog", 0755, path);
	set_path("%s/first:%s/second");
	assert_true(roost_command_find("prog", found));
	assert_string_equal(found, path);
	assert_false(roost_command_find("prog-not-there", found));
}

static void find__a_slash_is_a_path(void **state)
{
	temp_dir_touch("second/prog", 0755, path);
	set_path("%s/second");
	assert_true(roost_command_find(path, found));
	assert_string_equal(found, path);
	assert_false(roost_command_find("./prog", found));
}

static void find__empty_element_is_the_working_directory(void **state)
{
	char before[PATH_MAX];

	temp_dir_touch("second/prog", 0755, path);
	assert_non_null(getcwd(before, sizeof(before)));
	*strrchr(path, '/') = '\0';
	assert_int_equal(chdir(path), 0);
	setenv("PATH", "/nowhere:", 1);
	assert_true(roost_command_find("prog", found));
	assert_string_equal(found, "./prog");
	assert_int_equal(chdir(before), 0);
}

static void find__no_directory_is_taken(void **state)
{
	temp_dir_touch("tree/prog/file", 0644, path);
	set_path("%s/tree");
	assert_false(roost_command_find("prog", found));
}

static void find__path_not_set_means_the_systems(void **state)
{
	unsetenv("PATH");
	assert_true(roost_command_find("sh", found));
	assert_string_equal(found, "/bin/sh");
}

static void privileged__plain_files_are_not(void **state)
{
	temp_dir_touch("plain", 0755, path);
	assert_false(roost_command_is_privileged(path));
	assert_false(roost_command_is_privileged("/nowhere/at/all"));
}

/* One's own setuid program raises nothing; somebody else's does. */
static void privileged__setuid_of_another_user_is(void **state)
{
	temp_dir_touch("setuid", 04755, path);
	assert_false(roost_command_is_privileged(path));
	if (getuid() != 0)
		skip();
	assert_int_equal(chown(path, 65534, getgid()), 0);
	assert_int_equal(chmod(path, 04755), 0);
	assert_true(roost_command_is_privileged(path));
}

static void privileged__setgid_of_another_group_is(void **state)
{
	temp_dir_touch("setgid", 02755, path);
	if (getuid() != 0)
		skip();
	assert_int_equal(chown(path, getuid(), 65534), 0);
	assert_int_equal(chmod(path, 02755), 0);
	assert_true(roost_command_is_privileged(path));
	/* Mandatory locking, of old. */
	assert_int_equal(chmod(path, 02745), 0);
	assert_false(roost_command_is_privileged(path));
}

static void privileged__capabilities_are_for_others_than_root(void **state)
{
	/* struct vfs_ns_cap_data's revision 2: effective, CAP_NET_RAW. */
	static const uint32_t caps[5] = { 0x02000001u, 1u << 13, 0, 0, 0 };
	int status;
	pid_t pid;

	temp_dir_touch("caps", 0755, path);
	if (getuid() != 0 ||
	    setxattr(path, "security.capability", caps, sizeof(caps), 0) != 0)
		skip();
	assert_false(roost_command_is_privileged(path));
	assert_int_equal(chmod(temp_dir, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(setuid(65534) == 0 && roost_command_is_privileged(path)
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__takes_the_first_executable),
		cmocka_unit_test(find__a_slash_is_a_path),
		cmocka_unit_test(find__empty_element_is_the_working_directory),
		cmocka_unit_test(find__no_directory_is_taken),
		cmocka_unit_test(find__path_not_set_means_the_systems),
		cmocka_unit_test(privileged__plain_files_are_not),
		cmocka_unit_test(privileged__setuid_of_another_user_is),
		cmocka_unit_test(privileged__setgid_of_another_group_is),
		cmocka_unit_test(
			privileged__capabilities_are_for_others_than_root),
	};

	return cmocka_run_group_tests(tests, temp_dir_make, temp_dir_remove);
}
