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

/* How long fork(3) waits for those who hold it off. It is longer only where a
 * signal handler forks while its own thread does.
 */
#define HOLD_MAX_S 1

/* In the page that children get cleared; this one where there is no page. */
static _Atomic uint32_t no_page;
static _Atomic uint32_t *number = &no_page;
static uint32_t last; /* number that was given; children go on from it */

static SLIST_HEAD(, roost_process_child) children =
	SLIST_HEAD_INITIALIZER(children);

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool forking; /* and this thread has the lock */

/* The first call in this process. */
static uint32_t begin(void)
{
	struct roost_process_child *child;

	atomic_store(number, ++last);
	if (last > 1)
		SLIST_FOREACH(child, &children, link)
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
	struct roost_process_child *after = SLIST_FIRST(&children);

	if (!after) {
		SLIST_INSERT_HEAD(&children, child, link);
		return;
	}
	while (SLIST_NEXT(after, link))
		after = SLIST_NEXT(after, link);
	SLIST_INSERT_AFTER(after, child, link);
}

void roost_process_fork_hold(void)
{
	pthread_mutex_lock(&fork_lock);
}

void roost_process_fork_release(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void before_fork(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HOLD_MAX_S;
	forking = pthread_mutex_timedlock(&fork_lock, &until) == 0;
}

static void after_fork(void)
{
	if (forking)
		pthread_mutex_unlock(&fork_lock);
	forking = false;
}

static void in_child(void)
{
	pthread_mutex_init(&fork_lock, NULL);
	forking = false;
	atomic_store(number, 0);
	roost_process();
}

/* Before those of the libraries above, so that in a child the number is there
 * when their handlers run.
 */
__attribute__((constructor)) static void prepare(void)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED) {
		if (madvise(page, page_bytes, MADV_WIPEONFORK) == 0)
			number = page;
		else
			munmap(page, page_bytes);
	}
	pthread_atfork(before_fork, after_fork, in_child);
	roost_process();
}
