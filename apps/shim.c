/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/shim.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/fail.h"

/* The shims, and their directories in a build tree. */
static const struct shim {
	const char *library;
	const char *built;
} shims[] = {
	{ "libibverbs.so.1", "lib/verbs" },
	{ "librdmacm.so.1", "cm/rdmacm" },
};

static const struct shim preload = { "libroost-sysfs.so", "lib/preload" };

#define NB(a) (sizeof(a) / sizeof((a)[0]))

/* Write the parent directory of path to dir (PATH_MAX bytes). */
static void parent(const char *path, char *dir)
{
	const char *slash = strrchr(path, '/');

	snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/*
 * Does dir end with ROOST_BINDIR? Then prefix (PATH_MAX bytes) is the part
 * before it.
 */
static bool installed(const char *dir, char *prefix)
{
	static const char bindir[] = "/" ROOST_BINDIR;
	size_t len = strlen(dir), tail = strlen(bindir);

	if (len < tail || strcmp(dir + len - tail, bindir) != 0)
		return false;
	snprintf(prefix, PATH_MAX, "%.*s", (int)(len - tail), dir);
	return true;
}

static int unreadable(const char *path, int error, char *err)
{
	roost_config_fail(err,
			  "%s: cannot be read: %s; build or install Roost "
			  "again",
			  path, strerror(error));
	return -error;
}

/* Check that the library in dir is readable. Returns 0, -errno. */
static int look(const char *dir, const char *library, char *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, library) >= PATH_MAX)
		return unreadable(library, ENAMETOOLONG, err);
	return access(path, R_OK) == 0 ? 0 : unreadable(path, errno, err);
}

/* Find the directory of a library. Returns 0, -errno. */
static int place(const char *exe, const struct shim *shim, char *dir,
		 bool *is_installed, char *err)
{
	char bin[PATH_MAX], top[PATH_MAX];
	const char *below;
	int len;

	parent(exe, bin);
	*is_installed = installed(bin, top);
	if (!*is_installed)
		parent(bin, top);
	below = *is_installed ? ROOST_SHIMDIR : shim->built;
	/* An absolute libdir is outside of the prefix. */
	if (*below == '/')
		len = snprintf(dir, PATH_MAX, "%s", below);
	else
		len = snprintf(dir, PATH_MAX, "%s/%s", top, below);
	if (len >= PATH_MAX)
		return unreadable(below, ENAMETOOLONG, err);
	return look(dir, shim->library, err);
}

int roost_shim_find(const char *exe, char *dirs, char *err)
{
	char dir[PATH_MAX];
	bool is_installed;

	*dirs = '\0';
	for (size_t i = 0; i < NB(shims); i++) {
		int ret = place(exe, &shims[i], dir, &is_installed, err);

		if (ret)
			return ret;
		/* An installation has both shims in one directory. */
		if (i > 0 && is_installed)
			continue;
		if (i > 0)
			strcat(dirs, ":");
		strcat(dirs, dir);
	}
	return 0;
}

int roost_shim_find_preload(const char *exe, char *path, char *err)
{
	char dir[PATH_MAX];
	bool is_installed;
	int ret = place(exe, &preload, dir, &is_installed, err);

	if (ret)
		return ret;
	if (snprintf(path, PATH_MAX, "%s/%s", dir, preload.library) >= PATH_MAX)
		return unreadable(dir, ENAMETOOLONG, err);
	if (strpbrk(path, " :$")) {
		roost_config_fail(err,
				  "--sysfs: %s cannot be preloaded: a space, "
				  "':' or '$' is in its path; move it, or "
				  "--sysfs=none does without",
				  path);
		return -EINVAL;
	}
	return 0;
}

char *roost_shim_preload(const char *library, const char *before)
{
	const size_t len = strlen(library);
	char *value;

	if (!before || *before == '\0')
		return strdup(library);
	for (const char *at = before; *at; at += strspn(at, " :")) {
		const size_t word = strcspn(at, " :");

		if (word == len && strncmp(at, library, len) == 0)
			return strdup(before);
		at += word;
	}
	return asprintf(&value, "%s:%s", before, library) < 0 ? NULL : value;
}

char *roost_shim_library_path(const char *dirs, const char *before)
{
	size_t len = strlen(dirs);
	char *path;

	/* An empty element would mean the working directory. */
	if (!before || *before == '\0')
		return strdup(dirs);
	if (strncmp(before, dirs, len) == 0 &&
	    (before[len] == ':' || before[len] == '\0'))
		return strdup(before);
	if (asprintf(&path, "%s:%s", dirs, before) < 0)
		return NULL;
	return path;
}
