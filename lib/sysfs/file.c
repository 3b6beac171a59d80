/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/sysfs/file.h"
#include "lib/sysfs/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void failed(struct roost_picture_at *at)
{
	if (at->ret == 0)
		at->ret = -errno;
}

/* Everybody may read a picture, and its owner may write: as in sysfs. */
static void make_folder(struct roost_picture_at *at, const char *path)
{
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		failed(at);
}

void roost_picture_go(struct roost_picture_at *at, const char *format, ...)
{
	char path[PATH_MAX];
	va_list list;
	char *slash;
	int n;

	va_start(list, format);
	vsnprintf(at->folder, sizeof(at->folder), format, list);
	va_end(list);
	n = snprintf(path, sizeof(path), "%s/%s", at->picture, at->folder);
	if (n >= (int)sizeof(path) || mkdir(path, 0755) == 0 || errno == EEXIST)
		return;
	slash = path + strlen(at->picture);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		make_folder(at, path);
		*slash = '/';
	}
	make_folder(at, path);
}

void roost_picture_enter(struct roost_picture_at *at, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(at->folder, sizeof(at->folder), format, list);
	va_end(list);
}

/* Write a new file; returns 0, -1 and errno. */
static int write_new(const char *path, const char *text)
{
	const size_t len = strlen(text);
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		      0644);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, len);
	fchmod(fd, 0444);
	close(fd);
	if (n == (ssize_t)len)
		return 0;
	unlink(path);
	errno = n < 0 ? errno : ENOSPC;
	return -1;
}

/* A program that opens a device finds most files as they are to be. */
static bool has_text(const char *path, const char *text)
{
	char found[ROOST_PICTURE_TEXT_MAX];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, found, sizeof(found));
	close(fd);
	return n == (ssize_t)strlen(text) &&
	       memcmp(found, text, (size_t)n) == 0;
}

bool roost_picture_has(const struct roost_picture_at *at, const char *name,
		       const char *text)
{
	char path[ROOST_PICTURE_FILE_MAX];

	return snprintf(path, sizeof(path), "%s/%s/%s", at->picture, at->folder,
			name) < (int)sizeof(path) &&
	       (text ? has_text(path, text) : access(path, F_OK) == 0);
}

void roost_picture_put(struct roost_picture_at *at, const char *name,
		       const char *format, ...)
{
	char text[ROOST_PICTURE_TEXT_MAX];
	char path[ROOST_PICTURE_FILE_MAX], new[ROOST_PICTURE_FILE_MAX + 16];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (snprintf(path, sizeof(path), "%s/%s/%s", at->picture, at->folder,
		     name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		failed(at);
		return;
	}
	if (has_text(path, text) ||
	    (at->last[0] && strcmp(text, at->last_text) == 0 &&
	     link(at->last, path) == 0))
		return;
	snprintf(new, sizeof(new), "%s/.new-%d", at->picture, getpid());
	if (write_new(new, text) != 0) {
		failed(at);
	} else if (rename(new, path) != 0) {
		failed(at);
		unlink(new);
	} else {
		memcpy(at->last, path, sizeof(at->last));
		memcpy(at->last_text, text, sizeof(at->last_text));
	}
}

void roost_picture_link(struct roost_picture_at *at, const char *name,
			const char *target)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s/%s", at->picture, at->folder,
		     name) < (int)sizeof(path) &&
	    symlink(target, path) != 0 && errno != EEXIST)
		failed(at);
}

static int remove_one(const char *path, const struct stat *st, int what,
		      struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	remove(path);
	return 0;
}

void roost_picture_remove(const char *path)
{
	/* One descriptor at a time: there may be few. */
	nftw(path, remove_one, 1, FTW_DEPTH | FTW_PHYS);
}
