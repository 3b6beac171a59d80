/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_CAPTURE_H
#define ROOST_APPS_CTL_CAPTURE_H

/* The beginning of a capture of another process's frames. */

#include <sys/types.h>

/*
 * Ask process pid for a capture (pmd_glue/dump/dump.h): a request without its
 * newline. Waits up to ten seconds. Returns the connected socket, and in
 * *memory the descriptor that came with the answer; the caller closes both.
 * -1: an error, with one printable line in err (ROOST_CTL_ERR_MAX bytes).
 */
int roost_ctl_capture(pid_t pid, const char *request, int *memory, char *err);

#endif
