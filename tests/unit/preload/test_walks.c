/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Each function of the C library that lists directories, reads links, tells
 * paths or walks trees.
 */
#include "tests/unit/preload/world.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fts.h>
#include <glob.h>

/* ---- directories ---------------------------------------------------------
 */

static int is_roost(const struct dirent *entry)
{
	return strncmp(entry->d_name, "roost", 5) == 0;
}

static int is_roost64(const struct dirent64 *entry)
{
	return strncmp(entry->d_name, "roost", 5) == 0;
}

static void directory__is_listed(void **state)
{
	struct dirent64 **names64;
	struct dirent **names;
	struct dirent *entry;
	DIR *dir = opendir(CLASS);
	bool found = false;
	int sys;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		found |= strcmp(entry->d_name, "roost0") == 0;
	assert_true(found);
	assert_true(openat(dirfd(dir), "roost0", O_RDONLY) >= 0);
	closedir(dir);
	assert_null(opendir(NONE));
	assert_int_equal(scandir(CLASS, &names, is_roost, alphasort), 1);
	assert_string_equal(names[0]->d_name, "roost0");
	free(names[0]);
	free(names);
	assert_int_equal(scandir64(CLASS, &names64, is_roost64, alphasort64),
			 1);
	free(names64[0]);
	free(names64);
	sys = open("/sys", O_RDONLY | O_DIRECTORY);
	assert_int_equal(scandirat(sys, "class/infiniband", &names, is_roost,
				   alphasort),
			 1);
	free(names[0]);
	free(names);
	assert_int_equal(scandirat64(sys, "class/infiniband", &names64,
				     is_roost64, alphasort64),
			 1);
	free(names64[0]);
	free(names64);
	close(sys);
	assert_int_equal(scandir("/proc/self/task", &names, NULL, NULL), 3);
	for (int i = 0; i < 3; i++)
		free(names[i]);
	free(names);
}

/* The linker warns of it. */
static void check_getwd(char *path)
{
	char *(*plain)(char *) =
		(char *(*)(char *))dlsym(RTLD_DEFAULT, "getwd");
	char *(*fortified)(char *, size_t) =
		(char *(*)(char *, size_t))dlsym(RTLD_DEFAULT, "__getwd_chk");

	assert_ptr_equal(plain(path), path);
	assert_string_equal(path, REAL_DEVICE);
	assert_ptr_equal(fortified(path, PATH_MAX), path);
	assert_string_equal(path, REAL_DEVICE);
}

/* As ibstatus(8) does. */
static void directory__can_be_entered(void **state)
{
	int home = open(".", O_RDONLY | O_DIRECTORY);
	char path[PATH_MAX], little[sizeof(REAL_DEVICE)];
	char *all;

	(void)state;
	assert_int_equal(chdir(DEVICE), 0);
	check_text(open("node_type", O_RDONLY));
	check_text(open("../roost0/node_type", flags_of_open));
	assert_non_null(getcwd(path, room));
	assert_string_equal(path, REAL_DEVICE);
	assert_non_null(getcwd(path, sizeof(path)));
	assert_string_equal(path, REAL_DEVICE);
	/* The picture's own path has no room, and needs none. */
	errno = 0;
	assert_non_null(getcwd(little, sizeof(little)));
	assert_string_equal(little, REAL_DEVICE);
	assert_int_equal(errno, 0);
	assert_null(getcwd(little, sizeof(little) - 1));
	assert_int_equal(errno, ERANGE);
	all = getcwd(NULL, 0);
	assert_string_equal(all, REAL_DEVICE);
	free(all);
	unsetenv("PWD");
	all = get_current_dir_name();
	assert_string_equal(all, REAL_DEVICE);
	free(all);
	check_getwd(path);
	assert_int_equal(chdir("/sys/class"), 0);
	assert_int_equal(chdir("infiniband"), 0);
	all = realpath(".", NULL);
	assert_string_equal(all, CLASS);
	free(all);
	all = getcwd(path, room);
	assert_string_equal(all, CLASS);
	assert_int_equal(chdir("/proc"), 0);
	assert_string_equal(getcwd(path, room), "/proc");
	assert_int_equal(fchdir(home), 0);
	close(home);
}

/* ---- links ---------------------------------------------------------------
 */

