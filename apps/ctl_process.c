/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NSpid:" and its number in each PID namespace, its own one's last. */
static void read_number(const char *line, struct roost_ctl_process *p)
{
	const char *last = strrchr(line, '\t');

	if (last && strncmp(line, "NSpid:", 6) == 0)
		p->number = (pid_t)atoi(last);
}

bool roost_ctl_process_read(pid_t pid, struct roost_ctl_process *p)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	*p = (struct roost_ctl_process){ .state = 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (p->number == 0 && fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &p->state);
		found |= sscanf(line, "Uid: %u %u %u", &p->users[0],
				&p->users[1], &p->users[2]) == 3;
		read_number(line, p);
	}
	fclose(file);
	return found;
}

bool roost_ctl_process_is_of(pid_t pid, uid_t user)
{
	struct roost_ctl_process p;

	return roost_ctl_process_read(pid, &p) &&
	       (p.users[0] == user || p.users[1] == user || p.users[2] == user);
}

bool roost_ctl_process_is_stopped(pid_t pid)
{
	struct roost_ctl_process p;

	return roost_ctl_process_read(pid, &p) &&
	       (p.state == 'T' || p.state == 't');
}

pid_t roost_ctl_process_number(pid_t pid)
{
	struct roost_ctl_process p;

	return roost_ctl_process_read(pid, &p) && p.number > 0 ? p.number : pid;
}

bool roost_ctl_process_is_daemon(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	(void)!fgets(name, sizeof(name), file);
	fclose(file);
	return strcmp(name, "roostd\n") == 0;
}
