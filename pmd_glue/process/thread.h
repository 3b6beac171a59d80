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

#endif