static void readlink__tells_relative_links(void **state)
{
	static const char target[] =
		"../../devices/infiniband_roost/roost0/infiniband/roost0";
	char path[PATH_MAX], fd_path[64];
	int sys = open("/sys/class", O_RDONLY | O_DIRECTORY), fd;
	ssize_t n;

	(void)state;
	for (int i = 0; i < 4; i++) {
		memset(path, 0, sizeof(path));
		n = i == 0   ? readlink(DEVICE, path, sizeof(path) - 1)
		    : i == 1 ? readlink(DEVICE, path, room - 1)
		    : i == 2 ? readlinkat(sys, "infiniband/roost0", path,
					  room - 1)
			     : readlinkat(AT_FDCWD, DEVICE, path,
					  sizeof(path) - 1);
		assert_int_equal(n, sizeof(target) - 1);
		assert_string_equal(path, target);
	}
	assert_int_equal(readlink(DEVICE, path, 5), 5);
	assert_memory_equal(path, target, 5);
	/* Of a descriptor, the path that the program knows. */
	fd = open(TYPE, O_RDONLY);
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd);
	memset(path, 0, sizeof(path));
	assert_true(readlink(fd_path, path, room - 1) > 0);
	assert_string_equal(path, REAL_DEVICE "/node_type");
	memset(path, 0, sizeof(path));
	assert_int_equal(readlink(fd_path, path, 40), 40);
	assert_memory_equal(path, REAL_DEVICE, 40);
	close(fd);
	close(sys);
	memset(path, 0, sizeof(path));
	assert_true(readlink("/proc/self/exe", path, room - 1) > 0);
	assert_non_null(strstr(path, "test_preload_walks"));
}

static void realpath__tells_known_paths(void **state)
{
	static const char device[] = DEVICE "/device";
	char path[PATH_MAX];
	char *all;

	(void)state;
	assert_ptr_equal(realpath(device, path), path);
	assert_string_equal(path, "/sys/devices/infiniband_roost/roost0");
	all = realpath(DEVICE "/device/infiniband/../infiniband/roost0/ports",
		       NULL);
	assert_string_equal(all, REAL_DEVICE "/ports");
	free(all);
	all = canonicalize_file_name(DEVICE);
	assert_string_equal(all, REAL_DEVICE);
	free(all);
	all = realpath(DEVICE "/device/subsystem", NULL);
	assert_string_equal(all, "/sys/bus/platform");
	free(all);
	errno = 0;
	assert_null(realpath(NONE, path));
	assert_int_equal(errno, ENOENT);
	assert_null(canonicalize_file_name(NONE));
	assert_string_equal(realpath("/proc/../sys/class/net/.", path),
			    "/sys/class/net");
	all = canonicalize_file_name("/proc/.");
	assert_string_equal(all, "/proc");
	free(all);
	assert_null(realpath(NULL, path));
	assert_int_equal(errno, EINVAL);
}

/* ---- walks ---------------------------------------------------------------
 */

static void check_glob(int flags)
{
	static const char *const patterns[] = {
		CLASS "/*/node_type",
		CLASS "/roost?/node_type",
		"/sys/class/../class/infiniband/[r]oost0/node_type",
		"/sys/class/{infiniband,none}/roost*/node_type",
		"/sys/cl*/infiniband/roost0/node_type",
	};
	glob64_t found64;
	glob_t found;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		memset(&found, 0xaa, sizeof(found));
		assert_int_equal(glob(patterns[i], flags, NULL, &found), 0);
		assert_int_equal(found.gl_pathc, 1);
		assert_non_null(strstr(found.gl_pathv[0],
				       "/infiniband/roost0/node_type"));
		assert_memory_equal(found.gl_pathv[0], "/sys/class/", 11);
		globfree(&found);
		assert_int_equal(glob64(patterns[i], flags, NULL, &found64), 0);
		assert_int_equal(found64.gl_pathc, 1);
		globfree64(&found64);
	}
}

static void glob__finds_the_picture(void **state)
{
	/* Not with AddressSanitizer, whose glob() reads the empty places. */
	const int offs = dlsym(RTLD_DEFAULT, "__asan_init") ? 0 : GLOB_DOOFFS;
	const size_t first = offs ? 1 : 0;
	glob_t found = { .gl_offs = 1 };

	(void)state;
	check_glob(GLOB_BRACE);
	check_glob(GLOB_BRACE | GLOB_NOSORT | GLOB_MARK);
	assert_int_equal(glob(CLASS "/*", offs, NULL, &found), 0);
	assert_int_equal(glob("/proc/self/sta[t]", offs | GLOB_APPEND, NULL,
			      &found),
			 0);
	assert_int_equal(glob("/dev/infiniband/*", offs | GLOB_APPEND, NULL,
			      &found),
			 0);
	assert_int_equal(found.gl_pathc, 3);
	assert_true(!offs || !found.gl_pathv[0]);
	assert_string_equal(found.gl_pathv[first], DEVICE);
	assert_string_equal(found.gl_pathv[first + 1], "/proc/self/stat");
	assert_string_equal(found.gl_pathv[first + 2], NODE);
	globfree(&found);
	assert_int_equal(glob(CLASS "/x*", 0, NULL, &found), GLOB_NOMATCH);
}

static unsigned int seen, seen_inner;

static int see(const char *path, const struct stat *st, int what)
{
	(void)st;
	assert_memory_equal(path, CLASS, sizeof(CLASS) - 1);
	if (what == FTW_F && strcmp(path, TYPE) == 0)
		seen++;
	return 0;
}

