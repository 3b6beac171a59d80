/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_THREAD_H
#define ROOST_PMD_GLUE_PROCESS_THREAD_H

/*
 * Threads inside somebody else's process: named, and with every signal
 * blocked, so that the application's handlers run on its own threads.
 */

#include <pthread.h>

/* Returns 0, -EAGAIN. Thread: any; its own signal mask stays as it is. */
int roost_thread_create(pthread_t *thread, const char *name,
			void *(*run)(void *arg), void *arg);

/*
 * Pin the calling thread to the last CPU that the application may use, or to
 * the one so many before it: the first ones are where most programs, and the
 * kernel's own threads, begin. Those of several workers stand side by side, as
 * long as there are enough.
 */
void roost_thread_pin(unsigned int from_last);

#endif
