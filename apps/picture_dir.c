/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/picture_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/sysfs/picture.h"

#define PREFIX "roost-sysfs-"
#define LOCK ".keeper"
/* A picture without a lock may be one that is just being made. */
#define YOUNG_S 2
/* A keeper that removes a picture needs some milliseconds. */
#define TAKE_TRIES 100
#define TAKE_NS 10000000

/* ---- making --------------------------------------------------------------
 */

const char *roost_picture_place(unsigned int i)
{
	static const char *const places[] = { "/dev/shm", NULL, "/tmp" };

	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (i != 1)
		return places[i];
	/* Empty in a hub whose launcher had none. */
	return dir && dir[0] == '/' ? dir : NULL;
}

int roost_picture_make(const char *base, char *path)
{
	int ret;

	if (*base != '/' ||
	    snprintf(path, ROOST_PICTURE_PATH_MAX, "%s/" PREFIX "%u-XXXXXX",
		     base, geteuid()) >= (int)ROOST_PICTURE_PATH_MAX)
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	if (chmod(path, 0755) == 0)
		return 0;
	ret = -errno;
	rmdir(path);
	return ret;
}

int roost_picture_lock(const char *path)
{
	char file[ROOST_PICTURE_PATH_MAX + sizeof(LOCK)];
	struct stat st;
	int fd;

	snprintf(file, sizeof(file), "%s/%s", path, LOCK);
	fd = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* Not if somebody who sweeps was faster. */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 &&
	    st.st_nlink == 1)
		return fd;
	close(fd);
	return -EAGAIN;
}

/* ---- a daemon's ----------------------------------------------------------
 */

static int fits(int len)
{
	return len < (int)ROOST_PICTURE_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int roost_picture_hub_path(const char *base, char *path)
{
	struct stat net;

	if (stat("/proc/self/ns/net", &net) != 0)
		return -errno;
	return fits(snprintf(path, ROOST_PICTURE_PATH_MAX,
			     "%s/" PREFIX "%u-hub-%lu", base, geteuid(),
			     (unsigned long)net.st_ino));
}

int roost_picture_service_path(const char *socket, char *path)
{
	return fits(snprintf(path, ROOST_PICTURE_PATH_MAX, "%s.sysfs", socket));
}

bool roost_picture_is_own(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

int roost_picture_take(const char *path)
{
	const struct timespec wait = { .tv_nsec = TAKE_NS };
	int ret = -EAGAIN;

	for (unsigned int i = 0; i < TAKE_TRIES; i++) {
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		if (!roost_picture_is_own(path))
			return -EEXIST;
		ret = roost_picture_lock(path);
		if (ret != -EAGAIN && ret != -ENOENT)
			return ret;
		nanosleep(&wait, NULL);
	}
	return ret;
}

/* ---- the end -------------------------------------------------------------
 */

/* Is it a picture of this user's, which nobody keeps? */
static bool is_left(const char *path)
{
	char file[ROOST_PICTURE_PATH_MAX + sizeof(LOCK)];
	struct stat st;
	bool left;
	int fd;

	if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || time(NULL) - st.st_ctime < YOUNG_S)
		return false;
	snprintf(file, sizeof(file), "%s/%s", path, LOCK);
	fd = open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	left = flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	/* The keeper of a program that goes on may have been killed. */
	return left && roost_picture_user(path) == 0;
}

void roost_picture_sweep(const char *base)
{
	char path[ROOST_PICTURE_PATH_MAX], prefix[64];
	struct dirent *entry;
	DIR *dir = opendir(base);

	snprintf(prefix, sizeof(prefix), PREFIX "%u-", geteuid());
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) <
			    (int)sizeof(path) &&
		    is_left(path))
			roost_picture_remove(path);
	if (dir)
		closedir(dir);
}

/* ---- who uses it ---------------------------------------------------------
 */

/* Does the file at /proc/PID/environ have the variable? */
static bool has_variable(int proc, const char *pid, const char *variable)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%.20s/environ", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && !found && getdelim(&line, &size, '\0', file) > 0)
		found = strcmp(line, variable) == 0;
	free(line);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return found;
}

pid_t roost_picture_user(const char *path)
{
	char variable[sizeof(ROOST_PICTURE_VARIABLE) + ROOST_PICTURE_PATH_MAX];
	struct dirent *entry;
	pid_t user = 0;
	DIR *dir = opendir("/proc");

	snprintf(variable, sizeof(variable), ROOST_PICTURE_VARIABLE "=%s",
		 path);
	while (dir && user == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    has_variable(dirfd(dir), entry->d_name, variable))
			user = (pid_t)atol(entry->d_name);
	if (dir)
		closedir(dir);
	return user;
}
