/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What opens a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/preload/real.h"

/* The fortified variants, which headers declare for their own use. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

/* Other names of open(2), for old programs. */
int __open(const char *path, int flags, ...);
int __open64(const char *path, int flags, ...);

#define FOLLOW (flags &= ~O_NOFOLLOW)

ROOST_PRELOAD_WRAP_OPEN(int, -1, __open_2, AT_FDCWD, FOLLOW, flags,
			(const char *path, int flags), (path, flags))
ROOST_PRELOAD_WRAP_OPEN(int, -1, __open64_2, AT_FDCWD, FOLLOW, flags,
			(const char *path, int flags), (path, flags))
ROOST_PRELOAD_WRAP_OPEN(int, -1, __openat_2, dirfd, FOLLOW, flags,
			(int dirfd, const char *path, int flags),
			(dirfd, path, flags))
ROOST_PRELOAD_WRAP_OPEN(int, -1, __openat64_2, dirfd, FOLLOW, flags,
			(int dirfd, const char *path, int flags),
			(dirfd, path, flags))
ROOST_PRELOAD_WRAP_OPEN(int, -1, creat, AT_FDCWD, , O_WRONLY | O_CREAT,
			(const char *path, mode_t mode), (path, mode))
ROOST_PRELOAD_WRAP_OPEN(int, -1, creat64, AT_FDCWD, , O_WRONLY | O_CREAT,
			(const char *path, mode_t mode), (path, mode))
/* Does a stream of this mode write? As flags of open(2). */
static int how(const char *mode)
{
	if (mode[0] != 'r')
		return O_RDWR | O_CREAT;
	return strchr(mode, '+') ? O_RDWR : O_RDONLY;
}

ROOST_PRELOAD_WRAP_OPEN(FILE *, NULL, fopen, AT_FDCWD, , how(mode),
			(const char *path, const char *mode), (path, mode))
ROOST_PRELOAD_WRAP_OPEN(FILE *, NULL, fopen64, AT_FDCWD, , how(mode),
			(const char *path, const char *mode), (path, mode))
ROOST_PRELOAD_WRAP_OPEN(FILE *, NULL, freopen, AT_FDCWD, , how(mode),
			(const char *path, const char *mode, FILE *file),
			(path, mode, file))
ROOST_PRELOAD_WRAP_OPEN(FILE *, NULL, freopen64, AT_FDCWD, , how(mode),
			(const char *path, const char *mode, FILE *file),
			(path, mode, file))

ROOST_PRELOAD_WRAP_OPEN(int, -1, truncate, AT_FDCWD, , O_WRONLY,
			(const char *path, off_t len), (path, len))
ROOST_PRELOAD_WRAP_OPEN(int, -1, truncate64, AT_FDCWD, , O_WRONLY,
			(const char *path, off64_t len), (path, len))

/* The child does both without calling a wrapper. */
ROOST_PRELOAD_WRAP_OPEN(int, errno, posix_spawn_file_actions_addopen, AT_FDCWD,
			FOLLOW, flags,
			(posix_spawn_file_actions_t * actions, int fd,
			 const char *path, int flags, mode_t mode),
			(actions, fd, path, flags, mode))
ROOST_PRELOAD_WRAP(int, errno, posix_spawn_file_actions_addchdir_np, AT_FDCWD, ,
		   (posix_spawn_file_actions_t * actions, const char *path),
		   (actions, path))

/* The mode is there only if the call may create a file. */
#define MODE(mode)                                                             \
	mode_t mode = 0;                                                       \
	if (flags & (O_CREAT | __O_TMPFILE)) {                                 \
		va_list list;                                                  \
                                                                               \
		va_start(list, flags);                                         \
		mode = va_arg(list, mode_t);                                   \
		va_end(list);                                                  \
	}

#define OPEN(fn)                                                               \
	ROOST_PRELOAD_REAL(fn);                                                \
	ROOST_PRELOAD_RARE static int rare_##fn(const char *path, int flags,   \
						mode_t mode)                   \
	{                                                                      \
		struct roost_preload_path to;                                  \
                                                                               \
		path = roost_preload_rewrite(AT_FDCWD, path, &to);             \
		if (!path)                                                     \
			return -1;                                             \
		if (to.is_node)                                                \
			FOLLOW;                                                \
		if (roost_preload_refuses(path, &to, flags))                   \
			return -1;                                             \
		return REAL(fn)(path, flags, mode);                            \
	}                                                                      \
	ROOST_PRELOAD_EXPORT int fn(const char *path, int flags, ...)          \
	{                                                                      \
		MODE(mode)                                                     \
		if (roost_preload_may_be_ours(path))                           \
			return rare_##fn(path, flags, mode);                   \
		return REAL(fn)(path, flags, mode);                            \
	}

#define OPENAT(fn)                                                             \
	ROOST_PRELOAD_REAL(fn);                                                \
	ROOST_PRELOAD_RARE static int rare_##fn(int dirfd, const char *path,   \
						int flags, mode_t mode)        \
	{                                                                      \
		struct roost_preload_path to;                                  \
                                                                               \
		path = roost_preload_rewrite(dirfd, path, &to);                \
		if (!path)                                                     \
			return -1;                                             \
		if (to.is_node)                                                \
			FOLLOW;                                                \
		if (roost_preload_refuses(path, &to, flags))                   \
			return -1;                                             \
		return REAL(fn)(dirfd, path, flags, mode);                     \
	}                                                                      \
	ROOST_PRELOAD_EXPORT int fn(int dirfd, const char *path, int flags,    \
				    ...)                                       \
	{                                                                      \
		MODE(mode)                                                     \
		if (roost_preload_may_be_ours(path))                           \
			return rare_##fn(dirfd, path, flags, mode);            \
		return REAL(fn)(dirfd, path, flags, mode);                     \
	}

OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)
OPENAT(openat)
OPENAT(openat64)
