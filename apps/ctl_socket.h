/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_SOCKET_H
#define ROOST_APPS_CTL_SOCKET_H

/*
 * The control sockets of other processes: find them, and send requests to them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define ROOST_CTL_ERR_MAX 600
/* The longest answer that is accepted, in bytes. */
#define ROOST_CTL_ANSWER_MAX (65u << 20)
/* The same if many processes are asked: 16 devices need less than half of it.
 */
#define ROOST_CTL_SHORT_ANSWER_MAX (1u << 18)

/*
 * Read the pids of control sockets from a file such as /proc/net/unix, in
 * ascending order and each once. Takes the pids for which keep() returns true
 * (NULL: all), at most max. Returns their number.
 */
size_t roost_ctl_read_pids(FILE *file, bool (*keep)(pid_t pid), pid_t *pids,
			   size_t max);

/* Find the pids of control sockets in this network namespace, without those
 * that would not answer or cannot be trusted: sockets of another user, or with
 * the name of another process.
 */
size_t roost_ctl_find_pids(pid_t *pids, size_t max);

struct roost_ctl_question {
	pid_t pid; /* the process to ask */
	/* The text after "ok"; the caller frees it. NULL: an error, with one
	 * printable line in err.
	 */
	char *answer;
	char err[ROOST_CTL_ERR_MAX];
};

/*
 * Send the same request (without a newline) to several processes at once. Waits
 * for all answers together, at most timeout_ms, and accepts no answer of more
 * than max_bytes. Does not wait for processes that are stopped.
 */
void roost_ctl_ask_all(struct roost_ctl_question *questions, size_t nb,
		       const char *request, size_t max_bytes,
		       unsigned int timeout_ms);

/* Send a request to process pid, and wait up to ten seconds. Returns the answer
 * as in struct roost_ctl_question; err: ROOST_CTL_ERR_MAX bytes.
 */
char *roost_ctl_ask(pid_t pid, const char *request, char *err);

/* ---- for who talks otherwise --------------------------------------------- */

/* Returns a connected socket that does not block; -EAGAIN: its queue is full,
 * try again; -ECONNREFUSED, -EPERM, -EBADE, other -errno.
 */
int roost_ctl_connect(pid_t pid);
/* Say in err what that errno value means, or ETIMEDOUT. Returns NULL. */
char *roost_ctl_explain(pid_t pid, int error, unsigned int timeout_ms,
			char *err);
/* Interpret an answer, and take it. Returns the text after "ok"; or NULL, with
 * the error in err.
 */
char *roost_ctl_understand(pid_t pid, char *answer, char *err);

#endif
