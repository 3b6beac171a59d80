/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/thread.h"

#include <sched.h>
#include <signal.h>

int roost_thread_create(pthread_t *thread, const char *name,
			void *(*run)(void *arg), void *arg)
{
	sigset_t all, saved;
	int ret;

	/* A new thread inherits the signal mask of its creator. */
	sigfillset(&all);
	/* Of accesses of its own (lib/engine/core/catch.h): blocked, they end
	 * the process.
	 */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	ret = -pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (ret == 0)
		pthread_setname_np(*thread, name);
	return ret;
}

void roost_thread_pin(unsigned int from_last)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return;
	from_last %= (unsigned int)CPU_COUNT(&cpus);
	for (size_t cpu = CPU_SETSIZE; cpu-- > 0;) {
		if (!CPU_ISSET(cpu, &cpus) || from_last-- > 0)
			continue;
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
		return;
	}
}
