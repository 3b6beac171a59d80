/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Each function of the C library that opens a file or asks about it, with a
 * path of ours and with another one.
 */
#include "tests/unit/preload/world.h"

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* The wrappers that no header declares. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st,
	       int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st,
		 int flags);
int __open(const char *path, int flags, ...);
int __open64(const char *path, int flags, ...);

/* Headers say that no path is NULL. */
static int (*volatile open_any)(const char *path, int flags, ...) = open;

static void check_none(int fd)
{
	assert_int_equal(fd, -1);
	assert_int_equal(errno, ENOENT);
	errno = 0;
}

/* ---- opening -------------------------------------------------------------
 */

static void open__reads_the_picture(void **state)
{
	int sys = open("/sys/class", O_RDONLY | O_DIRECTORY), dir;

	(void)state;
	check_text(open(TYPE, O_RDONLY));
	check_text(open(TYPE, flags_of_open));
	check_text(open64(TYPE, O_RDONLY));
	check_text(open64(TYPE, flags_of_open));
	check_text(openat(AT_FDCWD, TYPE, O_RDONLY));
	check_text(openat(AT_FDCWD, TYPE, flags_of_open));
	check_text(openat64(-1, TYPE, O_RDONLY));
	check_text(openat64(-1, TYPE, flags_of_open));
	check_text(openat(sys, "infiniband/roost0/node_type", flags_of_open));
	dir = openat(sys, "infiniband", O_RDONLY | O_DIRECTORY);
	check_text(openat(dir, "roost0/node_type", O_RDONLY));
	check_text(openat(dir, "./roost0/device/infiniband/roost0/node_type",
			  O_RDONLY));
	close(dir);
	close(sys);
	check_none(open(NONE, O_RDONLY));
	check_none(open64(NONE, flags_of_open));
	check_none(openat(AT_FDCWD, NONE, flags_of_open));
}

/* Nobody can make a file there. */
static void check_nothing_new(void)
{
	static const char *const paths[] = { CLASS "/new", DEVICE "/new",
					     "/dev/infiniband/new" };
	posix_spawn_file_actions_t actions;
	struct stat st;

	posix_spawn_file_actions_init(&actions);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		errno = 0;
		assert_int_equal(open(paths[i], O_RDONLY | O_CREAT, 0600), -1);
		assert_int_equal(errno, EACCES);
		assert_int_equal(creat(paths[i], 0600), -1);
		assert_null(fopen(paths[i], "a"));
		assert_int_equal(errno, EACCES);
		assert_null(fopen(paths[i], "r+"));
		assert_int_equal(errno, ENOENT);
		assert_int_equal(posix_spawn_file_actions_addopen(
					 &actions, 1, paths[i],
					 O_WRONLY | O_CREAT, 0600),
				 EACCES);
		assert_int_equal(stat(paths[i], &st), -1);
	}
	posix_spawn_file_actions_destroy(&actions);
	check_text(open(TYPE, O_RDONLY | O_CREAT, 0600));
	close(open(NODE, O_RDWR | O_CREAT, 0600));
}

/* As sysfs does, which root may not write, either. */
static void open__refuses_to_write(void **state)
{
	int (*const opens[])(const char *, int, ...) = { open, open64, __open,
							 __open64 };
	int (*const opens_at[])(int, const char *, int, ...) = { openat,
								 openat64 };
	int (*const makers[])(const char *, mode_t) = { creat, creat64 };
	FILE *(*const streams[])(const char *, const char *) = { fopen,
								 fopen64 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		errno = 0;
		assert_int_equal(opens[i](TYPE, O_WRONLY), -1);
		assert_int_equal(errno, EACCES);
		assert_int_equal(opens[i](TYPE, O_RDONLY | O_TRUNC), -1);
		assert_int_equal(opens_at[i](AT_FDCWD, TYPE, O_RDWR), -1);
		assert_int_equal(opens[i](TYPE, O_WRONLY | flags_of_open), -1);
		assert_int_equal(makers[i](TYPE, 0600), -1);
		errno = 0;
		assert_null(streams[i](TYPE, "w"));
		assert_null(streams[i](TYPE, "r+"));
		assert_null(streams[i](TYPE, "ab"));
		assert_int_equal(errno, EACCES);
	}
	for (int i = 2; i < 4; i++) {
		check_text(opens[i](TYPE, O_RDONLY));
		assert_int_equal(opens[i](TYPE, O_RDWR), -1);
	}
	check_nothing_new();
	assert_int_equal(truncate(TYPE, 0), -1);
	assert_int_equal(truncate64(TYPE, 0), -1);
	assert_int_equal(errno, EACCES);
	check_text(open(TYPE, O_RDONLY));
}

