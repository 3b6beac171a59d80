/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_PROCESS_H
#define ROOST_APPS_CTL_PROCESS_H

/* What /proc says of the processes that may have a control socket. */

#include <stdbool.h>
#include <sys/types.h>

struct roost_ctl_process {
	char state;
	uid_t users[3]; /* real, effective and saved */
	pid_t number;   /* in its own PID namespace; 0: not known */
};

/* Returns false: there is no such process, or it is not visible. */
bool roost_ctl_process_read(pid_t pid, struct roost_ctl_process *p);
/* Is that one of its users? */
bool roost_ctl_process_is_of(pid_t pid, uid_t user);
/* Is it stopped, by a signal or by a debugger? */
bool roost_ctl_process_is_stopped(pid_t pid);
/* The number that the process itself sees; pid, where that is not known. */
pid_t roost_ctl_process_number(pid_t pid);
/* Is it a roostd? By its name, which is for choosing only. */
bool roost_ctl_process_is_daemon(pid_t pid);

#endif
