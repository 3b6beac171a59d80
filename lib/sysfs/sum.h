/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_SYSFS_SUM_H
#define ROOST_SYSFS_SUM_H

/*
 * Counters of a device that several processes have open, each with an engine of
 * its own: a file of the picture has a row for each process, and the picture
 * shows their sum. Rows of processes that have ended stay in the sum.
 *
 * The launcher makes the file. A picture without one is not written by
 * processes: a daemon keeps it, and sums up by itself.
 *
 * The file is locked while a call works on it. A call does not wait for the
 * lock: a process that was stopped may hold it.
 *
 * Thread: as in picture.h.
 */

#include "lib/sysfs/picture.h"

#define ROOST_PICTURE_ROWS 64u
/* A process that has no row. */
#define ROOST_PICTURE_NO_ROW 0u

/* Make the file of a device of the picture. Returns 0, -errno. */
int roost_picture_sum_make(const char *picture, const char *name);
/* Is there one that this process may write? */
bool roost_picture_has_sum(const char *picture, const char *name);

/*
 * Write this process's counters to its row, and read the sum of all. *row:
 * ROOST_PICTURE_NO_ROW at first, then the row that the process got.
 * Returns 0; -EAGAIN (another process has the lock), -ENOSPC (so many
 * processes run), or the error of a system call; then *sum is undefined.
 */
int roost_picture_sum(const char *picture, const char *name, unsigned int *row,
		      const struct roost_picture_counters *own,
		      struct roost_picture_counters *sum);

#endif
