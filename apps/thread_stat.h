/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_THREAD_STAT_H
#define ROOST_APPS_THREAD_STAT_H

/*
 * What a thread of a process is called, and the processor time that it has
 * used, as /proc/PID/task has it. Thread: any.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ROOST_THREAD_NAME_MAX 32u

/* Returns false: there is no such thread. */
bool roost_thread_stat(pid_t pid, const char *tid,
		       char name[ROOST_THREAD_NAME_MAX], uint64_t *cpu_ns);

#endif
