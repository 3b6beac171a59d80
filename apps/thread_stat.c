/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/thread_stat.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/PID/task/TID/stat (proc(5)): the name, which may have any
 * characters, is in parentheses. Returns false: it is not such a line.
 */
static bool parse(const char *line, char name[ROOST_THREAD_NAME_MAX],
		  uint64_t *cpu_ns)
{
	const char *begin = strchr(line, '('), *end = strrchr(line, ')');
	unsigned long user, system;

	if (!begin || !end || end <= begin ||
	    sscanf(end + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user, &system) != 2)
		return false;
	snprintf(name, ROOST_THREAD_NAME_MAX, "%.*s", (int)(end - begin - 1),
		 begin + 1);
	*cpu_ns = (uint64_t)(user + system) *
		  (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

bool roost_thread_stat(pid_t pid, const char *tid,
		       char name[ROOST_THREAD_NAME_MAX], uint64_t *cpu_ns)
{
	char path[64], line[512];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	ok = fgets(line, sizeof(line), file) && parse(line, name, cpu_ns);
	fclose(file);
	return ok;
}
