/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/picture_keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/picture_dir.h"
#include "lib/sysfs/picture.h"

static int open_pid(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Sleep until the process has ended, and close its descriptor. */
static void wait_for(int pidfd)
{
	struct pollfd process = { .fd = pidfd, .events = POLLIN };

	while (poll(&process, 1, -1) < 0 && errno == EINTR)
		;
	close(pidfd);
}

static void wait_for_users(const char *path)
{
	pid_t user;
	int pidfd;

	while ((user = roost_picture_user(path)) != 0) {
		pidfd = open_pid(user);
		if (pidfd >= 0)
			wait_for(pidfd);
	}
}

struct work {
	const char *path;
	pid_t program;
	bool is_daemon;
};

static _Noreturn void keep(const struct work *work, int pidfd)
{
	prctl(PR_SET_NAME, "roost-sysfs");
	/* Who ends a whole session or container means the programs. */
	signal(SIGTERM, SIG_IGN);
	wait_for(pidfd);
	if (!work->is_daemon)
		wait_for_users(work->path);
	if (!work->is_daemon || roost_picture_lock(work->path) >= 0)
		roost_picture_remove(work->path);
	_exit(0);
}

/* The keeper's parent, which exits at once. It has none of the launcher's
 * descriptors: there may be few, and a pipe must not stay open. Returns the
 * status to exit with: 0, or an errno value.
 */
static int start(const struct work *work)
{
	int pidfd, lock_fd;
	sigset_t none;
	pid_t pid;

	close_range(0, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	pidfd = open_pid(work->program);
	if (pidfd < 0)
		return errno;
	lock_fd = work->is_daemon ? 0 : roost_picture_lock(work->path);
	if (lock_fd < 0)
		return -lock_fd;
	/* As a hub (apps/hub.c): a process group, and no session. */
	if (chdir("/") != 0 || setpgid(0, 0) < 0 || (pid = fork()) < 0)
		return errno;
	if (pid == 0)
		keep(work, pidfd);
	return 0;
}

static int begin(const char *path, bool is_daemon)
{
	const struct work work = {
		.path = path,
		.program = getpid(),
		.is_daemon = is_daemon,
	};
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(start(&work));
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int roost_picture_keep(const char *path)
{
	return begin(path, false);
}

int roost_picture_keep_for_daemon(const char *path)
{
	return begin(path, true);
}
