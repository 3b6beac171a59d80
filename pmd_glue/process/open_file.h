/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_OPEN_FILE_H
#define ROOST_PMD_GLUE_PROCESS_OPEN_FILE_H

/* Who has a file open. */

#include <stdbool.h>

/*
 * Has the process a descriptor of target: a path, or "socket:[INODE]"? pid: its
 * number, as the name of its folder in /proc. Returns false also where this
 * user may not look. Thread: any.
 */
bool roost_open_file_is_of(const char *pid, const char *target);

#endif
