/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl/ctl.h"

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

#include "lib/event/high_fd.h"
#include "pmd_glue/dump/dump.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/ctl_address.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/peer_trust.h"
#include "pmd_glue/process/report.h"

/* Clients that may wait: accepted ones; and ones not yet accepted, which may
 * lack the permission.
 */
#define WAITING_MAX 16u
#define BACKLOG 64
/* Connections accepted in one run, before other clients of the control thread.
 */
#define ACCEPT_MAX 64u
/* After accept(2) failed because there is no descriptor, the next try. */
#define ACCEPT_AGAIN_NS 100000000ull

/* How long an exit waits for an answer, in steps of 1 ms. */
#define FLUSH_STEPS 100

static struct {
	int listen_fd;                    /* -1: there is no socket */
	struct roost_control_client door; /* waits for listen_fd */
	/* Accepted clients with permission, in the order of their arrival. */
	int waiting[WAITING_MAX];
	unsigned int nb_waiting;
	/* The one connection; fd -1: none. */
	struct roost_control_client client;
	int fd;
	uint64_t until_ns;
	char request[ROOST_CTL_REQUEST_MAX];
	size_t request_bytes; /* received so far */
	char *answer;         /* NULL: the request is not complete */
	size_t answer_bytes;
	size_t sent_bytes;
	/* A request is being executed, or its answer is not all sent. */
	_Atomic bool answering;
} ctl = { .listen_fd = -1, .fd = -1 };

/* ---- new clients -----------------------------------------------------------
 */

static void close_guarded(int fd)
{
	roost_fork_guard_remove(fd);
	close(fd);
}

static bool may_ask(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       roost_uid_is_ours(cred.uid);
}

