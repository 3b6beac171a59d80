/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/run_init.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The keeper of a picture and the hub end soon after the program. What else is
 * there then is asked to end, before the kernel kills it with us.
 */
#define REST_S 2
#define END_S 2
#define SIGNALLED 128

/* Collect children that have ended. Returns false when there is none left.
 * *status: of the child pid, if it is one of them.
 */
static bool collect(pid_t pid, int *status, bool *ended)
{
	int one;
	pid_t who;

	while ((who = waitpid(-1, &one, WNOHANG)) > 0)
		if (who == pid) {
			*status = one;
			*ended = true;
		}
	return who == 0;
}

/* Returns false when there is none left, true after so many seconds. */
static bool stays(const sigset_t *all, time_t seconds)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	struct timespec from, now;
	int status;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		if (!collect(0, &status, &ended))
			return false;
		sigtimedwait(all, NULL, &tick);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - from.tv_sec < seconds);
	return true;
}

static _Noreturn void attend(pid_t pid, const sigset_t *all)
{
	bool ended = false;
	siginfo_t info;
	int status = 0;

	while (!ended) {
		if (sigwaitinfo(all, &info) < 0)
			continue;
		/* What a terminal sends, the child has got as well, but for the
		 * hangup: that is for the leader of the session alone.
		 */
		if (info.si_signo != SIGCHLD &&
		    (info.si_code != SI_KERNEL || info.si_signo == SIGHUP))
			kill(pid, info.si_signo);
		collect(pid, &status, &ended);
	}
	if (stays(all, REST_S) && kill(-1, SIGTERM) == 0)
		stays(all, END_S);
	exit(WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status)
				 : WEXITSTATUS(status));
}

int roost_run_init(void)
{
	struct sigaction inherited;
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* An ignored one would collect children unseen. */
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL },
		  &inherited);
	pid = fork();
	if (pid > 0)
		attend(pid, &all);
	sigaction(SIGCHLD, &inherited, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -errno : 0;
}
