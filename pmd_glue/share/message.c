/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_BYTES offsetof(struct roost_share_msg, attach)
#define PART(member) sizeof(((struct roost_share_msg *)NULL)->member)

struct row {
	size_t part_bytes;
	uint8_t nb_fds;
	bool has_tail;
	bool from_daemon;
};

static const struct row rows[ROOST_SHARE_TYPES] = {
	[ROOST_SHARE_ATTACH] = { PART(attach), 1, true, false },
	[ROOST_SHARE_PORTS] = { 0, 0, false, false },
	[ROOST_SHARE_QPNS] = { 0, 0, false, false },
	[ROOST_SHARE_PREFIX] = { 0, 0, false, false },
	[ROOST_SHARE_CLAIM] = { PART(claim), 0, false, false },
	[ROOST_SHARE_UNCLAIM] = { PART(claim), 0, false, false },
	[ROOST_SHARE_JOIN] = { PART(addr), 0, false, false },
	[ROOST_SHARE_LEAVE] = { PART(addr), 0, false, false },
	[ROOST_SHARE_RESOLVE] = { PART(addr), 0, false, false },
	[ROOST_SHARE_PUT] = { PART(index), 0, false, false },
	[ROOST_SHARE_SOURCE] = { PART(addr), 0, false, false },
	[ROOST_SHARE_BYE] = { 0, 0, false, false },
	[ROOST_SHARE_SEAT] = { PART(peer), 0, false, false },
	[ROOST_SHARE_PARTED] = { PART(peer), 0, false, false },
	[ROOST_SHARE_BACK] = { 0, 0, false, false },
	[ROOST_SHARE_ATTACHED] = { PART(attached), 3, true, true },
	[ROOST_SHARE_REPLY] = { PART(reply), 0, true, true },
	[ROOST_SHARE_CHANGED] = { 0, 0, false, true },
	[ROOST_SHARE_EVICTED] = { PART(reason), 0, false, true },
	[ROOST_SHARE_MEET] = { PART(peer), 0, false, true },
	[ROOST_SHARE_PEER] = { PART(peer), 2, false, true },
	[ROOST_SHARE_PART] = { PART(peer), 0, false, true },
};

/* An ATTACHED that refuses has no descriptors. */
static unsigned int nb_fds_of(const struct roost_share_msg *msg)
{
	return msg->status ? 0 : rows[msg->type].nb_fds;
}

int roost_share_send(int fd, struct roost_share_msg *msg, const void *tail,
		     size_t tail_bytes, const int *fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * ROOST_SHARE_FDS_MAX)];
	} control = { 0 };
	const size_t fds_bytes = sizeof(int) * nb_fds_of(msg);
	struct iovec parts[2] = {
		{ msg, HEAD_BYTES + rows[msg->type].part_bytes },
		{ (void *)(uintptr_t)tail, tail_bytes },
	};
	struct msghdr packet = { .msg_iov = parts, .msg_iovlen = 2 };
	struct cmsghdr *cmsg;

	msg->version = ROOST_SHARE_VERSION;
	msg->tail_bytes = (uint32_t)tail_bytes;
	if (fds_bytes > 0) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = CMSG_SPACE(fds_bytes);
		cmsg = CMSG_FIRSTHDR(&packet);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(cmsg), fds, fds_bytes);
	}
	return sendmsg(fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno
								     : 0;
}

void roost_share_packet_close(struct roost_share_packet *packet)
{
	for (unsigned int i = 0; i < packet->nb_fds; i++) {
		if (packet->fds[i] >= 0)
			close(packet->fds[i]);
		packet->fds[i] = -1;
	}
	packet->nb_fds = 0;
}

/* Descriptors may come in several groups; more than fit have been closed by the
 * kernel, which says MSG_CTRUNC.
 */
static void take_fds(struct msghdr *packet, struct roost_share_packet *got)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(packet); cmsg;
	     cmsg = CMSG_NXTHDR(packet, cmsg)) {
		size_t nb;

		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		nb = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nb; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd),
			       sizeof(fd));
			if (got->nb_fds < ROOST_SHARE_FDS_MAX)
				got->fds[got->nb_fds++] = fd;
			else
				close(fd);
		}
	}
}

/* Is it a message that the other end sends, whole, with its descriptors? */
static int check(const struct roost_share_packet *got, size_t part_bytes,
		 bool from_daemon, bool lost_fds)
{
	const struct roost_share_msg *msg = &got->msg;
	const bool is_answer = msg->type == ROOST_SHARE_ATTACHED ||
			       msg->type == ROOST_SHARE_REPLY;
	const struct row *row;

	if (msg->type >= ROOST_SHARE_TYPES)
		return -EPROTO;
	row = &rows[msg->type];
	if (row->from_daemon != from_daemon || part_bytes != row->part_bytes ||
	    msg->status > 0 || (!is_answer && msg->status != 0) ||
	    (!row->has_tail && msg->tail_bytes != 0))
		return -EPROTO;
	if (lost_fds && nb_fds_of(msg) > 0)
		return -EMFILE;
	return lost_fds || got->nb_fds != nb_fds_of(msg) ? -EPROTO : 0;
}

int roost_share_receive(int fd, bool from_daemon,
			struct roost_share_packet *packet)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * ROOST_SHARE_FDS_MAX)];
	} control;
	uint8_t bytes[sizeof(packet->msg) + ROOST_SHARE_TAIL_MAX];
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	size_t len, tail_bytes;
	ssize_t got;
	int ret = -EPROTO;

	packet->nb_fds = 0;
	memset(packet->fds, -1, sizeof(packet->fds));
	got = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* The other end did not read all that we sent. This error is told once,
	 * and before what it has sent.
	 */
	if (got < 0 && errno == ECONNRESET)
		got = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	take_fds(&header, packet);
	len = (size_t)got;
	if (len == 0 && packet->nb_fds == 0)
		return -ECONNRESET;
	if (len < HEAD_BYTES)
		goto refuse;
	memset(&packet->msg, 0, sizeof(packet->msg));
	memcpy(&packet->msg, bytes, HEAD_BYTES);
	/* First: all else may be otherwise there. */
	if (packet->msg.version != ROOST_SHARE_VERSION) {
		ret = -EPROTONOSUPPORT;
		goto refuse;
	}
	if (header.msg_flags & MSG_TRUNC)
		goto refuse;
	tail_bytes = packet->msg.tail_bytes;
	if (tail_bytes > len - HEAD_BYTES ||
	    tail_bytes > ROOST_SHARE_TAIL_MAX ||
	    len - HEAD_BYTES - tail_bytes > sizeof(packet->msg) - HEAD_BYTES)
		goto refuse;
	len -= tail_bytes;
	memcpy(&packet->msg, bytes, len);
	memcpy(packet->tail, bytes + len, tail_bytes);
	ret = check(packet, len - HEAD_BYTES, from_daemon,
		    header.msg_flags & MSG_CTRUNC);
	if (!ret)
		return 0;
refuse:
	roost_share_packet_close(packet);
	return ret;
}
