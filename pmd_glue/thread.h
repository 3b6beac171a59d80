/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_THREAD_H
#define ROOST_PMD_GLUE_THREAD_H

/*
 * Threads inside somebody else's process: named, and with every signal
 * blocked, so that the application's handlers run on its own threads.
 */

#include <pthread.h>

/* Returns 0, -EAGAIN. Thread: any; its own signal mask stays as it is. */
int roost_thread_create(pthread_t *thread, const char *name,
			void *(*run)(void *arg), void *arg);

#endif