static void open__leaves_others(void **state)
{
	int fd = open("/proc/self/stat", flags_of_open);
	char path[64], out[128];

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	check_none(open("/sys/class/no-such-class", O_RDONLY));
	errno = 0;
	assert_int_equal(open_any(NULL, O_RDONLY), -1);
	assert_int_equal(errno, EFAULT);
	snprintf(path, sizeof(path), "/tmp/infiniband.%d", getpid());
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0640);
	assert_true(fd >= 0);
	close(fd);
	fd = creat(path, 0640);
	assert_true(fd >= 0);
	close(fd);
	fd = creat64(path, 0640);
	assert_true(fd >= 0);
	close(fd);
	/* By way of the picture, and out of it again. */
	assert_int_equal(chmod(path, 0444), 0);
	snprintf(out, sizeof(out), "/sys/class/infiniband/../../..%s", path);
	fd = open(out, O_RDWR);
	assert_true(fd >= 0 || getuid() != 0);
	close(fd);
	assert_int_equal(unlink(path), 0);
	check_none(creat(DEVICE "/none/x", 0600));
	check_none(creat64(DEVICE "/none/x", 0600));
}

/* From a directory, and in the middle of a path. */
static void leaving__leads_to_the_system(void **state)
{
	const int class = open(CLASS, O_RDONLY | O_DIRECTORY);
	const int device = open(REAL_DEVICE, O_RDONLY | O_DIRECTORY);
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	assert_int_equal(fstatat(class, "../net/lo", &st, 0), 0);
	assert_int_equal(fstatat(class, "../../../proc/self", &st, 0), 0);
	check_text(openat(class, "../infiniband/roost0/node_type", O_RDONLY));
	assert_int_equal(fstatat(device, "../../../../system/cpu", &st, 0), 0);
	assert_int_equal(stat(REAL_DEVICE "/../../../../system/cpu", &st), 0);
	assert_int_equal(stat("/dev/infiniband/../null", &st), 0);
	assert_int_equal(fchdir(class), 0);
	assert_int_equal(chdir(".."), 0);
	assert_string_equal(getcwd(path, sizeof(path)), "/sys/class");
	assert_int_equal(stat("net/lo", &st), 0);
	assert_non_null(realpath("net", path));
	assert_string_equal(path, "/sys/class/net");
	check_none(stat("no-such-class", &st));
	assert_int_equal(chdir("/"), 0);
	close(class);
	close(device);
}

static void stream__reads_the_picture(void **state)
{
	FILE *(*const all[])(const char *, const char *) = { fopen, fopen64 };
	char line[32];
	FILE *file;

	(void)state;
	for (int i = 0; i < 2; i++) {
		file = all[i](TYPE, "r");
		assert_non_null(file);
		assert_non_null(fgets(line, sizeof(line), file));
		assert_string_equal(line, "1: CA\n");
		file = (i ? freopen64 : freopen)(DEVICE "/hca_type", "r", file);
		assert_non_null(file);
		assert_non_null(fgets(line, sizeof(line), file));
		assert_string_equal(line, "Roost\n");
		fclose(file);
		errno = 0;
		assert_null(all[i](NONE, "r"));
		assert_int_equal(errno, ENOENT);
		file = all[i]("/proc/self/stat", "r");
		assert_non_null(file);
		/* The same file in another mode: there is no path. */
		file = (i ? freopen64 : freopen)(NULL, "r", file);
		assert_non_null(file);
		fclose(file);
	}
}

/* Of grep(1), which looks for the type in what it is given. */
static void check_spawn(posix_spawn_file_actions_t *actions, char *file)
{
	char name[] = "grep", option[] = "-q", word[] = "^1: CA$";
	char *const argv[] = { name, option, word, file, NULL };
	int status;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, name, actions, NULL, argv, environ),
			 0);
	posix_spawn_file_actions_destroy(actions);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void spawn__opens_the_picture(void **state)
{
	posix_spawn_file_actions_t actions;

	(void)state;
	posix_spawn_file_actions_init(&actions);
	assert_int_equal(posix_spawn_file_actions_addopen(&actions, 0, TYPE,
							  O_RDONLY, 0),
			 0);
	check_spawn(&actions, NULL);
}

static void spawn__goes_to_the_picture(void **state)
{
	posix_spawn_file_actions_t actions;
	char file[] = "node_type";

	(void)state;
	posix_spawn_file_actions_init(&actions);
	assert_int_equal(posix_spawn_file_actions_addchdir_np(&actions, DEVICE),
			 0);
	check_spawn(&actions, file);
}

/* ---- asking --------------------------------------------------------------
 */

/* Each row of a stat function, on one path. */
struct answer {
	int ret;
	mode_t mode;
	dev_t rdev;
};

