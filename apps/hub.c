/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apps/metrics_addr.h"
#include "pmd_glue/share/hub.h"

#define TRIES 200
#define TRY_NS 10000000
/* Out of the way of programs that count on low numbers. */
#define HELD_FD_MIN 900

/* Returns a connected socket, or -errno. */
static int try_connect(void)
{
	struct sockaddr_un addr;
	socklen_t addr_len = roost_share_hub_address(&addr);
	struct ucred cred;
	socklen_t cred_len = sizeof(cred);
	/* A daemon that is stopped accepts nobody. */
	const struct timeval patience = { .tv_sec = 1 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, addr_len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0)
		ret = -errno;
	else if (cred.uid != getuid())
		ret = -EPERM; /* anybody can take the name */
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Keep the connection over execve(2), at a high number if there is one. */
static int hold(int fd)
{
	struct rlimit limit;
	int high = -1;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur > HELD_FD_MIN)
		high = fcntl(fd, F_DUPFD, HELD_FD_MIN);
	if (high >= 0) {
		close(fd);
		return 0;
	}
	return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
}

/* ---- the daemon ---------------------------------------------------------- */

/* In the build tree roostd has a folder of its own. */
static bool find(const char *exe, char path[PATH_MAX])
{
	const int dir_len = (int)(strrchr(exe, '/') - exe);
	int len = snprintf(path, PATH_MAX, "%.*s/roostd/roostd", dir_len, exe);

	if (len < PATH_MAX && access(path, X_OK) == 0)
		return true;
	len = snprintf(path, PATH_MAX, "%.*s/%s/roostd", dir_len, exe,
		       ROOST_SBINDIR_FROM_BINDIR);
	return len < PATH_MAX && access(path, X_OK) == 0;
}

/* In the daemon-to-be: nothing of the launcher's stays. */
static _Noreturn void become(const char *path)
{
	char name[] = "roostd", option[] = "--hub";
	char *const argv[] = { name, option, NULL };
	char lang[] = "LC_ALL=C", runtime_dir[PATH_MAX + 32];
	char metrics[ROOST_METRICS_ADDR_MAX + 32];
	char *const envp[] = { lang, runtime_dir, metrics, NULL };
	const char *dir = getenv("XDG_RUNTIME_DIR"); /* for its state */
	const char *address = getenv(ROOST_METRICS_VARIABLE);
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	snprintf(runtime_dir, sizeof(runtime_dir), "XDG_RUNTIME_DIR=%s",
		 dir ? dir : "");
	snprintf(metrics, sizeof(metrics), ROOST_METRICS_VARIABLE "=%s",
		 address ? address : "");
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir("/") == 0)
		execve(path, argv, envp);
	_exit(1);
}

/* It is nobody's child, so that no program gets a SIGCHLD for it. */
static int start(const char *path)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		/* Not a session of its own: Linux schedules sessions against
		 * each other, and the hub works for this one. A process group,
		 * so that Ctrl-C is not for the hub.
		 */
		if (setpgid(0, 0) < 0 || (pid = fork()) < 0)
			_exit(1);
		if (pid == 0)
			become(path);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status == 0 ? 0 : -EAGAIN;
}

static int start_and_connect(const char *path)
{
	const struct timespec wait = { .tv_nsec = TRY_NS };
	int ret = start(path);

	if (ret)
		return ret;
	for (int i = 0; i < TRIES; i++) {
		nanosleep(&wait, NULL);
		ret = try_connect();
		if (ret != -ECONNREFUSED)
			return ret;
	}
	return ret;
}

/* The daemon has nowhere to say so. */
static bool metrics_are_wrong(void)
{
	const char *address = getenv(ROOST_METRICS_VARIABLE);
	struct sockaddr_storage addr;
	socklen_t len;

	return address && *address &&
	       roost_metrics_addr_parse(address, &addr, &len) != 0;
}

int roost_hub_hold(const char *exe, char err[ROOST_HUB_ERR_MAX])
{
	char path[PATH_MAX];
	int ret = try_connect();

	if (ret == -ECONNREFUSED && !find(exe, path)) {
		snprintf(err, ROOST_HUB_ERR_MAX,
			 "hub: roostd is not beside %.300s; build or install "
			 "all of Roost",
			 exe);
		return -ENOENT;
	}
	if (ret == -ECONNREFUSED && metrics_are_wrong()) {
		snprintf(err, ROOST_HUB_ERR_MAX,
			 "hub: " ROOST_METRICS_VARIABLE ": no place for "
			 "metrics; give the absolute path of a socket, or "
			 "127.0.0.1:PORT");
		return -EINVAL;
	}
	if (ret == -ECONNREFUSED)
		ret = start_and_connect(path);
	if (ret >= 0)
		ret = hold(ret);
	if (ret < 0)
		snprintf(err, ROOST_HUB_ERR_MAX,
			 "hub: cannot be reached: %s; %s", strerror(-ret),
			 ret == -EPERM ? "another user has taken its name"
				       : "try roostd --hub by hand");
	return ret;
}
