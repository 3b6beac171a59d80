/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/event/high_fd.h"

/* Of cpu, as sysfs-devices-system-cpu names them: "0-3,8". */
#define NEAR_CPUS                                                              \
	"/sys/devices/system/cpu/cpu%d/cache/index"                            \
	"3/shared_cpu_list"

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

/* Take those that do not share a cache with cpu out of *cpus. Without a list
 * all stay.
 */
static void keep_near(int cpu, cpu_set_t *cpus)
{
	cpu_set_t near;
	char path[sizeof(NEAR_CPUS) + 16];
	unsigned int first = 0, last = 0;
	char comma[2];
	FILE *file;
	int nb;

	snprintf(path, sizeof(path), NEAR_CPUS, cpu);
	file = fopen(path, "re");
	if (!file)
		return;
	CPU_ZERO(&near);
	do {
		nb = fscanf(file, "%u-%u", &first, &last);
		if (nb == 1)
			last = first;
		for (; nb > 0 && first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, &near);
	} while (fscanf(file, "%1[,]", comma) == 1);
	fclose(file);
	CPU_AND(cpus, cpus, &near);
}

/* Of those of the machine, while another thread wants the CPU of this one. */
static bool is_one_idle(unsigned int nb_cpus)
{
	FILE *file = fopen("/proc/loadavg", "re");
	unsigned int nb_ready = 0;
	int nb;

	if (!file)
		return false;
	nb = fscanf(file, "%*s %*s %*s %u/", &nb_ready);
	fclose(file);
	return nb == 1 && nb_ready <= nb_cpus;
}

int roost_thread_leave_cpu(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t cpus, others;

	if (cpu < 0 || sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return -errno;
	if (sysconf(_SC_NPROCESSORS_ONLN) != CPU_COUNT(&cpus) ||
	    !is_one_idle((unsigned int)CPU_COUNT(&cpus)))
		return -EBUSY;
	others = cpus;
	CPU_CLR((size_t)cpu, &others);
	keep_near(cpu, &others);
	if (CPU_COUNT(&others) == 0)
		return -ENODEV;
	if (sched_setaffinity(0, sizeof(others), &others) < 0 ||
	    sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		return -errno;
	return 0;
}

int roost_thread_waits_open(void)
{
	int fd = roost_high_fd(
		open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));

	return fd < 0 ? -errno : fd;
}

bool roost_thread_waited_ns(int fd, uint64_t *ns)
{
	char line[64]; /* time on a CPU, time of waiting, time slices */
	ssize_t len = pread(fd, line, sizeof(line) - 1, 0);
	char *waited;

	if (len <= 0)
		return false;
	line[len] = 0;
	strtoull(line, &waited, 10);
	if (*waited != ' ')
		return false;
	*ns = strtoull(waited, NULL, 10);
	return true;
}
