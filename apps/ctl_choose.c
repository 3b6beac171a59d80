/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_choose.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/ctl_process.h"
#include "apps/ctl_socket.h"
#include "apps/exit_code.h"

#define PIDS_MAX 4096

int roost_ctl_take_pid(const char *text, pid_t *pid)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text == '\0' || *end || value <= 0 || value > INT32_MAX) {
		fprintf(stderr,
			"roost: --pid %.40s: no process has such a number; "
			"see roost ctl list\n",
			text);
		return ROOST_EXIT_USAGE;
	}
	*pid = (pid_t)value;
	return ROOST_EXIT_OK;
}

/* Keep the daemons, or the others; all, if there are none of those. */
static size_t keep(pid_t *pids, size_t nb, bool daemons)
{
	size_t kept = 0;

	for (size_t i = 0; i < nb; i++)
		if (roost_ctl_process_is_daemon(pids[i]) == daemons)
			pids[kept++] = pids[i];
	return kept || daemons ? kept : nb;
}

int roost_ctl_choose(const char *command, bool daemon, pid_t *pid)
{
	static pid_t pids[PIDS_MAX];
	size_t nb;

	if (*pid)
		return ROOST_EXIT_OK;
	nb = keep(pids, roost_ctl_find_pids(pids, PIDS_MAX), daemon);
	if (nb == 1) {
		*pid = pids[0];
		return ROOST_EXIT_OK;
	}
	if (nb == 0) {
		fprintf(stderr, "roost: %s: %s\n", command,
			daemon ? "no roostd that answers you runs in this "
				 "network namespace; be its user or root, or "
				 "look in another one"
			       : "no process of yours has a Roost device open "
				 "in this network namespace; start one with "
				 "roost run, or look in another one");
		return ROOST_EXIT_REFUSED;
	}
	fprintf(stderr, "roost: %s: %s; choose one with --pid:", command,
		daemon ? "several daemons run"
		       : "several processes have Roost devices open");
	for (size_t i = 0; i < nb; i++)
		fprintf(stderr, " %d", pids[i]);
	fputs("\n", stderr);
	return ROOST_EXIT_REFUSED;
}