/* Refuse a client. It reads the error after it has sent its request. */
static void turn_away(int fd)
{
	static const char why[] =
		"error permission denied: the process is another user's; ask "
		"as that user or as root\n";

	send(fd, why, sizeof(why) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void let_in(int fd)
{
	if (!may_ask(fd))
		turn_away(fd);
	else if (roost_fork_guard_add(fd) != 0)
		close(fd);
	else
		ctl.waiting[ctl.nb_waiting++] = fd;
}

static uint64_t open_door(void *ctx __attribute__((unused)), uint64_t now_ns)
{
	uint64_t again_ns = UINT64_MAX;

	if (ctl.door.events && !ctl.door.seen)
		return UINT64_MAX;
	for (unsigned int i = 0; i < ACCEPT_MAX && ctl.nb_waiting < WAITING_MAX;
	     i++) {
		int fd = roost_high_fd(accept4(ctl.listen_fd, NULL, NULL,
					       SOCK_CLOEXEC | SOCK_NONBLOCK));

		if (fd >= 0) {
			let_in(fd);
			continue;
		}
		/* The client stays in the queue: without a pause, poll(2) would
		 * return at once each time.
		 */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			again_ns = now_ns + ACCEPT_AGAIN_NS;
		break;
	}
	ctl.door.events = ctl.nb_waiting < WAITING_MAX && again_ns == UINT64_MAX
				  ? POLLIN
				  : 0;
	return again_ns;
}

/* ---- one connection --------------------------------------------------------
 */

/* Set the events of the connection for which the control thread waits. */
static void wait_for(short events)
{
	ctl.client.fd = ctl.fd;
	ctl.client.events = events;
}

static void hang_up(void)
{
	close_guarded(ctl.fd);
	ctl.fd = -1;
	free(ctl.answer);
	ctl.answer = NULL;
	atomic_store(&ctl.answering, false);
	wait_for(0);
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
	wait_for(POLLOUT);
}

static void refuse(const char *why)
{
	char *text = NULL;
	int len = asprintf(&text, "error %s\n", why);

	answer(len < 0 ? NULL : text, len < 0 ? 0 : (size_t)len);
}

static void take_next(uint64_t now_ns)
{
	if (ctl.nb_waiting == 0)
		return;
	ctl.fd = ctl.waiting[0];
	memmove(ctl.waiting, ctl.waiting + 1,
		--ctl.nb_waiting * sizeof(ctl.waiting[0]));
	ctl.until_ns = now_ns + ROOST_CTL_TIMEOUT_NS;
	ctl.request_bytes = 0;
	wait_for(POLLIN);
}

/* A capture keeps the connection, and is no answer that an exit waits for. */
static void start_dump(char *request)
{
	char error[ROOST_DUMP_ERROR_MAX], *words[ROOST_CTL_REQUEST_MAX / 2 + 1];
	char *rest = request;
	unsigned int nb = 0;

	while ((words[nb] = strsep(&rest, " ")) != NULL)
		if (*words[nb] != '\0')
			nb++;
	if (roost_dump_start(ctl.fd, words + 1, error) != 0) {
		refuse(error);
		return;
	}
	ctl.fd = -1;
	wait_for(0);
}

/* Has the client closed its end? Then its request must not be executed. */
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
	} else if (end && strncmp(ctl.request, "dump ", 5) == 0) {
		*end = '\0';
		start_dump(ctl.request);
	} else if (end) {
		*end = '\0';
		atomic_store(&ctl.answering, true);
		text = roost_ctl_answer(ctl.request, &len_bytes);
		if (!text || len_bytes <= ROOST_CTL_ANSWER_MAX) {
			answer(text, len_bytes);
			return;
		}
		free(text);
		refuse("the answer is too long; ask for one topic");
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
	if (ctl.fd >= 0)
		return ctl.until_ns;
	return ctl.nb_waiting ? now_ns : UINT64_MAX;
}

/* ---- the socket ------------------------------------------------------------
 */

static int bind_to(int fd, pid_t pid, unsigned int alike)
{
	struct sockaddr_un addr;
	socklen_t len = roost_ctl_address(&addr, pid, alike);

	return bind(fd, (struct sockaddr *)&addr, len) < 0 ? -errno : 0;
}

static int listen_at(pid_t pid)
{
	int ret = -EADDRINUSE;
	int fd = roost_high_fd(
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; ret == -EADDRINUSE && i < ROOST_CTL_ALIKE; i++)
		ret = bind_to(fd, pid, i);
	if (ret == 0 && listen(fd, BACKLOG) < 0)
		ret = -errno;
	if (ret == 0)
		ret = roost_fork_guard_add(fd);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static void open_socket(void)
{
	int fd;

	if (roost_ctl_next(NULL) || roost_ctl_more())
		return;
	fd = listen_at(getpid());
	if (fd < 0) {
		roost_report("no control socket: %s; roost ctl will not find "
			     "this process",
			     strerror(-fd));
		return;
	}
	ctl.listen_fd = fd;
	ctl.door = (struct roost_control_client){
		.run = open_door,
		.fd = fd,
		.events = POLLIN,
	};
	ctl.client.run = run;
	wait_for(0);
	roost_control_add(&ctl.door);
	roost_control_add(&ctl.client);
}

static void close_socket(void)
{
	if (roost_ctl_next(NULL) || roost_ctl_more() || ctl.listen_fd < 0)
		return;
	if (ctl.fd >= 0)
		hang_up();
	while (ctl.nb_waiting)
		close_guarded(ctl.waiting[--ctl.nb_waiting]);
	roost_control_remove(&ctl.client);
	roost_control_remove(&ctl.door);
	close_guarded(ctl.listen_fd);
	ctl.listen_fd = -1;
}

void roost_ctl_add(struct roost_ctl_device *device)
{
	open_socket();
	roost_ctl_list(device);
}

void roost_ctl_remove(struct roost_ctl_device *device)
{
	roost_ctl_unlist(device);
	close_socket();
}

void roost_ctl_serve(const struct roost_ctl_more *more)
{
	open_socket();
	roost_ctl_list_more(more);
}

void roost_ctl_unserve(void)
{
	roost_ctl_list_more(NULL);
	close_socket();
}

void roost_ctl_flush(void)
{
	for (int i = 0; i < FLUSH_STEPS && atomic_load(&ctl.answering); i++)
		usleep(1000);
}
