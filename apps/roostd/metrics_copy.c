/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/metrics_copy.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "apps/roostd/handover.h"
#include "apps/roostd/picture.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/process/control.h"

#define SECOND_NS 1000000000ull

/* ---- ports, clients: the daemon's thread ----------------------------------
 */

static void copy_port(const struct roostd_port *port,
		      struct roostd_metrics_port *to)
{
	struct roost_switch_counters one;
	const struct roostd_client *c;

	roostd_shared_row(port, &to->row);
	to->speed_mbps = port->facts.speed_mbps;
	to->total = port->sw->gone;
	one = roost_switch_counters(port->sw, ROOST_SWITCH_SELF);
	roost_switch_counters_add(&to->total, &one);
	LIST_FOREACH(c, &port->clients, all) {
		if (c->slot == ROOST_CLIENT_NONE)
			continue;
		one = roost_switch_counters(port->sw, c->slot);
		roost_switch_counters_add(&to->total, &one);
	}
	to->has_engines = roostd_picture_counters(port, &to->engines);
}

static void copy_clients(const struct roostd_port *port,
			 struct roostd_metrics_copy *copy)
{
	uint32_t nb = 0;

	for (uint32_t slot = 0; nb < port->nb_attached; slot++) {
		const struct roostd_client *c;

		if (slot == ROOST_CLIENTS_MAX)
			break;
		c = port->by_slot[slot];
		if (!c)
			continue;
		nb++;
		if (copy->nb_clients < ROOSTD_METRICS_CLIENTS_MAX)
			roostd_client_row(port, c,
					  &copy->clients[copy->nb_clients++]);
		else
			copy->nb_left_out++;
	}
}

static int copy_ports(void *arg)
{
	struct roostd_metrics_copy *copy = arg;

	copy->nb_ports = copy->first->nb_ports;
	copy->nb_clients = 0;
	copy->nb_left_out = 0;
	for (uint32_t i = 0; i < copy->nb_ports; i++) {
		copy_port(&copy->first[i], &copy->ports[i]);
		copy_clients(&copy->first[i], copy);
	}
	return 0;
}

/* ---- devices: the control thread ------------------------------------------
 */

static int copy_devices(void *arg)
{
	struct roostd_metrics_copy *copy = arg;
	struct roost_ctl_device *d = NULL;

	copy->nb_devices = 0;
	while ((d = roost_ctl_next(d)) != NULL &&
	       copy->nb_devices < ROOSTD_METRICS_DEVICES_MAX) {
		struct roostd_metrics_device *to =
			&copy->devices[copy->nb_devices++];

		roost_device_row(d->dev, &to->row);
		roost_dev_counters(d->dev, &to->counters);
		roost_port_row(d->ports[0], &to->port);
	}
	return 0;
}

/* ---- the process ----------------------------------------------------------
 */

/* Threads of EAL and of drivers have names of their own; several may have the
 * same one.
 */
static void add_thread(struct roostd_metrics_copy *copy, const char *name,
		       uint64_t cpu_ns)
{
	struct roostd_metrics_thread *t = copy->threads;

	while (t < copy->threads + copy->nb_threads &&
	       strcmp(t->name, name) != 0)
		t++;
	if (t == copy->threads + ROOSTD_METRICS_THREADS_MAX)
		return;
	if (t == copy->threads + copy->nb_threads) {
		copy->nb_threads++;
		*t = (struct roostd_metrics_thread){ .cpu_ns = 0 };
		strcpy(t->name, name);
	}
	t->cpu_ns += cpu_ns;
}

static void copy_threads(struct roostd_metrics_copy *copy)
{
	DIR *dir = opendir("/proc/self/task");
	char name[ROOST_THREAD_NAME_MAX];
	struct dirent *entry;
	uint64_t cpu_ns;

	copy->nb_threads = 0;
	while (dir && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    roost_thread_stat(getpid(), entry->d_name, name, &cpu_ns))
			add_thread(copy, name, cpu_ns);
	if (dir)
		closedir(dir);
}

static uint64_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	uint64_t nb = 0;

	while (dir && (entry = readdir(dir)) != NULL)
		nb += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return nb ? nb - 1 : 0; /* without this folder */
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The 22nd field of /proc/PID/stat: clock ticks since boot. */
static uint64_t start_ns(void)
{
	unsigned long long ticks = 0;
	char line[1024];
	const char *end;
	FILE *file = fopen("/proc/self/stat", "re");

	if (!file)
		return 0;
	end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!end || sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
			   "%*u %*d %*d %*d %*d %*d %*d %llu",
			   &ticks) != 1)
		return 0;
	return ns_of(CLOCK_REALTIME) - ns_of(CLOCK_BOOTTIME) +
	       ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void copy_process(struct roostd_metrics_process *to)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long pages, resident;
	struct rlimit limit;
	FILE *file = fopen("/proc/self/statm", "re");

	/* The time of the start would move with each look at the clocks. */
	if (to->start_ns == 0)
		to->start_ns = start_ns();
	to->cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);
	to->open_fds = count_fds();
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		to->max_fds = limit.rlim_cur;
	if (!file)
		return;
	if (fscanf(file, "%llu %llu", &pages, &resident) == 2) {
		to->virtual_bytes = pages * page_bytes;
		to->resident_bytes = resident * page_bytes;
	}
	fclose(file);
}

int roostd_metrics_copy(struct roostd_metrics_copy *copy)
{
	int ret = roostd_handover(copy_ports, copy);

	if (ret)
		return ret;
	roost_control_call(copy_devices, copy);
	copy_threads(copy);
	copy_process(&copy->process);
	return 0;
}
