/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/handover.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 1

static struct {
	int fd;                  /* -1: closed */
	pthread_mutex_t callers; /* one after the other */
	pthread_mutex_t lock;
	pthread_cond_t done;
	int (*fn)(void *arg); /* NULL: nothing waits */
	void *arg;
	int ret;
	bool is_done;
} work = {
	.fd = -1,
	.callers = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

int roostd_handover_open(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&work.done, &attr);
	pthread_condattr_destroy(&attr);
	work.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return work.fd < 0 ? -errno : work.fd;
}

void roostd_handover_close(void)
{
	if (work.fd < 0)
		return;
	close(work.fd);
	work.fd = -1;
	pthread_cond_destroy(&work.done);
}

/* Under the lock: who waits has given up before, or waits for the end. */
void roostd_handover_serve(void)
{
	eventfd_t tokens;

	eventfd_read(work.fd, &tokens);
	pthread_mutex_lock(&work.lock);
	if (work.fn) {
		work.ret = work.fn(work.arg);
		work.fn = NULL;
		work.is_done = true;
		pthread_cond_signal(&work.done);
	}
	pthread_mutex_unlock(&work.lock);
}

int roostd_handover(int (*fn)(void *arg), void *arg)
{
	struct timespec until;
	int ret = 0;

	pthread_mutex_lock(&work.callers);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&work.lock);
	work.fn = fn;
	work.arg = arg;
	work.is_done = false;
	eventfd_write(work.fd, 1);
	while (!work.is_done && ret == 0)
		ret = pthread_cond_timedwait(&work.done, &work.lock, &until);
	work.fn = NULL;
	ret = work.is_done ? work.ret : -EBUSY;
	pthread_mutex_unlock(&work.lock);
	pthread_mutex_unlock(&work.callers);
	return ret;
}
