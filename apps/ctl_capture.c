/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_capture.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/ctl_socket.h"

#define TIMEOUT_MS 10000
#define STEP_MS 10

/* The queue of the socket may be full. */
static int connect_to(pid_t pid)
{
	int fd, left_ms = TIMEOUT_MS;

	while ((fd = roost_ctl_connect(pid)) == -EAGAIN && left_ms > 0) {
		usleep(STEP_MS * 1000);
		left_ms -= STEP_MS;
	}
	return fd == -EAGAIN ? -ETIMEDOUT : fd;
}

/* Take the descriptor of a message, and close what else has come. */
static void take_fds(struct msghdr *msg, int *memory)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c;
	     c = CMSG_NXTHDR(msg, c)) {
		const size_t nb = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < nb; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (*memory < 0)
				*memory = fd;
			else
				close(fd);
		}
	}
}

/* Receive up to size bytes. Returns as recv(2). */
static ssize_t receive(int fd, char *text, size_t size, int *memory)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 4)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = text, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);

	if (n >= 0)
		take_fds(&msg, memory);
	return n;
}

static bool is_whole(const char *text)
{
	return strncmp(text, "ok\n", 3) == 0 ||
	       (strncmp(text, "ok\n", strlen(text)) != 0 &&
		strchr(text, '\n') != NULL);
}

/* Receive the answer's line: there is more after it, if at all, only when the
 * capture has begun. Returns 0, an errno value.
 */
static int hear(int fd, char *text, size_t size, int *memory)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	text[0] = '\0';
	while (!is_whole(text) && len + 1 < size) {
		if (poll(&poll_fd, 1, TIMEOUT_MS) <= 0)
			return ETIMEDOUT;
		n = receive(fd, text + len, size - len - 1, memory);
		if (n < 0 && errno != EAGAIN && errno != EINTR &&
		    errno != ECONNRESET)
			return errno;
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			break;
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	}
	return 0;
}

/* Is the answer that the capture has begun? */
static bool has_begun(pid_t pid, const char *answer, int memory, char *err)
{
	char *text = strdup(answer);

	if (!text) {
		roost_ctl_explain(pid, ENOMEM, TIMEOUT_MS, err);
		return false;
	}
	text = roost_ctl_understand(pid, text, err);
	if (text && memory < 0)
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "process %d: it sent no memory; use the roost of the "
			 "same version",
			 pid);
	free(text);
	return text != NULL && memory >= 0;
}

int roost_ctl_capture(pid_t pid, const char *request, int *memory, char *err)
{
	char line[512], answer[1024];
	int len = snprintf(line, sizeof(line), "%s\n", request);
	int fd = connect_to(pid);
	int error = fd < 0 ? -fd : 0;

	*memory = -1;
	/* The request fits into an empty socket. If the process refuses, it may
	 * be closed already: the answer tells why.
	 */
	if (!error)
		(void)!send(fd, line, (size_t)len, MSG_NOSIGNAL);
	if (!error)
		error = hear(fd, answer, sizeof(answer), memory);
	if (error)
		roost_ctl_explain(pid, error, TIMEOUT_MS, err);
	else if (has_begun(pid, answer, *memory, err))
		return fd;
	if (fd >= 0)
		close(fd);
	if (*memory >= 0)
		close(*memory);
	return -1;
}
