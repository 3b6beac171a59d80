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

#define LIBRARY "libibverbs.so.1"

/* The directory that path is in; dir: PATH_MAX bytes. */
static void parent(const char *path, char *dir)
{
	const char *slash = strrchr(path, '/');

	snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/*
 * Is dir the prefix's ROOST_BINDIR? Then prefix (PATH_MAX bytes) is what
 * stands before that.
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

int roost_shim_find(const char *exe, char *dir, char *err)
{
	char bin[PATH_MAX], top[PATH_MAX], library[PATH_MAX];
	const char *below = ROOST_SHIMDIR;
	int len;

	parent(exe, bin);
	if (!installed(bin, top)) {
		parent(bin, top);
		below = "lib/verbs";
	}
	/* A libdir outside the prefix stays where it is. */
	if (*below == '/')
		len = snprintf(dir, PATH_MAX, "%s", below);
	else
		len = snprintf(dir, PATH_MAX, "%s/%s", top, below);
	if (len < PATH_MAX)
		len = snprintf(library, sizeof(library), "%s/" LIBRARY, dir);
	if (len >= PATH_MAX || access(library, R_OK) != 0) {
		int error = len >= PATH_MAX ? ENAMETOOLONG : errno;

		roost_config_fail(err,
				  "%s/" LIBRARY ": cannot be read: %s; "
				  "build or install Roost again",
				  dir, strerror(error));
		return -error;
	}
	return 0;
}

char *roost_shim_library_path(const char *dir, const char *before)
{
	size_t len = strlen(dir);
	char *path;

	/* An empty element would mean the working directory. */
	if (!before || *before == '\0')
		return strdup(dir);
	if (strncmp(before, dir, len) == 0 &&
	    (before[len] == ':' || before[len] == '\0'))
		return strdup(before);
	if (asprintf(&path, "%s:%s", dir, before) < 0)
		return NULL;
	return path;
}
