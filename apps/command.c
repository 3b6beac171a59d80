/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

bool roost_command_find(const char *name, char *path)
{
	const char *dir = getenv("PATH");
	size_t len;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return is_executable(path);
	}
	/* The default of execvp() without PATH. */
	if (!dir)
		dir = "/bin:/usr/bin";
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		/* An empty element is the working directory. */
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, dir,
			 len ? "/" : "./", name);
		if (is_executable(path))
			return true;
		if (dir[len] == '\0')
			return false;
	}
}

bool roost_command_is_privileged(const char *path)
{
	struct statvfs fs;
	struct stat st;

	/* In these cases execve(2) raises no privileges. */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID))
		return false;
	if (stat(path, &st) != 0)
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	/* Without group execution the bit once meant mandatory locking. */
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
	    st.st_gid != getgid())
		return true;
	/* File capabilities raise nothing for root. */
	return getuid() != 0 &&
	       getxattr(path, "security.capability", NULL, 0) > 0;
}
