/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_THREAD_H
#define ROOST_PMD_GLUE_PROCESS_THREAD_H

/*
 * Roost's threads inside the application's process: each has a name and blocks
 * all signals, so that the application's handlers run on its own threads.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns 0, -EAGAIN. Thread: any; its own signal mask stays as it is. */
int roost_thread_create(pthread_t *thread, const char *name,
			void *(*run)(void *arg), void *arg);

/*
 * Pin the calling thread to the CPU that is from_last before the last one that
 * the application may use; 0 is the last one. Most programs and the kernel's
 * threads start on the first CPUs. If there are enough CPUs, each worker has
 * its own.
 */
void roost_thread_pin(unsigned int from_last);

/*
 * Move the calling thread, whose CPU another one wants, to another CPU that
 * shares the last level cache, if one of the machine is idle. Afterwards it may
 * use the same CPUs as before; a mask that others set for it meanwhile is lost.
 * Returns 0; -EBUSY: none is idle, or the thread may not use all CPUs, and
 * nothing tells about these alone; -ENODEV: no other shares the cache; -errno.
 */
int roost_thread_leave_cpu(void);

/*
 * How long the calling thread was ready to run and had no CPU, since it began
 * (proc(5), schedstat). Returns a descriptor for roost_thread_waited_ns(), to
 * be closed by the caller, or -errno: the kernel does not tell.
 */
int roost_thread_waits_open(void);
/* Returns true and *ns, of the thread that opened fd. */
bool roost_thread_waited_ns(int fd, uint64_t *ns);

#endif
