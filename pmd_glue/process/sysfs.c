/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void roost_sysfs_word(const char *folder, const char *name, const char *what,
		      char *word, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	word[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, what);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(word, (int)size, file))
		word[0] = '\0';
	word[strcspn(word, "\n")] = '\0';
	fclose(file);
}

void roost_sysfs_link(const char *folder, const char *name, const char *what,
		      char *last, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t len;

	last[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, what);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return;
	target[len] = '\0';
	slash = strrchr(target, '/');
	snprintf(last, size, "%.*s", (int)size - 1, slash ? slash + 1 : target);
}

int roost_sysfs_put(const char *path, const char *text)
{
	const size_t len = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n != (ssize_t)len)
		ret = n < 0 ? -errno : -EIO;
	close(fd);
	return ret;
}
