/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What opens a directory, or goes there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/preload/real.h"

char *__getcwd_chk(char *buf, size_t size, size_t room);
char *__getwd_chk(char *buf, size_t room);

ROOST_PRELOAD_WRAP(DIR *, NULL, opendir, AT_FDCWD, , (const char *path), (path))
ROOST_PRELOAD_WRAP(int, -1, scandir, AT_FDCWD, ,
		   (const char *path, struct dirent ***names,
		    int (*select)(const struct dirent *),
		    int (*order)(const struct dirent **,
				 const struct dirent **)),
		   (path, names, select, order))
ROOST_PRELOAD_WRAP(int, -1, scandir64, AT_FDCWD, ,
		   (const char *path, struct dirent64 ***names,
		    int (*select)(const struct dirent64 *),
		    int (*order)(const struct dirent64 **,
				 const struct dirent64 **)),
		   (path, names, select, order))
ROOST_PRELOAD_WRAP(int, -1, scandirat, dirfd, ,
		   (int dirfd, const char *path, struct dirent ***names,
		    int (*select)(const struct dirent *),
		    int (*order)(const struct dirent **,
				 const struct dirent **)),
		   (dirfd, path, names, select, order))
ROOST_PRELOAD_WRAP(int, -1, scandirat64, dirfd, ,
		   (int dirfd, const char *path, struct dirent64 ***names,
		    int (*select)(const struct dirent64 *),
		    int (*order)(const struct dirent64 **,
				 const struct dirent64 **)),
		   (dirfd, path, names, select, order))
ROOST_PRELOAD_WRAP(int, -1, chdir, AT_FDCWD, , (const char *path), (path))

/* ---- the working directory ------------------------------------------------
 */

ROOST_PRELOAD_REAL(getcwd);
ROOST_PRELOAD_REAL(__getcwd_chk);
ROOST_PRELOAD_REAL(get_current_dir_name);
ROOST_PRELOAD_REAL(getwd);
ROOST_PRELOAD_REAL(__getwd_chk);

/* Take away what the program does not know of a path that it owns. */
static char *show(char *path)
{
	const size_t len = path ? strlen(path) : 0;
	const size_t hidden = path ? roost_preload_hidden(path, len) : 0;

	if (hidden)
		memmove(path, path + hidden, len - hidden + 1);
	return path;
}

/* The whole path has no room in buf. Has that which the program knows? */
ROOST_PRELOAD_RARE static char *shorter(char *buf, size_t size)
{
	char path[PATH_MAX];

	if (!REAL(getcwd)(path, sizeof(path)))
		return NULL;
	if (strlen(show(path)) >= size) {
		errno = ERANGE;
		return NULL;
	}
	return strcpy(buf, path);
}

ROOST_PRELOAD_EXPORT char *getcwd(char *buf, size_t size)
{
	const int error = errno;
	char *path = show(REAL(getcwd)(buf, size));

	if (path || !buf || size == 0 || errno != ERANGE)
		return path;
	path = shorter(buf, size);
	if (path)
		errno = error;
	return path;
}

ROOST_PRELOAD_EXPORT char *__getcwd_chk(char *buf, size_t size, size_t room)
{
	/* The function ends a program with too small a buffer. */
	return size <= room ? getcwd(buf, size)
			    : REAL(__getcwd_chk)(buf, size, room);
}

ROOST_PRELOAD_EXPORT char *get_current_dir_name(void)
{
	return show(REAL(get_current_dir_name)());
}

/* Of the old one, a buffer of PATH_MAX bytes is taken for granted. */
ROOST_PRELOAD_EXPORT char *getwd(char *buf)
{
	return show(((char *(*)(char *))roost_preload_real(&real_getwd))(buf));
}

ROOST_PRELOAD_EXPORT char *__getwd_chk(char *buf, size_t room)
{
	return show(REAL(__getwd_chk)(buf, room));
}
