/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/event/high_fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

/* Returns the first high number; 0: there is none. */
static int first(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	if (limit.rlim_cur / 2 >= FD_SETSIZE)
		return FD_SETSIZE;
	return (int)(limit.rlim_cur / 4 * 3);
}

int roost_high_fd(int fd)
{
	const int least = first();
	int high;

	if (fd < 0 || fd >= least)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, least);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}
