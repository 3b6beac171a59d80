/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_SOCKET_H
#define ROOST_APPS_CTL_SOCKET_H

/*
 * The control sockets of other processes: which there are, and one request to
 * one of them.
 */

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define ROOST_CTL_ERR_MAX 600

/*
 * Read the pids of control sockets from a file like /proc/net/unix, in
 * ascending order and each once; at most max. Returns how many.
 */
size_t roost_ctl_read_pids(FILE *file, pid_t *pids, size_t max);

/* The same of this network namespace, those left out that are another user's
 * and so would not answer.
 */
size_t roost_ctl_find_pids(pid_t *pids, size_t max);

/*
 * Ask process pid; request without a newline. Waits ten seconds for the answer.
 * Returns what stands behind "ok" as a string that the caller frees; NULL with
 * one line in err (ROOST_CTL_ERR_MAX bytes).
 */
char *roost_ctl_ask(pid_t pid, const char *request, char *err);

#endif
