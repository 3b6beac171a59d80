/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_OPEN_FILE_H
#define ROOST_PMD_GLUE_PROCESS_OPEN_FILE_H

/* Which process has a file open. */

#include <stdbool.h>

/*
 * Does process pid have a descriptor of target? pid: the name of its folder in
 * /proc. target: a path, or "socket:[INODE]". Returns false also if this user
 * may not read the folder. Thread: any.
 */
bool roost_open_file_is_of(const char *pid, const char *target);

#endif
