/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_SYSFS_FILE_H
#define ROOST_SYSFS_FILE_H

/* Directories, files and links below one directory of a picture. */

#include <stdbool.h>

#define ROOST_PICTURE_FILE_MAX 512 /* bytes of a path */
#define ROOST_PICTURE_TEXT_MAX 256

struct roost_picture_at {
	const char *picture;
	char folder[128]; /* below the picture, without slashes at the ends */
	int ret;          /* the first -errno; 0: none */
	/* The file that was written last; empty: none. A new file with the same
	 * text is a second name of it.
	 */
	char last[ROOST_PICTURE_FILE_MAX];
	char last_text[ROOST_PICTURE_TEXT_MAX];
};

/* Go to this folder; make it and those above it that are not there. */
void roost_picture_go(struct roost_picture_at *at, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Go to this folder, which is there. */
void roost_picture_enter(struct roost_picture_at *at, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Replace the file by one with this text, unless it has it. */
void roost_picture_put(struct roost_picture_at *at, const char *name,
		       const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Has the file this text? NULL: any. */
bool roost_picture_has(const struct roost_picture_at *at, const char *name,
		       const char *text);
/* Make a link, unless something has the name. */
void roost_picture_link(struct roost_picture_at *at, const char *name,
			const char *target);

#endif
