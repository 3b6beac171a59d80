/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What reads links and tells paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/preload/real.h"

ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t size,
			 size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

/* ---- links ----------------------------------------------------------------
 */

ROOST_PRELOAD_REAL(readlink);
ROOST_PRELOAD_REAL(__readlink_chk);
ROOST_PRELOAD_REAL(readlinkat);
ROOST_PRELOAD_REAL(__readlinkat_chk);

/* The links of /proc/self/fd lead to the picture's files. */
ROOST_PRELOAD_RARE static ssize_t shorter(int dirfd, const char *path,
					  char *buf, size_t size)
{
	char whole[PATH_MAX];
	ssize_t len = REAL(readlinkat)(dirfd, path, whole, sizeof(whole));
	size_t hidden;

	if (len < 0)
		return len;
	hidden = roost_preload_hidden(whole, (size_t)len);
	len -= (ssize_t)hidden;
	if ((size_t)len > size)
		len = (ssize_t)size;
	memcpy(buf, whole + hidden, (size_t)len);
	return len;
}

static ssize_t show(ssize_t len, int dirfd, const char *path, char *buf,
		    size_t size)
{
	ssize_t shown;

	if (len <= 0 || !roost_preload_hidden(buf, (size_t)len))
		return len;
	shown = shorter(dirfd, path, buf, size);
	/* Some programs count on a buffer of zeros. */
	if (shown >= 0 && shown < len)
		memset(buf + shown, 0, (size_t)(len - shown));
	return shown;
}

/* A node is no link. */
ROOST_PRELOAD_RARE static ssize_t rare_readlink(int dirfd, const char *path,
						char *buf, size_t size)
{
	struct roost_preload_path to;
	struct stat st;

	path = roost_preload_rewrite(dirfd, path, &to);
	if (!path)
		return -1;
	if (to.is_node) {
		if (fstatat(dirfd, path, &st, 0) == 0)
			errno = EINVAL;
		return -1;
	}
	return show(REAL(readlinkat)(dirfd, path, buf, size), dirfd, path, buf,
		    size);
}

ROOST_PRELOAD_EXPORT ssize_t readlink(const char *path, char *buf, size_t size)
{
	if (roost_preload_may_be_ours(path))
		return rare_readlink(AT_FDCWD, path, buf, size);
	return show(REAL(readlink)(path, buf, size), AT_FDCWD, path, buf, size);
}

ROOST_PRELOAD_EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf,
					size_t size)
{
	if (roost_preload_may_be_ours(path))
		return rare_readlink(dirfd, path, buf, size);
	return show(REAL(readlinkat)(dirfd, path, buf, size), dirfd, path, buf,
		    size);
}

/* The fortified ones end a program with too small a buffer. */

ROOST_PRELOAD_EXPORT ssize_t __readlink_chk(const char *path, char *buf,
					    size_t size, size_t room)
{
	return size <= room ? readlink(path, buf, size)
			    : REAL(__readlink_chk)(path, buf, size, room);
}

ROOST_PRELOAD_EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path,
					      char *buf, size_t size,
					      size_t room)
{
	return size <= room
		       ? readlinkat(dirfd, path, buf, size)
		       : REAL(__readlinkat_chk)(dirfd, path, buf, size, room);
}

/* ---- whole paths ----------------------------------------------------------
 */

ROOST_PRELOAD_REAL(realpath);
ROOST_PRELOAD_REAL(__realpath_chk);
ROOST_PRELOAD_REAL(canonicalize_file_name);

static char *show_path(char *path)
{
	const size_t len = path ? strlen(path) : 0;
	const size_t hidden = path ? roost_preload_hidden(path, len) : 0;

	if (hidden)
		memmove(path, path + hidden, len - hidden + 1);
	return path;
}

/* The path of a node: that of its folder, and its name. */
static char *node_path(const struct roost_preload_path *to, char *resolved)
{
	static const char folder[] = "/dev/infiniband/";
	const char *name = strrchr(to->buf, '/') + 1;
	struct stat st;
	char *path;

	if (stat(to->buf, &st) != 0)
		return NULL;
	path = resolved ? resolved : malloc(sizeof(folder) + strlen(name));
	if (path)
		strcat(strcpy(path, folder), name);
	return path;
}

ROOST_PRELOAD_RARE static char *rare_realpath(const char *path, char *resolved)
{
	struct roost_preload_path to;

	path = roost_preload_rewrite(AT_FDCWD, path, &to);
	if (!path)
		return NULL;
	if (to.is_node)
		return node_path(&to, resolved);
	return show_path(REAL(realpath)(path, resolved));
}

ROOST_PRELOAD_EXPORT char *realpath(const char *path, char *resolved)
{
	if (roost_preload_may_be_ours(path))
		return rare_realpath(path, resolved);
	return show_path(REAL(realpath)(path, resolved));
}

ROOST_PRELOAD_EXPORT char *__realpath_chk(const char *path, char *resolved,
					  size_t room)
{
	return room >= PATH_MAX ? realpath(path, resolved)
				: REAL(__realpath_chk)(path, resolved, room);
}

ROOST_PRELOAD_EXPORT char *canonicalize_file_name(const char *path)
{
	if (roost_preload_may_be_ours(path))
		return rare_realpath(path, NULL);
	return show_path(REAL(canonicalize_file_name)(path));
}
