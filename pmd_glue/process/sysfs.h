/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_SYSFS_H
#define ROOST_PMD_GLUE_PROCESS_SYSFS_H

/*
 * Attributes of a device in sysfs, at folder/name/what. The result is empty if
 * there is no such attribute. size: of word or last, in bytes, with the
 * terminating zero; a longer value is cut.
 *
 * Thread: any.
 */

#include <stddef.h>

/* word becomes the first line of that file. */
void roost_sysfs_word(const char *folder, const char *name, const char *what,
		      char *word, size_t size);

/* last becomes the last component of the target of that symbolic link. */
void roost_sysfs_link(const char *folder, const char *name, const char *what,
		      char *last, size_t size);

/* Write text to a file of the kernel's, which is there, at once. 0 or -errno.
 */
int roost_sysfs_put(const char *path, const char *text);

#endif
