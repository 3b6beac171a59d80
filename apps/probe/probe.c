/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apps/probe/measure.h"

struct pipes {
	int facts[2];
	int lines[2];
};

/* ---- the process of the probe -------------------------------------------- */

/* A pipe takes so many bytes at once, or none. */
_Static_assert(sizeof(struct roost_probe_facts) <= 4096, "PIPE_BUF");

static void say(void *arg, const struct roost_probe_facts *facts)
{
	const int *fd = arg;

	if (write(*fd, facts, sizeof(*facts)) != (ssize_t)sizeof(*facts))
		_exit(EXIT_FAILURE);
}

/* Does not return. Its stdout is that of the lines, too: libraries print. */
static void be_probe(const struct roost_probe_want *want, struct pipes *p,
		     pid_t parent)
{
	struct roost_probe_facts facts = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, "roost-probe");
	dup2(p->lines[1], STDOUT_FILENO);
	dup2(p->lines[1], STDERR_FILENO);
	roost_probe_measure(want, &facts, say, &p->facts[1]);
	fflush(stdout);
	/* The devices are closed; nothing of the launcher's is to run. */
	_exit(EXIT_SUCCESS);
}

/* ---- the caller ---------------------------------------------------------- */

static void close_both(int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int open_pipes(struct pipes *p)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 } };
	if (pipe2(p->facts, O_CLOEXEC) == 0 && pipe2(p->lines, O_CLOEXEC) == 0)
		return 0;
	close_both(p->facts);
	return -errno;
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns false: the other end has closed it. What finds no room is lost. */
static bool read_lines(int fd, char *lines)
{
	const size_t len = strlen(lines);
	char more[512];
	ssize_t got = read(fd, more, sizeof(more));

	if (got < 0)
		return errno == EINTR;
	snprintf(lines + len, ROOST_PROBE_LINES_MAX - len, "%.*s", (int)got,
		 more);
	return got > 0;
}

static bool read_facts(int fd, struct roost_probe_facts *facts)
{
	struct roost_probe_facts now;
	const ssize_t got = read(fd, &now, sizeof(now));

	if (got < 0)
		return errno == EINTR;
	if (got == (ssize_t)sizeof(now))
		*facts = now;
	return got > 0;
}

/* Until the probe has closed both, or the time is over: then false. */
static bool listen_to(struct pipes *p, long long until_ms,
		      struct roost_probe_facts *facts, char *lines)
{
	struct pollfd fds[] = {
		{ .fd = p->facts[0], .events = POLLIN },
		{ .fd = p->lines[0], .events = POLLIN },
	};

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		const long long left_ms = until_ms - now_ms();

		if (left_ms <= 0)
			return false;
		if (poll(fds, 2, (int)left_ms) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents && !read_facts(fds[0].fd, facts))
			fds[0].fd = -1;
		if (fds[1].revents && !read_lines(fds[1].fd, lines))
			fds[1].fd = -1;
	}
	return true;
}

int roost_probe(const struct roost_probe_want *want, unsigned int limit_ms,
		struct roost_probe_facts *facts, char *lines)
{
	const pid_t parent = getpid();
	struct pipes p;
	int status = 0, ret = open_pipes(&p);
	bool ended;
	pid_t pid;

	*facts = (struct roost_probe_facts){ 0 };
	*lines = '\0';
	if (ret)
		return ret;
	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (pid == 0)
		be_probe(want, &p, parent);
	ret = pid < 0 ? -errno : 0;
	close(p.facts[1]);
	close(p.lines[1]);
	p.facts[1] = p.lines[1] = -1;
	if (ret == 0) {
		ended = listen_to(&p, now_ms() + limit_ms, facts, lines);
		if (!ended)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!ended)
			ret = -ETIMEDOUT;
		else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			ret = -ECHILD;
	}
	close_both(p.facts);
	close_both(p.lines);
	return ret;
}
