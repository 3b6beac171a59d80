/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/picture_mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "pmd_glue/process/sysfs.h"

#define NODES "/dev/infiniband"

/* Begins the names that are not the system's here but the picture's. */
static const char own[] = "infiniband";

static bool is_own(const char *name)
{
	return strncmp(name, own, sizeof(own) - 1) == 0;
}

/* ---- namespaces ----------------------------------------------------------
 */

/* The own numbers stay, so files stay ours. Linux lets nobody without rights
 * map more, and maps the group only if setgroups(2) is forbidden.
 */
static int map_ids(uid_t uid, gid_t gid)
{
	char line[64];
	int ret;

	snprintf(line, sizeof(line), "%u %u 1\n", uid, uid);
	ret = roost_sysfs_put("/proc/self/uid_map", line);
	if (ret == 0)
		ret = roost_sysfs_put("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1\n", gid, gid);
	return ret ? ret : roost_sysfs_put("/proc/self/gid_map", line);
}

static int enter(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int ret = 0;

	if (unshare(CLONE_NEWNS) != 0) {
		if (errno != EPERM)
			return -errno;
		ret = unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0
			      ? -errno
			      : map_ids(uid, gid);
	}
	/* What the system mounts later is seen here, and not the reverse. */
	if (ret == 0 && mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
		ret = -errno;
	return ret;
}

/* ---- mounts --------------------------------------------------------------
 */

/* Show a file or directory, with all that is mounted below it, as another one
 * that is there. Directories are named by descriptors, because one may be
 * covered by the other.
 */
static int bind_at(int from, const char *name, int to, const char *as)
{
	char source[PATH_MAX], target[PATH_MAX];

	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", from, name);
	snprintf(target, sizeof(target), "/proc/self/fd/%d/%s", to, as);
	return mount(source, target, NULL, MS_BIND | MS_REC, NULL) == 0
		       ? 0
		       : -errno;
}

static int make_file(int dir, const char *name)
{
	return mknodat(dir, name, S_IFREG | 0644, 0) == 0 ? 0 : -errno;
}

/* See uncover_ptmx(). */
static bool is_ptmx(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(5, 2);
}

/* Show an entry of a directory that was covered, under the same name. */
static int uncover(int real, int cover, const char *name)
{
	char link[PATH_MAX];
	struct stat st;
	ssize_t len;
	int ret;

	if (fstatat(real, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		len = readlinkat(real, name, link, sizeof(link) - 1);
		if (len < 0)
			return -errno;
		link[len] = '\0';
		return symlinkat(link, cover, name) == 0 ? 0 : -errno;
	}
	if (is_ptmx(&st))
		return 0;
	if (S_ISDIR(st.st_mode))
		ret = mkdirat(cover, name, 0755) == 0 ? 0 : -errno;
	else
		ret = make_file(cover, name);
	return ret ? ret : bind_at(real, name, cover, name);
}

/* Put what is in the directory, but for own names, into its cover. */
static int uncover_all(int real, int cover)
{
	int fd = openat(real, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int ret = list ? 0 : -errno;

	while (ret == 0 && (entry = readdir(list))) {
		const char *name = entry->d_name;

		if (is_own(name) || strcmp(name, ".") == 0 ||
		    strcmp(name, "..") == 0)
			continue;
		ret = uncover(real, cover, name);
		if (ret == -ENOENT)
			ret = 0; /* it has just gone */
	}
	if (list)
		closedir(list);
	return ret;
}

/* Nobody can make a directory in /sys, and only root one in /dev: so cover the
 * directory above, in which everything else is shown again. Returns the
 * descriptor of the cover, -errno.
 */
static int cover(const char *path)
{
	int real = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ret = -errno, dir = -1;

	if (real < 0)
		return ret;
	ret = 0;
	if (mount("roost", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"))
		ret = -errno;
	if (ret == 0) {
		dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		ret = dir < 0 ? -errno : uncover_all(real, dir);
	}
	close(real);
	if (ret == 0)
		return dir;
	if (dir >= 0)
		close(dir);
	return ret;
}

/* Show the picture's directories in the system's directory of that path. */
static int show_class(const char *picture, const char *path)
{
	char source[PATH_MAX];
	struct dirent *entry;
	int ret = 0, dir;
	DIR *list;

	snprintf(source, sizeof(source), "%s%s", picture, path);
	list = opendir(source);
	if (!list)
		return -errno;
	dir = cover(path);
	if (dir < 0)
		ret = dir;
	while (ret == 0 && (entry = readdir(list))) {
		if (!is_own(entry->d_name))
			continue;
		ret = mkdirat(dir, entry->d_name, 0755) == 0
			      ? bind_at(dirfd(list), entry->d_name, dir,
					entry->d_name)
			      : -errno;
	}
	if (dir >= 0)
		close(dir);
	closedir(list);
	return ret;
}

/* The C library may not know these calls yet. */
#define CLONE_TREE 1
#define MOVE_EMPTY_PATH 4

/* The kernel looks for pseudo-terminals beside this device, and not beside a
 * mount of it alone: so show the whole of /dev again, with a link to it there.
 * whole: a copy of /dev as it was.
 */
static int uncover_ptmx(int whole, int cover)
{
	struct stat st;

	if (fstatat(whole, "ptmx", &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !is_ptmx(&st))
		return 0;
	if (mkdirat(cover, ".roost", 0755) != 0 ||
	    syscall(SYS_move_mount, whole, "", cover, ".roost",
		    MOVE_EMPTY_PATH) != 0 ||
	    symlinkat(".roost/ptmx", cover, "ptmx") != 0)
		return -errno;
	return 0;
}

static int cover_dev(void)
{
	int whole = (int)syscall(SYS_open_tree, AT_FDCWD, "/dev",
				 CLONE_TREE | O_CLOEXEC | AT_RECURSIVE);
	int ret = whole < 0 ? -errno : cover("/dev"), cover_fd = ret;

	if (ret >= 0)
		ret = uncover_ptmx(whole, cover_fd);
	if (ret == 0 && mkdirat(cover_fd, own, 0755) != 0)
		ret = -errno;
	if (cover_fd >= 0)
		close(cover_fd);
	if (whole >= 0)
		close(whole);
	return ret;
}

/* A node of the picture is a link, for everybody: here it is a device. */
static int show_nodes(const char *picture)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int ret = 0;
	DIR *list;

	if (mount("roost", NODES, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"))
		ret = errno == ENOENT ? cover_dev() : -errno;
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s" NODES, picture);
	list = opendir(path);
	if (!list)
		return -errno;
	while (ret == 0 && (entry = readdir(list))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), NODES "/%s", entry->d_name);
		ret = make_file(AT_FDCWD, path);
		if (ret == 0 &&
		    mount("/dev/null", path, NULL, MS_BIND, NULL) != 0)
			ret = -errno;
	}
	closedir(list);
	return ret;
}

static int fail(char *err, int error, const char *what, const char *fix)
{
	snprintf(err, ROOST_PICTURE_MOUNT_ERR_MAX,
		 "--sysfs=mount: %s: %s; %s, or use --sysfs=preload", what,
		 strerror(-error), fix);
	return error;
}

int roost_picture_mount(const char *picture,
			char err[ROOST_PICTURE_MOUNT_ERR_MAX])
{
	static const char *const places[] = { "/sys/class", "/sys/devices" };
	char what[64], directory[PATH_MAX];
	const bool is_known = getcwd(directory, sizeof(directory)) != NULL;
	int ret = enter();

	if (ret)
		return fail(err, ret, "this user gets no user namespace",
			    "allow them (sysctl user.max_user_namespaces; "
			    "seccomp and AppArmor forbid them in containers "
			    "and in Ubuntu)");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		ret = show_class(picture, places[i]);
		snprintf(what, sizeof(what), "%s cannot be covered", places[i]);
		if (ret)
			return fail(err, ret, what,
				    "mount sysfs at /sys, and allow mounts in "
				    "user namespaces");
	}
	ret = show_nodes(picture);
	/* It may be below what is covered now. */
	if (is_known)
		(void)!chdir(directory);
	return ret ? fail(err, ret, NODES " cannot be made",
			  "allow mounts in user namespaces")
		   : 0;
}
