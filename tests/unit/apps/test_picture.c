/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "apps/picture_dir.h"
#include "apps/picture_keeper.h"
#include "apps/picture_static.h"
#include "lib/config/resolve.h"
#include "lib/sysfs/picture.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/temp_dir.h"

static char path[ROOST_PICTURE_PATH_MAX];

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static void below(char *name, const char *what)
{
	assert_true(snprintf(name, PATH_MAX, "%s/%s", path, what) < PATH_MAX);
}

/* Whatever was made now was made long ago. */
static void grow_old(void)
{
	sleep(3);
}

static bool ends(void)
{
	for (int i = 0; i < 200 && is_there(path); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	return !is_there(path);
}

static void make__is_readable(void **state)
{
	char other[ROOST_PICTURE_PATH_MAX];
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(roost_picture_make(temp_dir, path), 0);
	assert_int_equal(roost_picture_make(temp_dir, other), 0);
	fd = roost_picture_lock(path);
	assert_true(fd >= 0);
	assert_int_equal(roost_picture_lock(path), -EAGAIN);
	assert_string_not_equal(path, other);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	assert_int_equal(st.st_uid, geteuid());
	roost_picture_remove(path);
	roost_picture_remove(other);
	assert_false(is_there(path));
	assert_false(is_there(other));
	close(fd);
	assert_int_equal(roost_picture_make("/proc/self", path), -ENOENT);
	assert_int_equal(roost_picture_make("relative", path), -ENAMETOOLONG);
}

/* A link in it, wherever that leads, is removed as a link. */
static void remove__follows_no_link(void **state)
{
	char name[PATH_MAX], kept[PATH_MAX];

	(void)state;
	assert_int_equal(roost_picture_make(temp_dir, path), 0);
	temp_dir_touch("kept/file", 0644, kept);
	below(name, "a");
	assert_int_equal(mkdir(name, 0755), 0);
	below(name, "a/link");
	*strrchr(kept, '/') = '\0';
	assert_int_equal(symlink(kept, name), 0);
	*(kept + strlen(kept)) = '/';
	roost_picture_remove(path);
	assert_false(is_there(path));
	assert_true(is_there(kept));
	/* Nor is a link in the place of the picture. */
	*strrchr(kept, '/') = '\0';
	assert_int_equal(symlink(kept, path), 0);
	roost_picture_remove(path);
	*(kept + strlen(kept)) = '/';
	assert_true(is_there(kept));
	assert_false(is_there(path));
}

static void sweep__takes_what_nobody_keeps(void **state)
{
	char kept[ROOST_PICTURE_PATH_MAX], young[ROOST_PICTURE_PATH_MAX];
	char strange[PATH_MAX], link_name[PATH_MAX];
	int keeper;

	(void)state;
	assert_int_equal(roost_picture_make(temp_dir, path), 0);
	close(roost_picture_lock(path));
	assert_int_equal(roost_picture_make(temp_dir, kept), 0);
	keeper = roost_picture_lock(kept);
	assert_true(keeper >= 0);
	temp_dir_touch("roost-sysfs-strange/file", 0644, strange);
	snprintf(link_name, sizeof(link_name), "%s/roost-sysfs-%u-link",
		 temp_dir, geteuid());
	assert_int_equal(symlink("roost-sysfs-strange", link_name), 0);
	grow_old();
	assert_int_equal(roost_picture_make(temp_dir, young), 0);
	roost_picture_sweep(temp_dir);
	assert_false(is_there(path));
	assert_true(is_there(kept));
	assert_true(is_there(young));
	assert_true(is_there(strange));
	assert_true(is_there(link_name));
	close(keeper);
	roost_picture_remove(kept);
	roost_picture_remove(young);
	unlink(link_name);
}

static pid_t start_sleeper(void)
{
	char variable[ROOST_PICTURE_PATH_MAX + 32];
	char name[] = "sleep", seconds[] = "30";
	char *const argv[] = { name, seconds, NULL };
	char *const envp[] = { variable, NULL };
	pid_t pid = fork();

	snprintf(variable, sizeof(variable), "%s=%s", ROOST_PICTURE_VARIABLE,
		 path);
	if (pid == 0) {
		execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 200 && roost_picture_user(path) != pid; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	return pid;
}

static void user__is_who_has_it_in_its_environment(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(roost_picture_make(temp_dir, path), 0);
	assert_int_equal(roost_picture_user(path), 0);
	pid = start_sleeper();
	assert_int_equal(roost_picture_user(path), pid);
	/* Not the beginning of its path. */
	path[strlen(path) - 1] = '\0';
	assert_int_equal(roost_picture_user(path), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A keeper for a program that a child of ours plays; it dies as it likes. */
static void keeper__removes_it_after_the_last_user(void **state)
{
	pid_t pid, user;
	int status;

	(void)state;
	assert_int_equal(roost_picture_make(temp_dir, path), 0);
	user = start_sleeper();
	pid = fork();
	if (pid == 0) {
		if (roost_picture_keep(path) != 0)
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	assert_true(is_there(path));
	/* It is kept. */
	grow_old();
	roost_picture_sweep(temp_dir);
	assert_true(is_there(path));
	kill(user, SIGKILL);
	waitpid(user, NULL, 0);
	assert_true(ends());
}

static void text_of(const char *what, char *text, size_t size)
{
	char name[PATH_MAX];
	ssize_t n;
	int fd;

	below(name, what);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
}

static void put_config__shows_every_device(void **state)
{
	static struct roost_config config;
	char err[ROOST_CONFIG_ERR_MAX], text[256], name[PATH_MAX];
	char *envp[] = { "ROOST_PORT0_LINK=lab", "ROOST_PORT1_DEVARGS=lo",
			 "ROOST_PORT2_LINK=b", "ROOST_PORT2_SECOND=1", NULL };

	(void)state;
	assert_int_equal(roost_picture_make(temp_dir, path), 0);
	assert_int_equal(roost_config_resolve(&config, NULL, envp, NULL, err),
			 0);
	assert_int_equal(roost_picture_put_config(path, &config), 0);
	text_of("sys/class/infiniband/roost0/board_id", text, sizeof(text));
	assert_string_equal(text, "link \"lab\"\n");
	text_of("sys/class/infiniband/roost0/ports/1/state", text,
		sizeof(text));
	assert_string_equal(text, "4: ACTIVE\n");
	text_of("sys/class/infiniband/roost1/ports/1/gid_attrs/ndevs/0", text,
		sizeof(text));
	assert_string_equal(text, "");
	text_of("sys/class/infiniband/roost1/ports/2/link_layer", text,
		sizeof(text));
	assert_string_equal(text, "Ethernet\n");
	below(name, "sys/class/infiniband/roost2");
	assert_false(is_there(name));
	below(name, "sys/class/infiniband/roost0/ports/2");
	assert_false(is_there(name));
	below(name, "dev/infiniband/uverbs_roost1");
	assert_true(is_there(name));
	roost_picture_remove(path);
}

/* What a daemon leaves is the next one's, and nobody else's. */
static void take__takes_over(void **state)
{
	char other[ROOST_PICTURE_PATH_MAX];
	int fd;

	(void)state;
	assert_int_equal(roost_picture_hub_path(temp_dir, path), 0);
	fd = roost_picture_take(path);
	assert_true(fd >= 0);
	assert_int_equal(roost_picture_take(path), -EAGAIN);
	close(fd);
	fd = roost_picture_take(path);
	assert_true(fd >= 0);
	grow_old();
	roost_picture_sweep(temp_dir);
	assert_true(is_there(path));
	close(fd);
	roost_picture_sweep(temp_dir);
	assert_false(is_there(path));
	assert_true(snprintf(other, sizeof(other), "%.200s/none", temp_dir) >
		    0);
	assert_int_equal(symlink("/tmp", other), 0);
	assert_int_equal(roost_picture_take(other), -EEXIST);
	unlink(other);
}

/* A hub has an empty variable if its launcher had none. */
static void place__is_absolute(void **state)
{
	static const char variable[] = "XDG_RUNTIME_DIR";
	const char *before = getenv(variable);
	char *saved = before ? strdup(before) : NULL;

	(void)state;
	setenv(variable, temp_dir, 1);
	assert_string_equal(roost_picture_place(1), temp_dir);
	setenv(variable, "", 1);
	assert_null(roost_picture_place(1));
	setenv(variable, "run", 1);
	assert_null(roost_picture_place(1));
	unsetenv(variable);
	assert_null(roost_picture_place(1));
	if (saved)
		setenv(variable, saved, 1);
	free(saved);
}

/* The programs of a service whose picture shows other devices have their own.
 */
static void of_daemon__shows_these_devices(void **state)
{
	static struct roost_config config, one;
	char socket[64], err[ROOST_CONFIG_ERR_MAX], found[PATH_MAX];
	char first[128], second[128];
	char *envp[] = { first, second, NULL };
	char *envp_one[] = { first, NULL };
	struct roost_picture_port port = { 0 };
	int fd;

	(void)state;
	snprintf(socket, sizeof(socket), "%.50s/sock", temp_dir);
	snprintf(first, sizeof(first), "ROOST_PORT0_SERVICE=%s", socket);
	snprintf(second, sizeof(second), "ROOST_PORT1_SERVICE=%s,1", socket);
	assert_int_equal(roost_config_resolve(&config, NULL, envp, NULL, err),
			 0);
	assert_int_equal(roost_config_resolve(&one, NULL, envp_one, NULL, err),
			 0);
	assert_int_equal(roost_picture_service_path(socket, path), 0);
	assert_false(roost_picture_of_daemon(&config, found));
	fd = roost_picture_take(path);
	assert_true(fd >= 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(roost_picture_put_device(path, &config, i,
							  &config.ports[i],
							  &port),
				 0);
	assert_true(roost_picture_of_daemon(&config, found));
	assert_string_equal(found, path);
	/* One of two, or the second as the first. */
	assert_false(roost_picture_of_daemon(&one, found));
	strcat(one.ports[0].service, ",1");
	assert_false(roost_picture_of_daemon(&one, found));
	roost_picture_drop_dev(path, "roost1");
	assert_false(roost_picture_has_dev(path, "roost1"));
	*strchr(one.ports[0].service, ',') = '\0';
	assert_true(roost_picture_of_daemon(&one, found));
	close(fd);
	roost_picture_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(make__is_readable),
		cmocka_unit_test(remove__follows_no_link),
		cmocka_unit_test(sweep__takes_what_nobody_keeps),
		cmocka_unit_test(user__is_who_has_it_in_its_environment),
		cmocka_unit_test(keeper__removes_it_after_the_last_user),
		cmocka_unit_test(put_config__shows_every_device),
		cmocka_unit_test(take__takes_over),
		cmocka_unit_test(place__is_absolute),
		cmocka_unit_test(of_daemon__shows_these_devices),
	};

	return cmocka_run_group_tests(tests, temp_dir_make, temp_dir_remove);
}
