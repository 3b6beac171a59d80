/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/fork_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define FDS_MAX 128u

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_ret;

/* fd + 1; 0: free. Atomic, because a fork may happen at any time, and a child
 * must not take a lock.
 */
static atomic_int fds[FDS_MAX];

static void close_in_child(void)
{
	for (unsigned int i = 0; i < FDS_MAX; i++) {
		int fd = atomic_exchange(&fds[i], 0) - 1;

		if (fd >= 0)
			close(fd);
	}
}

static void register_once(void)
{
	once_ret = -pthread_atfork(NULL, NULL, close_in_child);
}

static int replace(int from, int to)
{
	for (unsigned int i = 0; i < FDS_MAX; i++) {
		int expected = from;

		if (atomic_compare_exchange_strong(&fds[i], &expected, to))
			return 0;
	}
	return -ENOSPC;
}

int roost_fork_guard_add(int fd)
{
	pthread_once(&once, register_once);
	return once_ret ? once_ret : replace(0, fd + 1);
}

void roost_fork_guard_remove(int fd)
{
	replace(fd + 1, 0);
}
