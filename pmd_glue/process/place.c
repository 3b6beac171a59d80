/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/event/high_fd.h"

/* sysfs-devices-system-cpu. A longer list is of more CPUs than one cache has.
 */
#define NEAR_CPUS                                                              \
	"/sys/devices/system/cpu/cpu%d/cache/index"                            \
	"3/shared_cpu_list"
#define NEAR_MAX 512

static int open_file(const char *path)
{
	return roost_high_fd(open(path, O_RDONLY | O_CLOEXEC));
}

/* The first line, or an empty one. */
static void read_line(int fd, char *line, size_t size)
{
	ssize_t len = pread(fd, line, size - 1, 0);

	line[len > 0 ? len : 0] = '\0';
}

/* "0-3,8" */
static void parse_cpus(const char *list, cpu_set_t *cpus)
{
	unsigned int first = 0, last = 0;
	int nb;

	CPU_ZERO(cpus);
	for (; list; list = strchr(list + 1, ',')) {
		nb = sscanf(list + (*list == ','), "%u-%u", &first, &last);
		if (nb == 1)
			last = first;
		for (; nb > 0 && first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, cpus);
	}
}

/* Which CPUs share a cache with cpu? Without a list, all. */
static void find_near(struct roost_place *place, int cpu)
{
	char path[sizeof(NEAR_CPUS) + 16];
	char list[NEAR_MAX] = "0-1023";
	int fd;

	snprintf(path, sizeof(path), NEAR_CPUS, cpu);
	fd = open_file(path);
	if (fd >= 0) {
		read_line(fd, list, sizeof(list));
		close(fd);
	}
	parse_cpus(list, &place->near);
}

void roost_place_open(struct roost_place *place)
{
	place->ready_fd = open_file("/proc/loadavg");
	place->waits_fd = place->ready_fd < 0
				  ? -1
				  : open_file("/proc/thread-self/schedstat");
	place->nb_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	find_near(place, sched_getcpu());
}

void roost_place_close(struct roost_place *place)
{
	if (place->waits_fd >= 0)
		close(place->waits_fd);
	if (place->ready_fd >= 0)
		close(place->ready_fd);
}

uint64_t roost_place_waited_ns(const struct roost_place *place)
{
	char line[64]; /* time on a CPU, time of waiting, time slices */
	uint64_t ns;

	if (place->waits_fd < 0)
		return 0;
	read_line(place->waits_fd, line, sizeof(line));
	return sscanf(line, "%*u %" SCNu64, &ns) == 1 ? ns : 0;
}

/* Of the CPUs of the machine, while another thread wants that of this one. */
static bool is_one_idle(const struct roost_place *place)
{
	char line[64];
	int nb_ready;

	read_line(place->ready_fd, line, sizeof(line));
	return sscanf(line, "%*s %*s %*s %d/", &nb_ready) == 1 &&
	       nb_ready <= place->nb_cpus;
}

int roost_place_leave(struct roost_place *place)
{
	const int cpu = sched_getcpu();
	cpu_set_t cpus, others;

	if (cpu < 0 || sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return -errno;
	if (CPU_COUNT(&cpus) != place->nb_cpus || !is_one_idle(place))
		return -EBUSY;
	if (!CPU_ISSET((size_t)cpu, &place->near))
		find_near(place, cpu);
	CPU_AND(&others, &cpus, &place->near);
	CPU_CLR((size_t)cpu, &others);
	if (CPU_COUNT(&others) == 0)
		return -ENODEV;
	if (sched_setaffinity(0, sizeof(others), &others) < 0 ||
	    sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		return -errno;
	return 0;
}