#define ASK(type, call)                                                        \
	do {                                                                   \
		type st = { 0 };                                               \
                                                                               \
		errno = 0;                                                     \
		a[n].ret = call;                                               \
		a[n].mode = st.st_mode;                                        \
		a[n++].rdev = st.st_rdev;                                      \
	} while (0)

static size_t ask_all(const char *path, struct answer *a, bool follow)
{
	const int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
	struct statx x = { 0 };
	size_t n = 0;

	if (follow) {
		ASK(struct stat, stat(path, &st));
		ASK(struct stat64, stat64(path, &st));
		ASK(struct stat, __xstat(1, path, &st));
		ASK(struct stat64, __xstat64(1, path, &st));
	} else {
		ASK(struct stat, lstat(path, &st));
		ASK(struct stat64, lstat64(path, &st));
		ASK(struct stat, __lxstat(1, path, &st));
		ASK(struct stat64, __lxstat64(1, path, &st));
	}
	ASK(struct stat, fstatat(AT_FDCWD, path, &st, flags));
	ASK(struct stat64, fstatat64(AT_FDCWD, path, &st, flags));
	ASK(struct stat, __fxstatat(1, AT_FDCWD, path, &st, flags));
	ASK(struct stat64, __fxstatat64(1, AT_FDCWD, path, &st, flags));
	a[n].ret = statx(AT_FDCWD, path, flags, STATX_BASIC_STATS, &x);
	a[n].mode = x.stx_mode;
	a[n++].rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor);
	return n;
}

static void check_all(const char *path, bool follow, int ret, mode_t type)
{
	struct answer a[16];
	const size_t nb = ask_all(path, a, follow);

	for (size_t i = 0; i < nb; i++) {
		assert_int_equal(a[i].ret, ret);
		if (ret == 0)
			assert_int_equal(a[i].mode & S_IFMT, type);
		if (ret == 0 && type == S_IFCHR)
			assert_int_equal(a[i].rdev, makedev(1, 3));
	}
}

static void stat__sees_the_picture(void **state)
{
	(void)state;
	check_all(CLASS, true, 0, S_IFDIR);
	check_all(CLASS, false, 0, S_IFDIR);
	check_all(DEVICE, true, 0, S_IFDIR);
	check_all(DEVICE, false, 0, S_IFLNK);
	check_all(TYPE, true, 0, S_IFREG);
	check_all(NONE, true, -1, 0);
	check_all(NONE, false, -1, 0);
	check_all("/sys/class/net", false, 0, S_IFDIR);
	check_all("/proc/self", false, 0, S_IFLNK);
	check_all("/sys/class/no-such-class", true, -1, 0);
}

static void access__sees_the_picture(void **state)
{
	int (*const all[])(const char *, int) = { access, eaccess, euidaccess };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(all[i](TYPE, R_OK), 0);
		assert_int_equal(all[i](NODE, R_OK | W_OK), 0);
		assert_int_equal(all[i]("/proc/self/stat", R_OK), 0);
		check_none(all[i](NONE, F_OK));
	}
	assert_int_equal(faccessat(AT_FDCWD, TYPE, R_OK, 0), 0);
	assert_int_equal(faccessat(AT_FDCWD, NODE, R_OK | W_OK,
				   AT_EACCESS | AT_SYMLINK_NOFOLLOW),
			 0);
	check_none(faccessat(AT_FDCWD, NONE, F_OK, 0));
}

static void others__see_the_picture(void **state)
{
	struct statvfs64 vfs64;
	struct statfs64 fs64;
	struct statvfs vfs;
	struct statfs fs;
	char value[64];
	int mount, fd = inotify_init1(IN_CLOEXEC);
	struct file_handle handle = { .handle_bytes = 0 };

	(void)state;
	assert_int_equal(statfs(DEVICE, &fs), 0);
	assert_int_equal(statfs64(DEVICE, &fs64), 0);
	assert_int_equal(statvfs(DEVICE, &vfs), 0);
	assert_int_equal(statvfs64(DEVICE, &vfs64), 0);
	assert_true(pathconf(DEVICE, _PC_NAME_MAX) > 0);
	assert_true(listxattr(TYPE, value, sizeof(value)) >= 0);
	assert_true(llistxattr(NODE, value, sizeof(value)) >= 0);
	errno = 0;
	assert_int_equal(getxattr(TYPE, "user.x", value, sizeof(value)), -1);
	assert_int_not_equal(errno, ENOENT);
	errno = 0;
	assert_int_equal(lgetxattr(NODE, "user.x", value, sizeof(value)), -1);
	assert_int_not_equal(errno, ENOENT);
	errno = 0;
	assert_int_equal(name_to_handle_at(AT_FDCWD, NODE, &handle, &mount, 0),
			 -1);
	assert_int_not_equal(errno, ENOENT);
	assert_int_not_equal(ftok(TYPE, 1), -1);
	assert_int_equal(ftok(NONE, 1), -1);
	assert_true(inotify_add_watch(fd, DEVICE "/ports/1", IN_MOVED_TO) > 0);
	close(fd);
}

