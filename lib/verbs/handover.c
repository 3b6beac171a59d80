/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/config/resolve.h"
#include "lib/event/high_fd.h"
#include "lib/verbs/handover.h"
#include "lib/verbs/shim.h"

#define ANSWER_MS 5000
/* Questions of one call; the others wait for the next. */
#define BURST 16

struct question {
	uint32_t what; /* enum roost_handover_what */
	uint32_t handle;
};

/* ---- packets with a descriptor ------------------------------------------- */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* fd -1: none. Never blocks. */
static int send_with(int to, const void *bytes, size_t len, int fd)
{
	union control control = { .header.cmsg_level = SOL_SOCKET };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
	}
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns the length; -errno. *fd -1: none came. Never blocks. */
static ssize_t recv_with(int from, void *bytes, size_t len, int *fd)
{
	union control control;
	struct iovec iov = { bytes, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		/* Without the padding, which has room for a second one. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	struct cmsghdr *header;
	ssize_t n = recvmsg(from, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&msg);
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return n;
}

/* ---- the door ------------------------------------------------------------ */

static void tell_device(const struct roost_verbs_context *c,
			struct roost_handover_told *told)
{
	const struct roost_verbs_device *d =
		roost_verbs_device(c->vctx.context.device);
	const struct roost_config *config = roost_verbs_config();
	unsigned int first;

	roost_config_device_ports(config, d->index, &first);
	told->guid = d->guid;
	snprintf(told->service, sizeof(told->service), "%s",
		 config->ports[first].service);
	/* The port is this process's alone. */
	told->error = told->service[0] ? 0 : -EOPNOTSUPP;
}

/* What is to be known of a region, apart from its file. Under
 * roost_process_fork_hold().
 */
static void look_at_mr(const struct roost_verbs_mr *mr,
		       struct roost_handover_told *told, void **host, int *file)
{
	const struct roost_mr_facts facts = roost_mr_facts(mr->mr);

	*told = (struct roost_handover_told){
		.pd_handle = mr->ibv.pd->handle,
		.key = facts.key,
		.access = facts.access,
		.iova = facts.iova,
		.len_bytes = facts.len_bytes,
	};
	*host = facts.host;
	*file = -1;
	if (!facts.has_memory)
		told->error = -EOPNOTSUPP;
	else if (mr->mapping.at && mr->mapping.dmabuf_fd >= 0)
		*file = fcntl(mr->mapping.dmabuf_fd, F_DUPFD_CLOEXEC, 0);
	told->offset = (uint64_t)((char *)*host - (char *)mr->mapping.at);
}

/* Regions and PDs that the context has made itself. */
static void look(struct roost_verbs_context *c, const struct question *q,
		 struct roost_handover_told *told, void **host, int *file)
{
	struct roost_verbs_object *object;

	told->error = -EINVAL;
	roost_process_fork_hold();
	TAILQ_FOREACH(object, &c->objects, link) {
		if (object->kind == ROOST_VERBS_PD &&
		    q->what == ROOST_HANDOVER_PD &&
		    roost_verbs_pd(object->ibv)->ibv.handle == q->handle)
			told->error = 0;
		if (object->kind == ROOST_VERBS_MR &&
		    q->what == ROOST_HANDOVER_MR &&
		    roost_verbs_mr(object->ibv)->ibv.handle == q->handle &&
		    !roost_verbs_mr(object->ibv)->is_alias)
			look_at_mr(object->ibv, told, host, file);
	}
	roost_process_fork_release();
}

static void answer(struct roost_verbs_context *c, const struct question *q,
		   int to)
{
	struct roost_handover_told told = { 0 };
	void *host = NULL;
	int file = -1;

	if (q->what == ROOST_HANDOVER_DEVICE)
		tell_device(c, &told);
	else
		look(c, q, &told, &host, &file);
	if (told.error == 0 && host && file < 0) {
		file = roost_handover_file(host, told.len_bytes,
					   told.access &
						   ROOST_ACCESS_LOCAL_WRITE,
					   &told.offset);
		if (file < 0)
			told.error = file;
	}
	send_with(to, &told, sizeof(told), file);
	if (file >= 0)
		close(file);
}

/* Thread: the control thread. */
static void on_question(void *arg)
{
	struct roost_verbs_context *c = arg;

	for (int i = 0; i < BURST; i++) {
		struct question q;
		int to;
		ssize_t n = recv_with(c->door_fd, &q, sizeof(q), &to);

		if (n <= 0)
			return;
		if (to < 0)
			continue;
		if (n == sizeof(q))
			answer(c, &q, to);
		close(to);
	}
}

int roost_handover_open(struct roost_verbs_context *c)
{
	int ends[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	c->door_fd = roost_high_fd(ends[1]);
	ret = roost_handover_cookie(ends[0], &c->cookie);
	if (ret == 0)
		ret = roost_watch_new(c->door_fd, on_question, c, &c->watch);
	if (ret) {
		close(ends[0]);
		close(c->door_fd);
		return ret;
	}
	c->vctx.context.cmd_fd = ends[0];
	return 0;
}

void roost_handover_close(struct roost_verbs_context *c)
{
	roost_watch_free(c->watch);
	close(c->door_fd);
}

/* ---- those who ask ------------------------------------------------------- */

int roost_handover_cookie(int cmd_fd, uint64_t *cookie)
{
	int domain, type;
	socklen_t len = sizeof(int), cookie_len = sizeof(*cookie);

	if (getsockopt(cmd_fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
	    getsockopt(cmd_fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
	    getsockopt(cmd_fd, SOL_SOCKET, SO_COOKIE, cookie, &cookie_len))
		return errno == EBADF ? -EBADF : -EINVAL;
	return domain == AF_UNIX && type == SOCK_SEQPACKET ? 0 : -EINVAL;
}

static int wait_for(int fd, struct roost_handover_told *told, int *file)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int ret;

	do
		ret = poll(&p, 1, ANSWER_MS);
	while (ret < 0 && errno == EINTR);
	if (ret <= 0)
		return ret == 0 ? -ETIMEDOUT : -errno;
	n = recv_with(fd, told, sizeof(*told), file);
	if (n == sizeof(*told))
		return 0;
	if (*file >= 0)
		close(*file);
	*file = -1;
	return -EIO;
}

int roost_handover_ask(int cmd_fd, enum roost_handover_what what,
		       uint32_t handle, struct roost_handover_told *told,
		       int *file)
{
	const struct question q = { .what = what, .handle = handle };
	int ends[2], ret;

	*file = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	ret = send_with(cmd_fd, &q, sizeof(q), ends[1]) ? -EIO : 0;
	/* If the process ends, nobody has this end, and the wait is over. */
	close(ends[1]);
	if (ret == 0)
		ret = wait_for(ends[0], told, file);
	close(ends[0]);
	if (ret)
		return ret;
	told->service[sizeof(told->service) - 1] = '\0';
	if (told->error && *file >= 0) {
		close(*file);
		*file = -1;
	}
	return told->error;
}
