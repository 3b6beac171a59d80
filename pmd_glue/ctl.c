/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pmd_glue/clock.h"
#include "pmd_glue/control.h"
#include "pmd_glue/fork_guard.h"
#include "pmd_glue/report.h"

/* Controllers that may wait. */
#define BACKLOG 16

/* How long an exit waits for an answer, in steps of 1 ms. */
#define FAREWELL_STEPS 100

static struct {
	LIST_HEAD(, roost_ctl_device) devices;
	int listen_fd; /* -1: there is no socket */
	struct roost_control_client client;
	/* The one connection; fd -1: none. */
	int fd;
	uint64_t until_ns;
	bool allowed; /* by his credentials */
	char request[ROOST_CTL_REQUEST_MAX];
	size_t request_bytes; /* that have come */
	char *answer;         /* NULL: the request is not complete */
	size_t answer_bytes;
	size_t sent_bytes;
	/* A request is being executed, or its answer is not all sent. */
	_Atomic bool answering;
} ctl = { .listen_fd = -1, .fd = -1 };

/* ---- devices --------------------------------------------------------------
 */

struct roost_ctl_device *roost_ctl_next(struct roost_ctl_device *device)
{
	return device ? LIST_NEXT(device, link) : LIST_FIRST(&ctl.devices);
}

struct roost_ctl_device *roost_ctl_find(const char *name)
{
	struct roost_ctl_device *first = LIST_FIRST(&ctl.devices), *d;

	if (strcmp(name, "-") == 0)
		return first && !LIST_NEXT(first, link) ? first : NULL;
	LIST_FOREACH(d, &ctl.devices, link)
		if (strcmp(name, roost_dev_name(d->dev)) == 0)
			return d;
	return NULL;
}

/* ---- one connection --------------------------------------------------------
 */

/* What the control thread waits for. */
static void wait_for(int fd, short events)
{
	ctl.client.fd = fd;
	ctl.client.events = events;
}

static void hang_up(void)
{
	roost_fork_guard_remove(ctl.fd);
	close(ctl.fd);
	ctl.fd = -1;
	free(ctl.answer);
	ctl.answer = NULL;
	atomic_store(&ctl.answering, false);
	wait_for(ctl.listen_fd, POLLIN);
}

static void answer(char *text, size_t len_bytes)
{
	if (!text) {
		hang_up();
		return;
	}
	ctl.answer = text;
	ctl.answer_bytes = len_bytes;
	ctl.sent_bytes = 0;
	wait_for(ctl.fd, POLLOUT);
}

static void refuse(const char *why)
{
	char *text = NULL;
	int len = asprintf(&text, "error %s\n", why);

	answer(len < 0 ? NULL : text, len < 0 ? 0 : (size_t)len);
}

static bool may_ask(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       (cred.uid == geteuid() || cred.uid == 0);
}

static void take_next(uint64_t now_ns)
{
	int fd = accept4(ctl.listen_fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (roost_fork_guard_add(fd) != 0) {
		close(fd);
		return;
	}
	ctl.fd = fd;
	ctl.until_ns = now_ns + ROOST_CTL_PATIENCE_NS;
	ctl.request_bytes = 0;
	/* Who may not is told so when he has asked: he would else write to a
	 * socket that is closed.
	 */
	ctl.allowed = may_ask(fd);
	wait_for(fd, POLLIN);
}

/* A controller that gave up must not see its request done later. */
static bool has_gone(void)
{
	char c;

	return recv(ctl.fd, &c, 1, MSG_PEEK) == 0;
}

static void read_request(void)
{
	size_t room = sizeof(ctl.request) - ctl.request_bytes;
	size_t len_bytes;
	ssize_t n = recv(ctl.fd, ctl.request + ctl.request_bytes, room, 0);
	char *end, *text;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up();
		return;
	}
	ctl.request_bytes += (size_t)n;
	end = memchr(ctl.request, '\n', ctl.request_bytes);
	if (end && has_gone()) {
		hang_up();
	} else if (end && !ctl.allowed) {
		refuse("permission denied: the process is another user's; run "
		       "roost ctl as that user or as root");
	} else if (end) {
		*end = '\0';
		atomic_store(&ctl.answering, true);
		text = roost_ctl_answer(ctl.request, &len_bytes);
		answer(text, len_bytes);
	} else if (ctl.request_bytes == sizeof(ctl.request)) {
		refuse("request: it is too long; see roost help ctl");
	}
}

static void write_answer(void)
{
	ssize_t n = send(ctl.fd, ctl.answer + ctl.sent_bytes,
			 ctl.answer_bytes - ctl.sent_bytes, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		ctl.sent_bytes += (size_t)n;
	if (n <= 0 || ctl.sent_bytes == ctl.answer_bytes)
		hang_up();
}

static uint64_t run(void *ctx __attribute__((unused)), uint64_t now_ns)
{
	if (ctl.fd < 0)
		take_next(now_ns);
	if (ctl.fd >= 0 && !ctl.answer)
		read_request();
	if (ctl.fd >= 0 && ctl.answer)
		write_answer();
	if (ctl.fd >= 0 && now_ns >= ctl.until_ns)
		hang_up();
	return ctl.fd >= 0 ? ctl.until_ns : UINT64_MAX;
}

/* ---- the socket ------------------------------------------------------------
 */

static int listen_at(pid_t pid)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len, ret, fd;

	/* A zero in front makes the name abstract; it has none behind. */
	len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		       "roost/ctl/%d", pid);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	ret = 0;
	if (bind(fd, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     (size_t)len)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		ret = -errno;
	if (ret == 0)
		ret = roost_fork_guard_add(fd);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

void roost_ctl_add(struct roost_ctl_device *device)
{
	bool first = LIST_EMPTY(&ctl.devices);
	int fd;

	LIST_INSERT_HEAD(&ctl.devices, device, link);
	if (!first)
		return;
	fd = listen_at(getpid());
	if (fd < 0) {
		roost_report("no control socket: %s; roost ctl will not find "
			     "this process",
			     strerror(-fd));
		return;
	}
	ctl.listen_fd = fd;
	ctl.client.run = run;
	wait_for(fd, POLLIN);
	roost_control_add(&ctl.client);
}

void roost_ctl_remove(struct roost_ctl_device *device)
{
	LIST_REMOVE(device, link);
	if (!LIST_EMPTY(&ctl.devices) || ctl.listen_fd < 0)
		return;
	if (ctl.fd >= 0)
		hang_up();
	roost_control_remove(&ctl.client);
	roost_fork_guard_remove(ctl.listen_fd);
	close(ctl.listen_fd);
	ctl.listen_fd = -1;
}

void roost_ctl_farewell(void)
{
	for (int i = 0; i < FAREWELL_STEPS && atomic_load(&ctl.answering); i++)
		usleep(1000);
}
