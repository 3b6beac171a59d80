/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_SYSFS_H
#define ROOST_PMD_GLUE_PROCESS_SYSFS_H

/*
 * What the kernel shows of a device at folder/name/what. Empty: it does not.
 * size: of word or last, in bytes, terminating zero included; more is cut off.
 *
 * Thread: any.
 */

#include <stddef.h>

/* The first line of the file there. */
void roost_sysfs_word(const char *folder, const char *name, const char *what,
		      char *word, size_t size);

/* The last part of what the link there leads to. */
void roost_sysfs_link(const char *folder, const char *name, const char *what,
		      char *last, size_t size);

#endif