static int see64(const char *path, const struct stat64 *st, int what)
{
	(void)st;
	return see(path, NULL, what);
}

static int see_inner(const char *path, const struct stat *st, int what,
		     struct FTW *at)
{
	(void)st;
	(void)what;
	assert_memory_equal(path, "/sys/devices/infiniband_roost", 29);
	assert_int_equal(path[at->base - 1], '/');
	seen_inner++;
	return 0;
}

static int see_name(const char *path, const struct stat *st, int what,
		    struct FTW *at)
{
	(void)st;
	(void)what;
	assert_memory_equal(path, CLASS, sizeof(CLASS) - 1);
	if (strcmp(path + at->base, "node_type") != 0)
		return 0;
	seen++;
	return nftw("/sys/devices/infiniband_roost", see_inner, 8, FTW_PHYS);
}

static int see_name64(const char *path, const struct stat64 *st, int what,
		      struct FTW *at)
{
	(void)st;
	(void)what;
	seen += strcmp(path + at->base, "roost0") == 0;
	return 0;
}

static int inner_stays(const char *path, const struct stat *st, int what,
		       struct FTW *at)
{
	(void)path;
	(void)st;
	(void)what;
	(void)at;
	return 0;
}

static void ftw__walks_the_picture(void **state)
{
	(void)state;
	seen = seen_inner = 0;
	/* Links are followed, so into all devices of the machine: no deeper. */
	assert_int_equal(ftw(DEVICE "/ports", see, 8), 0);
	assert_int_equal(ftw(TYPE, see, 8), 0);
	assert_int_equal(ftw64(TYPE, see64, 8), 0);
	assert_int_equal(seen, 2);
	assert_int_equal(nftw(DEVICE "/../roost0", see_name, 8, FTW_PHYS), 0);
	assert_int_equal(seen, 3);
	assert_true(seen_inner > 100);
	assert_int_equal(nftw64(CLASS, see_name64, 8, FTW_PHYS), 0);
	assert_int_equal(seen, 4);
	assert_int_equal(nftw64(CLASS, see_name64, 8, FTW_PHYS | FTW_CHDIR), 0);
	assert_int_equal(seen, 5);
	assert_int_equal(nftw("/proc/self/task", inner_stays, 8, FTW_PHYS), 0);
	assert_int_equal(nftw(NONE, inner_stays, 8, 0), -1);
}

static void fts__walks_the_picture(void **state)
{
	char class[] = CLASS, proc[] = "/proc/self/ns";
	char *const paths[] = { class, proc, NULL };
	static const int all[] = { FTS_PHYSICAL, FTS_PHYSICAL | FTS_NOCHDIR };
	unsigned int found, others;
	FTSENT *entry;
	FTS *walk;

	(void)state;
	for (int i = 0; i < 2; i++) {
		found = others = 0;
		walk = fts_open(paths, all[i], NULL);
		assert_non_null(walk);
		while ((entry = fts_read(walk))) {
			assert_int_equal(entry->fts_pathlen,
					 strlen(entry->fts_path));
			if (strcmp(entry->fts_path, DEVICE) == 0) {
				assert_int_equal(entry->fts_info, FTS_SL);
				found++;
			} else if (strcmp(entry->fts_path, CLASS) == 0) {
				found++;
			} else {
				assert_memory_equal(entry->fts_path, proc, 13);
				others++;
			}
		}
		assert_int_equal(errno, 0);
		fts_close(walk);
		assert_int_equal(found, 3);
		assert_true(others > 2);
	}
}

static void fts__walks_deep(void **state)
{
	char top[] = "/sys/devices/infiniband_roost";
	char *const paths[] = { top, NULL };
	unsigned int found = 0, nb = 0;
	FTSENT64 *entry;
	FTS64 *walk = fts64_open(paths, FTS_PHYSICAL, NULL);

	(void)state;
	assert_non_null(walk);
	while ((entry = fts64_read(walk))) {
		assert_memory_equal(entry->fts_path, top, sizeof(top) - 1);
		found += strcmp(entry->fts_path, REAL_DEVICE "/node_type") == 0;
		if (entry->fts_info == FTS_D &&
		    strcmp(entry->fts_name, "ports") == 0)
			assert_non_null(fts64_children(walk, 0));
		nb++;
	}
	fts64_close(walk);
	assert_int_equal(found, 1);
	assert_true(nb > 200);
}

static int check(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directory__is_listed),
		cmocka_unit_test(directory__can_be_entered),
		cmocka_unit_test(readlink__tells_relative_links),
		cmocka_unit_test(realpath__tells_known_paths),
		cmocka_unit_test(glob__finds_the_picture),
		cmocka_unit_test(ftw__walks_the_picture),
		cmocka_unit_test(fts__walks_the_picture),
		cmocka_unit_test(fts__walks_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return under_preload(argc, argv, check);
}
