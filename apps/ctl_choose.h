/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_CHOOSE_H
#define ROOST_APPS_CTL_CHOOSE_H

/* Which process a command is for. */

#include <stdbool.h>
#include <sys/types.h>

/* The value of --pid. Returns enum roost_exit_code, with a line on stderr. */
int roost_ctl_take_pid(const char *text, pid_t *pid);

/* Choose the process for a command of that name, unless *pid has one: the only
 * one that is there; daemons only for commands that are for them, or where
 * nothing else runs. Returns as above.
 */
int roost_ctl_choose(const char *command, bool daemon, pid_t *pid);

#endif
