/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/channel/meet.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/process/fork_guard.h"

#define MAGIC 0x74656d2d74736f52u /* "Rost-met" */
#define BACKLOG 16
#define FDS_MAX 2u

enum type {
	TYPE_HELLO = 1,
	TYPE_BYE,
};

struct message {
	uint64_t magic;
	uint32_t version;
	uint32_t type; /* enum type */
	/* Of HELLO, of others 0. */
	uint32_t seat;
	uint16_t mtu_bytes;
	uint8_t mac[6];
	uint32_t zero;
};

_Static_assert(sizeof(struct message) == 32, "there is no padding");

/* A message with its descriptors. */
struct packet {
	struct message message;
	int fds[FDS_MAX];
	unsigned int nb_fds;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
};

/* ---- sockets
 * ------------------------------------------------------------------ */

/* Returns the length of the address, or -ENAMETOOLONG. */
static int set_address(struct sockaddr_un *addr, const char *name)
{
	const size_t len = strlen(name);

	if (len == 0 || len >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(addr->sun_path, name, len);
	if (name[0] != '@')
		return (int)sizeof(*addr);
	addr->sun_path[0] = '\0';
	return (int)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* A socket that bind(2) or connect(2) was called for. */
static int make_socket(const char *name,
		       int (*call)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un addr;
	int len = set_address(&addr, name), fd, ret;

	if (len < 0)
		return len;
	fd = roost_high_fd(socket(AF_UNIX,
				  SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  0));
	if (fd < 0)
		return -errno;
	if (call(fd, (const void *)&addr, (socklen_t)len) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int roost_shm_listen(const char *name)
{
	int fd = make_socket(name, bind), ret;

	if (fd < 0)
		return fd;
	if (listen(fd, BACKLOG) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int check_trust(int fd, struct roost_peer_trust *trust)
{
	if (!trust || roost_peer_is_trusted(trust, fd))
		return fd;
	roost_peer_report(trust, fd);
	close(fd);
	return -EPERM;
}

int roost_shm_accept(int fd, struct roost_peer_trust *trust)
{
	int peer = roost_high_fd(
		accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

	return peer < 0 ? -errno : check_trust(peer, trust);
}

int roost_shm_connect(const char *name, struct roost_peer_trust *trust)
{
	int fd = make_socket(name, connect);

	return fd < 0 ? fd : check_trust(fd, trust);
}

/* ---- messages
 * ------------------------------------------------------------------ */

static int send_packet(int fd, struct packet *packet)
{
	const size_t fds_bytes = packet->nb_fds * sizeof(int);
	struct iovec part = { &packet->message, sizeof(packet->message) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };
	struct cmsghdr *cmsg;

	packet->message.magic = MAGIC;
	packet->message.version = ROOST_SHM_MEET_VERSION;
	if (packet->nb_fds > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(fds_bytes);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(cmsg), packet->fds, fds_bytes);
	}
	return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno
								     : 0;
}

static void close_fds(struct packet *packet)
{
	while (packet->nb_fds > 0)
		close(packet->fds[--packet->nb_fds]);
}

static void take_fds(struct msghdr *header, struct packet *packet)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg;
	     cmsg = CMSG_NXTHDR(header, cmsg)) {
		size_t nb = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		/* The kernel gives no more than there is room for. */
		for (size_t i = 0; i < nb && packet->nb_fds < FDS_MAX; i++)
			memcpy(&packet->fds[packet->nb_fds++],
			       CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
	}
}

static int check_message(const struct packet *packet, unsigned int hello_fds)
{
	const struct message *message = &packet->message;

	if (message->magic != MAGIC)
		return -EPROTO;
	if (message->version != ROOST_SHM_MEET_VERSION)
		return -EPROTONOSUPPORT;
	switch (message->type) {
	case TYPE_HELLO:
		return packet->nb_fds == hello_fds && message->zero == 0
			       ? 0
			       : -EPROTO;
	case TYPE_BYE:
		return packet->nb_fds == 0 ? 0 : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* Receive a message with its descriptors; on error there are none. */
static int receive_packet(int fd, unsigned int hello_fds, struct packet *packet)
{
	struct iovec part = { &packet->message, sizeof(packet->message) };
	union control control;
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t len;
	int ret;

	packet->nb_fds = 0;
	len = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return -errno;
	take_fds(&header, packet);
	if (len == 0 && packet->nb_fds == 0)
		return -ECONNRESET;
	ret = len != (ssize_t)sizeof(packet->message) ||
			      (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		      ? -EPROTO
		      : check_message(packet, hello_fds);
	if (ret)
		close_fds(packet);
	return ret;
}

/* ---- meetings
 * ------------------------------------------------------------------- */

static int send_hello(struct roost_shm_meeting *m,
		      const struct roost_shm_channel *ch,
		      const struct roost_shm_self *self)
{
	struct packet packet = {
		.message = { .type = TYPE_HELLO,
			     .seat = m->seat,
			     .mtu_bytes = self->mtu_bytes },
		.fds = { roost_shm_channel_memory(ch)->fd, -1 },
		.nb_fds = 1,
	};
	int ends[2], ret;

	memcpy(packet.message.mac, self->mac.addr_bytes,
	       sizeof(packet.message.mac));
	if (!m->accepted)
		return send_packet(m->fd, &packet);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	m->doorbell = ends[0];
	packet.fds[1] = ends[1];
	packet.nb_fds = 2;
	ret = send_packet(m->fd, &packet);
	close(ends[1]);
	return ret;
}

int roost_shm_meet_begin(struct roost_shm_meeting *m,
			 struct roost_shm_channel *ch, int fd, bool accepted,
			 const struct roost_shm_self *self, uint64_t now_ns)
{
	int seat = roost_shm_seat_take(ch), ret;

	*m = (struct roost_shm_meeting){
		.fd = fd,
		.accepted = accepted,
		.doorbell = -1,
		.seat = (uint32_t)seat,
		.until_ns = now_ns + ROOST_SHM_MEET_NS,
	};
	/* In a forked child it would hide the parent's death. */
	roost_fork_guard_add(fd);
	ret = seat < 0 ? seat : send_hello(m, ch, self);
	if (ret) {
		m->met = seat < 0;
		roost_shm_meet_end(m, ch);
	}
	return ret;
}

/* A descriptor of another kind could block whoever polls it. */
static bool is_doorbell(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       domain == AF_UNIX && type == SOCK_STREAM;
}

static int take_hello(struct roost_shm_meeting *m, struct packet *packet)
{
	int ret;

	if (m->met || (!m->accepted && !is_doorbell(packet->fds[1])))
		ret = -EPROTO;
	else
		ret = roost_shm_memory_map(packet->fds[0], &m->peer.memory);
	if (ret) {
		close_fds(packet);
		return ret;
	}
	close(packet->fds[0]);
	m->peer.doorbell = m->accepted ? m->doorbell : packet->fds[1];
	m->doorbell = -1;
	m->peer.seat = packet->message.seat;
	memcpy(m->peer_mac.addr_bytes, packet->message.mac,
	       sizeof(packet->message.mac));
	m->peer_mtu_bytes = packet->message.mtu_bytes;
	m->met = true;
	return 1;
}

int roost_shm_meet_look(struct roost_shm_meeting *m, uint64_t now_ns)
{
	struct packet packet;
	int ret = receive_packet(m->fd, m->accepted ? 1 : 2, &packet);

	if (ret == -EAGAIN || ret == -EINTR)
		return !m->met && now_ns >= m->until_ns ? -ETIMEDOUT : 0;
	if (ret)
		return ret;
	return packet.message.type == TYPE_BYE ? -ECONNRESET
					       : take_hello(m, &packet);
}

void roost_shm_meet_end(struct roost_shm_meeting *m,
			struct roost_shm_channel *ch)
{
	struct packet bye = { .message.type = TYPE_BYE };

	if (m->fd < 0)
		return;
	send_packet(m->fd, &bye);
	roost_fork_guard_remove(m->fd);
	close(m->fd);
	if (m->doorbell >= 0)
		close(m->doorbell);
	if (!m->met)
		roost_shm_seat_leave(ch, m->seat);
	m->fd = m->doorbell = -1;
}
