/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/sysfs/sum.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct row {
	uint64_t pid; /* 0: free */
	struct roost_picture_counters counters;
};

/* Row 0 has what the rows had that were given to others. */
struct table {
	struct row rows[ROOST_PICTURE_ROWS];
};

static void add(struct roost_picture_counters *to,
		const struct roost_picture_counters *counters)
{
#define ADD(folder, counter) to->counter += counters->counter;
	ROOST_PICTURE_COUNTERS(ADD)
}

static bool has_ended(const struct row *row)
{
	return kill((pid_t)row->pid, 0) != 0 && errno == ESRCH;
}

/* Returns a free row; ROOST_PICTURE_NO_ROW: there is none. */
static unsigned int take(struct table *t)
{
	for (unsigned int i = 1; i < ROOST_PICTURE_ROWS; i++)
		if (t->rows[i].pid == 0)
			return i;
	for (unsigned int i = 1; i < ROOST_PICTURE_ROWS; i++)
		if (has_ended(&t->rows[i])) {
			add(&t->rows[0].counters, &t->rows[i].counters);
			memset(&t->rows[i], 0, sizeof(t->rows[i]));
			return i;
		}
	return ROOST_PICTURE_NO_ROW;
}

static int sum_locked(int fd, unsigned int *row,
		      const struct roost_picture_counters *own,
		      struct roost_picture_counters *sum)
{
	struct table t;

	/* A new file is empty. */
	memset(&t, 0, sizeof(t));
	if (pread(fd, &t, sizeof(t), 0) < 0)
		return -errno;
	if (*row == ROOST_PICTURE_NO_ROW)
		*row = take(&t);
	if (*row == ROOST_PICTURE_NO_ROW)
		return -ENOSPC;
	t.rows[*row].pid = (uint64_t)getpid();
	t.rows[*row].counters = *own;
	if (pwrite(fd, &t, sizeof(t), 0) != (ssize_t)sizeof(t))
		return -ENOSPC;
	memset(sum, 0, sizeof(*sum));
	for (unsigned int i = 0; i < ROOST_PICTURE_ROWS; i++)
		add(sum, &t.rows[i].counters);
	return 0;
}

static int path_of(const char *picture, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/.counters-%s", picture, name) <
			       PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

int roost_picture_sum_make(const char *picture, const char *name)
{
	char path[PATH_MAX];
	int ret = path_of(picture, name, path), fd;

	if (ret)
		return ret;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool roost_picture_has_sum(const char *picture, const char *name)
{
	char path[PATH_MAX];

	return path_of(picture, name, path) == 0 && access(path, W_OK) == 0;
}

int roost_picture_sum(const char *picture, const char *name, unsigned int *row,
		      const struct roost_picture_counters *own,
		      struct roost_picture_counters *sum)
{
	char path[PATH_MAX];
	int ret = path_of(picture, name, path), fd;

	if (ret)
		return ret;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = flock(fd, LOCK_EX | LOCK_NB) == 0 ? sum_locked(fd, row, own, sum)
						: -EAGAIN;
	close(fd);
	return ret;
}
