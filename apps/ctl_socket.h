/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_SOCKET_H
#define ROOST_APPS_CTL_SOCKET_H

/*
 * The control sockets of other processes: which there are, and one request to
 * one of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define ROOST_CTL_ERR_MAX 600
/* Bytes of an answer that is believed to be one. */
#define ROOST_CTL_ANSWER_MAX (65u << 20)
/* Of one process in a list of many: 16 devices have less than half of it. */
#define ROOST_CTL_SHORT_ANSWER_MAX (1u << 18)

/*
 * Read the pids of control sockets from a file like /proc/net/unix, in
 * ascending order and each once; at most max, of those that keep() returns true
 * for (NULL: all). Returns how many.
 */
size_t roost_ctl_read_pids(FILE *file, bool (*keep)(pid_t pid), pid_t *pids,
			   size_t max);

/* The same of this network namespace, those left out that would not answer, or
 * whose answer is not to be believed: of another user, or under the name of
 * another process.
 */
size_t roost_ctl_find_pids(pid_t *pids, size_t max);

struct roost_ctl_question {
	pid_t pid; /* whom to ask */
	/* What stands behind "ok" as a string that the caller frees; NULL, and
	 * one line in err that can be printed.
	 */
	char *answer;
	char err[ROOST_CTL_ERR_MAX];
};

/*
 * Ask several processes the same, all at the same time; request without a
 * newline. Waits for all of them together, patience_ms and no longer, and takes
 * no answer of more than max_bytes. Who is stopped is not waited for.
 */
void roost_ctl_ask_all(struct roost_ctl_question *questions, size_t nb,
		       const char *request, size_t max_bytes,
		       unsigned int patience_ms);

/* Ask process pid, and wait for ten seconds. Returns answer of the above, with
 * err (ROOST_CTL_ERR_MAX bytes).
 */
char *roost_ctl_ask(pid_t pid, const char *request, char *err);

#endif
