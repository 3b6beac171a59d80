/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/event/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How long fork(3) waits for a thread that holds it off. It takes longer only
 * if a signal handler forks in the thread that holds it off.
 */
#define HOLD_MAX_S 1

/* In the page that the kernel clears in children; no_page: there is no such
 * page.
 */
static _Atomic uint32_t no_page;
static _Atomic uint32_t *number = &no_page;
static uint32_t last; /* last number that was given out; children continue from
		       * it */
static _Thread_local uint32_t of_fork; /* the number of the forking process */

static STAILQ_HEAD(, roost_process_child) children =
	STAILQ_HEAD_INITIALIZER(children);

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool forking; /* and this thread has the lock */

/* The first call in this process. */
static uint32_t begin(void)
{
	struct roost_process_child *child;

	atomic_store(number, ++last);
	if (last == 1)
		return last;
	pthread_mutex_init(&fork_lock, NULL);
	STAILQ_FOREACH(child, &children, link)
		child->run();
	return last;
}

uint32_t roost_process(void)
{
	const uint32_t mine = atomic_load(number);

	return mine ? mine : begin();
}

void roost_process_at_child(struct roost_process_child *child)
{
	STAILQ_INSERT_TAIL(&children, child, link);
}

void roost_process_fork_hold(void)
{
	pthread_mutex_lock(&fork_lock);
}

void roost_process_fork_release(void)
{
	pthread_mutex_unlock(&fork_lock);
}

/* ---- memory --------------------------------------------------------------
 */

/* Never more pages than the caller named. */
static bool advise(void *pages, size_t bytes, int advice)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	return (uintptr_t)pages % page_bytes == 0 && bytes % page_bytes == 0 &&
	       madvise(pages, bytes, advice) == 0;
}

void roost_process_clear(void *pages, size_t bytes)
{
	(void)advise(pages, bytes, MADV_WIPEONFORK);
}

void roost_process_keep(void *pages, size_t bytes)
{
	(void)advise(pages, bytes, MADV_KEEPONFORK);
}

/* ---- fork(3) -------------------------------------------------------------
 */

static void before_fork(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HOLD_MAX_S;
	forking = pthread_mutex_timedlock(&fork_lock, &until) == 0;
	of_fork = roost_process();
}

static void after_fork(void)
{
	if (forking)
		pthread_mutex_unlock(&fork_lock);
	forking = false;
}

/* Needed where the page is not cleared; where it is, an earlier handler may
 * have called roost_process() already.
 */
static void in_child(void)
{
	forking = false;
	if (atomic_load(number) == of_fork)
		atomic_store(number, 0);
	roost_process();
}

/* Registered before the handlers of the libraries above, so that in a child the
 * number is there when their handlers run.
 */
__attribute__((constructor)) static void prepare(void)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED) {
		roost_process_clear(page, page_bytes);
		number = page;
	}
	pthread_atfork(before_fork, after_fork, in_child);
	roost_process();
}
