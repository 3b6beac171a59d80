/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmd_glue/process/clock.h"

#define PATIENCE_NS 1000000000u
#define PAUSE_US 5000u

static const char *find_wrong(int fd)
{
	struct stat info;

	if (fstat(fd, &info) != 0)
		return strerror(errno);
	if (!S_ISREG(info.st_mode) || info.st_nlink > 1)
		return "it is no plain file";
	if (info.st_uid != geteuid())
		return "it belongs to another user";
	if ((info.st_mode & 077) != 0)
		return "others may read or write it";
	return NULL;
}

static bool is_at(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* As roostd_lock_open(); -EAGAIN: it was removed or replaced meanwhile. */
static int try_once(const char *path, int flags, const char **why)
{
	int fd = open(path,
		      flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
		      0600);
	int ret;

	*why = "it is a symbolic link";
	if (fd < 0)
		return errno == ELOOP ? -EINVAL : -errno;
	*why = find_wrong(fd);
	if (*why)
		ret = -EINVAL;
	else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (!is_at(fd, path))
		ret = -EAGAIN;
	else
		return fd;
	close(fd);
	return ret;
}

int roostd_lock_open(const char *path, int flags, const char **why)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;
	int ret;

	for (;;) {
		ret = try_once(path, flags, why);
		if (ret != -EBUSY && ret != -EAGAIN)
			return ret;
		if (roost_now_ns() >= until_ns)
			return -EBUSY;
		usleep(PAUSE_US);
	}
}
