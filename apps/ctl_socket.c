/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/ctl_print.h"

#define PATIENCE_S 10

/* The flag of a socket that listens, in /proc/net/unix. */
#define LISTENS 0x10000u

/* ---- which there are -------------------------------------------------------
 */

/* Returns 0: the line is about something else. */
static pid_t pid_of_line(const char *line)
{
	unsigned int flags;
	pid_t pid;
	int end = 0;

	/* Num RefCount Protocol Flags Type St Inode Path */
	if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s @roost/ctl/%d%n", &flags,
		   &pid, &end) != 2 ||
	    (line[end] != '\n' && line[end] != '\0') || pid <= 0)
		return 0;
	return flags & LISTENS ? pid : 0;
}

static int compare(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t unique(pid_t *pids, size_t nb)
{
	size_t kept = 0;

	qsort(pids, nb, sizeof(*pids), compare);
	for (size_t i = 0; i < nb; i++)
		if (i == 0 || pids[i] != pids[i - 1])
			pids[kept++] = pids[i];
	return kept;
}

size_t roost_ctl_read_pids(FILE *file, pid_t *pids, size_t max)
{
	char *line = NULL;
	size_t room = 0, nb = 0;
	pid_t pid;

	while (nb < max && getline(&line, &room, file) > 0) {
		pid = pid_of_line(line);
		if (pid)
			pids[nb++] = pid;
	}
	free(line);
	return unique(pids, nb);
}

/* ---- one of them -----------------------------------------------------------
 */

/* May we and the owner of the socket have to do with each other? A name says
 * nothing about who took it.
 */
static bool is_trusted(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       (geteuid() == 0 || cred.uid == geteuid());
}

/* Returns a connected socket or -errno; -EPERM: another user's. */
static int open_socket(pid_t pid)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len, ret, fd;

	/* A zero in front makes the name abstract; it has none behind. */
	len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		       "roost/ctl/%d", pid);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)len)) < 0)
		ret = -errno;
	else
		ret = is_trusted(fd) ? fd : -EPERM;
	if (ret < 0)
		close(fd);
	return ret;
}

size_t roost_ctl_find_pids(pid_t *pids, size_t max)
{
	FILE *file = fopen("/proc/net/unix", "re");
	size_t nb = 0, kept = 0;
	int fd;

	if (file) {
		nb = roost_ctl_read_pids(file, pids, max);
		fclose(file);
	}
	for (size_t i = 0; i < nb; i++) {
		fd = open_socket(pids[i]);
		if (fd < 0)
			continue;
		close(fd);
		pids[kept++] = pids[i];
	}
	return kept;
}

/* Everything up to the end. Returns a string, or NULL and errno. */
static char *receive(int fd)
{
	size_t len = 0, room = 65536;
	char *text = malloc(room), *grown;
	ssize_t n = 1;

	while (text && n > 0) {
		if (len + 1 == room) {
			grown = realloc(text, room *= 2);
			if (!grown)
				break;
			text = grown;
		}
		n = recv(fd, text + len, room - len - 1, 0);
		/* A server that had no use for all we said closes so. */
		if (n < 0 && errno == ECONNRESET)
			n = 0;
		if (n > 0)
			len += (size_t)n;
	}
	if (!text || n != 0) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

static char *fail(char *err, pid_t pid, int error)
{
	if (error == ECONNREFUSED)
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "process %d: no control socket: it does not run, has "
			 "no Roost device open, or is in another network "
			 "namespace; see roost ctl list",
			 pid);
	else if (error == EPERM)
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "process %d: permission denied: it is another "
			 "user's; run roost ctl as that user or as root",
			 pid);
	else if (error == EAGAIN)
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "process %d: no answer within %d s: it is stopped, "
			 "or busy with other controllers; continue it or try "
			 "again",
			 pid, PATIENCE_S);
	else
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "process %d: its control socket failed: %s; try "
			 "again",
			 pid, strerror(error));
	return NULL;
}

/* Says what the answer means; takes it. */
static char *understand(pid_t pid, char *answer, char *err)
{
	size_t len;

	if (strncmp(answer, "ok\n", 3) == 0) {
		memmove(answer, answer + 3, strlen(answer + 3) + 1);
		return answer;
	}
	len = strcspn(answer, "\n");
	if (strncmp(answer, "error ", 6) == 0 && len > 6) {
		snprintf(err, ROOST_CTL_ERR_MAX, "%.*s", (int)len - 6,
			 answer + 6);
		roost_ctl_plain(err);
	} else {
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "process %d: it did not answer: it ended, or was busy "
			 "for too long; see roost ctl list",
			 pid);
	}
	free(answer);
	return NULL;
}

char *roost_ctl_ask(pid_t pid, const char *request, char *err)
{
	int fd = open_socket(pid);
	char line[512];
	char *answer;
	int len, error;

	if (fd < 0)
		return fail(err, pid, -fd);
	len = snprintf(line, sizeof(line), "%s\n", request);
	if (len >= (int)sizeof(line)) {
		close(fd);
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "ctl: the words are too long; see roost help ctl");
		return NULL;
	}
	errno = 0;
	answer = send(fd, line, (size_t)len, MSG_NOSIGNAL) == len ? receive(fd)
								  : NULL;
	error = errno;
	close(fd);
	return answer ? understand(pid, answer, err) : fail(err, pid, error);
}