/* ---- the node ------------------------------------------------------------
 */

static void node__is_a_character_device(void **state)
{
	static const int all[] = { O_RDWR, O_RDONLY | O_CLOEXEC,
				   O_RDWR | O_NOFOLLOW };
	char path[PATH_MAX] = "";
	struct stat st;

	(void)state;
	check_all(NODE, true, 0, S_IFCHR);
	check_all(NODE, false, 0, S_IFCHR);
	check_all("/dev/infiniband", false, 0, S_IFDIR);
	check_all("/dev/infiniband/none", false, -1, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		flags_of_open = all[i];
		int fds[] = { open(NODE, all[i]), open(NODE, flags_of_open),
			      open64(NODE, all[i]),
			      openat(AT_FDCWD, NODE, all[i]),
			      openat64(AT_FDCWD, NODE, flags_of_open) };

		for (size_t k = 0; k < sizeof(fds) / sizeof(fds[0]); k++) {
			assert_true(fds[k] >= 0);
			assert_int_equal(fstat(fds[k], &st), 0);
			assert_true(S_ISCHR(st.st_mode));
			assert_int_equal(st.st_rdev, makedev(1, 3));
			close(fds[k]);
		}
	}
	flags_of_open = O_RDONLY;
	errno = 0;
	assert_int_equal(readlink(NODE, path, sizeof(path)), -1);
	assert_int_equal(errno, EINVAL);
	check_none((int)readlink("/dev/infiniband/none", path, sizeof(path)));
	assert_non_null(realpath(NODE, path));
	assert_string_equal(path, NODE);
}

/* ---- where and when ------------------------------------------------------
 */

static void too_long__is_an_error(void **state)
{
	char path[PATH_MAX] = CLASS "/";

	(void)state;
	memset(path + strlen(path), 'x', sizeof(path) - strlen(path) - 1);
	errno = 0;
	assert_int_equal(open(path, flags_of_open), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_null(opendir(path));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

static volatile int handled;

static void handle(int signal_number)
{
	struct stat st;

	(void)signal_number;
	handled = open("/proc/self/stat", O_RDONLY);
	if (handled >= 0 && stat("/proc/self/stat", &st) == 0 &&
	    access("/proc/self/stat", F_OK) == 0)
		close(handled);
	else
		handled = -1;
}

/* Handlers often have little stack: 2 KiB beside the kernel's frame are enough,
 * and no path buffer is on it. The page below it must not be touched.
 */
static void signals__have_room(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t size =
		((size_t)sysconf(_SC_MINSIGSTKSZ) + 2048 + page - 1) / page *
		page;
	char *pages = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = pages + page, .ss_size = size };
	struct sigaction action = { .sa_handler = handle,
				    .sa_flags = SA_ONSTACK };

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages, page, PROT_NONE), 0);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	handled = -1;
	raise(SIGUSR1);
	assert_true(handled >= 0);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	munmap(pages, page + size);
}

/* A plugin gets the wrappers, and so does who looks a function up. */
static void dlsym__finds_the_wrappers(void **state)
{
	int (*look)(const char *, int) =
		(int (*)(const char *, int))dlsym(RTLD_DEFAULT, "access");

	(void)state;
	assert_non_null(look);
	assert_int_equal(look(TYPE, R_OK), 0);
}

static void children__have_it_too(void **state)
{
	(void)state;
	assert_int_equal(system("grep -q '^1: CA$' " TYPE), 0);
	assert_int_equal(system("cd " CLASS " && test -d roost0 && "
				"test -c " NODE " && test -w " NODE),
			 0);
	assert_int_equal(system("ls " CLASS "/*/ports/1/gids/0 >/dev/null"), 0);
}

static int check(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__reads_the_picture),
		cmocka_unit_test(open__refuses_to_write),
		cmocka_unit_test(open__leaves_others),
		cmocka_unit_test(leaving__leads_to_the_system),
		cmocka_unit_test(stream__reads_the_picture),
		cmocka_unit_test(spawn__opens_the_picture),
		cmocka_unit_test(spawn__goes_to_the_picture),
		cmocka_unit_test(stat__sees_the_picture),
		cmocka_unit_test(access__sees_the_picture),
		cmocka_unit_test(others__see_the_picture),
		cmocka_unit_test(node__is_a_character_device),
		cmocka_unit_test(too_long__is_an_error),
		cmocka_unit_test(signals__have_room),
		cmocka_unit_test(dlsym__finds_the_wrappers),
		cmocka_unit_test(children__have_it_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return under_preload(argc, argv, check);
}
