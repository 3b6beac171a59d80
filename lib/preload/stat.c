/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What asks about a file.
 */
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/preload/real.h"

/* Of the C library before 2.33: programs that were built then call them. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st,
	       int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st,
		 int flags);

#define FOLLOW (flags &= ~AT_SYMLINK_NOFOLLOW)

ROOST_PRELOAD_WRAP(int, -1, stat, AT_FDCWD, ,
		   (const char *path, struct stat *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, stat64, AT_FDCWD, ,
		   (const char *path, struct stat64 *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, lstat, AT_FDCWD, return REAL(stat)(path, st),
		   (const char *path, struct stat *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, lstat64, AT_FDCWD, return REAL(stat64)(path, st),
		   (const char *path, struct stat64 *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, fstatat, dirfd, FOLLOW,
		   (int dirfd, const char *path, struct stat *st, int flags),
		   (dirfd, path, st, flags))
ROOST_PRELOAD_WRAP(int, -1, fstatat64, dirfd, FOLLOW,
		   (int dirfd, const char *path, struct stat64 *st, int flags),
		   (dirfd, path, st, flags))
ROOST_PRELOAD_WRAP(int, -1, __xstat, AT_FDCWD, ,
		   (int version, const char *path, struct stat *st),
		   (version, path, st))
ROOST_PRELOAD_WRAP(int, -1, __xstat64, AT_FDCWD, ,
		   (int version, const char *path, struct stat64 *st),
		   (version, path, st))
ROOST_PRELOAD_WRAP(int, -1, __lxstat, AT_FDCWD,
		   return REAL(__xstat)(version, path, st),
		   (int version, const char *path, struct stat *st),
		   (version, path, st))
ROOST_PRELOAD_WRAP(int, -1, __lxstat64, AT_FDCWD,
		   return REAL(__xstat64)(version, path, st),
		   (int version, const char *path, struct stat64 *st),
		   (version, path, st))
ROOST_PRELOAD_WRAP(int, -1, __fxstatat, dirfd, FOLLOW,
		   (int version, int dirfd, const char *path, struct stat *st,
		    int flags),
		   (version, dirfd, path, st, flags))
ROOST_PRELOAD_WRAP(int, -1, __fxstatat64, dirfd, FOLLOW,
		   (int version, int dirfd, const char *path, struct stat64 *st,
		    int flags),
		   (version, dirfd, path, st, flags))
ROOST_PRELOAD_WRAP(int, -1, statx, dirfd, FOLLOW,
		   (int dirfd, const char *path, int flags, unsigned int mask,
		    struct statx *st),
		   (dirfd, path, flags, mask, st))
ROOST_PRELOAD_WRAP(int, -1, access, AT_FDCWD, , (const char *path, int mode),
		   (path, mode))
ROOST_PRELOAD_WRAP(int, -1, eaccess, AT_FDCWD, , (const char *path, int mode),
		   (path, mode))
ROOST_PRELOAD_WRAP(int, -1, euidaccess, AT_FDCWD, ,
		   (const char *path, int mode), (path, mode))
ROOST_PRELOAD_WRAP(int, -1, faccessat, dirfd, FOLLOW,
		   (int dirfd, const char *path, int mode, int flags),
		   (dirfd, path, mode, flags))
ROOST_PRELOAD_WRAP(int, -1, statfs, AT_FDCWD, ,
		   (const char *path, struct statfs *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, statfs64, AT_FDCWD, ,
		   (const char *path, struct statfs64 *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, statvfs, AT_FDCWD, ,
		   (const char *path, struct statvfs *st), (path, st))
ROOST_PRELOAD_WRAP(int, -1, statvfs64, AT_FDCWD, ,
		   (const char *path, struct statvfs64 *st), (path, st))
ROOST_PRELOAD_WRAP(long, -1, pathconf, AT_FDCWD, , (const char *path, int name),
		   (path, name))
ROOST_PRELOAD_WRAP(key_t, -1, ftok, AT_FDCWD, , (const char *path, int id),
		   (path, id))
ROOST_PRELOAD_WRAP(int, -1, inotify_add_watch, AT_FDCWD, ,
		   (int fd, const char *path, uint32_t mask), (fd, path, mask))

ROOST_PRELOAD_WRAP(int, -1, name_to_handle_at, dirfd,
		   flags |= AT_SYMLINK_FOLLOW,
		   (int dirfd, const char *path, struct file_handle *handle,
		    int *mount_id, int flags),
		   (dirfd, path, handle, mount_id, flags))

/* ls(1) asks for these. */
ROOST_PRELOAD_WRAP(ssize_t, -1, getxattr, AT_FDCWD, ,
		   (const char *path, const char *name, void *value,
		    size_t size),
		   (path, name, value, size))
ROOST_PRELOAD_WRAP(ssize_t, -1, lgetxattr, AT_FDCWD,
		   return REAL(getxattr)(path, name, value, size),
		   (const char *path, const char *name, void *value,
		    size_t size),
		   (path, name, value, size))
ROOST_PRELOAD_WRAP(ssize_t, -1, listxattr, AT_FDCWD, ,
		   (const char *path, char *list, size_t size),
		   (path, list, size))
ROOST_PRELOAD_WRAP(ssize_t, -1, llistxattr, AT_FDCWD,
		   return REAL(listxattr)(path, list, size),
		   (const char *path, char *list, size_t size),
		   (path, list, size))
