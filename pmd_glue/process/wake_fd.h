/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_WAKE_FD_H
#define ROOST_PMD_GLUE_PROCESS_WAKE_FD_H

/*
 * The eventfd that a thread of ours sleeps on. A program may close all
 * descriptors of its process (closefrom(3)), or put others in their places
 * (dup2(2)): then nothing wakes the thread, or no sleep lasts.
 */

#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define ROOST_WAKE_LOST_NS 10000000

/* Take all tokens, without waiting for one. If the descriptor is closed, or no
 * eventfd any more, sleep for 10 ms: the thread goes on, and takes no processor
 * for it.
 */
static inline void roost_wake_take(int fd)
{
	const struct timespec nap = { .tv_nsec = ROOST_WAKE_LOST_NS };
	uint64_t tokens;
	ssize_t got = read(fd, &tokens, sizeof(tokens));

	if (got < 0 ? errno != EAGAIN : got != sizeof(tokens))
		nanosleep(&nap, NULL);
}

#endif
