/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/open_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool roost_open_file_is_of(const char *pid, const char *target)
{
	char path[PATH_MAX], found_at[PATH_MAX];
	const struct dirent *e;
	bool found = false;
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid,
			 e->d_name);
		len = readlink(path, found_at, sizeof(found_at) - 1);
		if (len < 0)
			continue;
		found_at[len] = '\0';
		found = strcmp(found_at, target) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}
