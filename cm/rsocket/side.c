/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The side channel of datagram rsockets: UDP, through the kernel. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm/rsocket/dgram.h"

#define IOV_MAX_DATA 64

int roost_rs_side_bind(struct roost_rs_dgram *dg)
{
	socklen_t length = sizeof(dg->local);
	struct sockaddr *local = (struct sockaddr *)&dg->local;
	const int udp_fd = dg->udp_fd;

	if (bind(dg->udp_fd, local, roost_rs_addr_length(local)) == 0) {
		if (getsockname(dg->udp_fd, local, &length) != 0)
			return -errno;
		return roost_rs_service_watch(&dg->rs, dg->udp_fd);
	}
	if (errno != EADDRNOTAVAIL)
		return -errno;
	dg->udp_fd = -1;
	close(udp_fd);
	return 0;
}

int roost_rs_dgram_bind_any(struct roost_rs_dgram *dg)
{
	int ret;

	if (dg->is_bound)
		return 0;
	memset(&dg->local, 0, sizeof(dg->local));
	dg->local.ss_family = dg->rs.family;
	ret = roost_rs_side_bind(dg);
	if (ret == 0)
		dg->is_bound = true;
	return ret;
}

bool roost_rs_side_works(const struct roost_rs_dgram *dg,
			 const struct sockaddr_storage *local)
{
	struct sockaddr_storage addr = *local;
	const struct sockaddr *sa = (const struct sockaddr *)&addr;
	bool works;
	int fd;

	if (dg->udp_fd < 0)
		return false;
	/* Only the kernel's own addresses can be bound. */
	roost_rs_port_set(&addr, 0);
	fd = socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	works = bind(fd, sa, roost_rs_addr_length(sa)) == 0;
	close(fd);
	return works;
}

ssize_t roost_rs_side_send(struct roost_rs_dgram *dg,
			   const struct roost_rs_dest *dest,
			   enum roost_rs_op op, const struct iovec *iov,
			   int nb_iov)
{
	const struct roost_rs_side side = {
		.op = (uint8_t)op,
		.qpn = dest->uqp->id->qp->qp_num,
	};
	const struct sockaddr *to = (const struct sockaddr *)&dest->addr;
	uint8_t header[ROOST_RS_SIDE_MAX];
	struct iovec all[1 + IOV_MAX_DATA];
	struct msghdr msg = {
		.msg_name = (void *)to,
		.msg_namelen = roost_rs_addr_length(to),
		.msg_iov = all,
	};
	ssize_t ret;

	if (nb_iov > IOV_MAX_DATA)
		return -EMSGSIZE;
	if (dg->udp_fd < 0)
		return -ENETUNREACH;
	all[0].iov_base = header;
	all[0].iov_len =
		roost_rs_side_put(header, &side,
				  (struct sockaddr *)&dest->uqp->local);
	if (nb_iov > 0)
		memcpy(all + 1, iov, (size_t)nb_iov * sizeof(*iov));
	msg.msg_iovlen = (size_t)nb_iov + 1;
	ret = sendmsg(dg->udp_fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	return ret < 0 ? -errno : ret - (ssize_t)all[0].iov_len;
}

/* lock held. */
static void receive(struct roost_rs_dgram *dg,
		    const struct sockaddr_storage *from, const uint8_t *data,
		    size_t length_bytes)
{
	struct roost_rs_dmsg *msg;

	if (!roost_rs_dgram_wants(dg, from) ||
	    dg->nb_side_waiting >= ROOST_RS_SIDE_WAITING_MAX)
		return;
	msg = calloc(1, sizeof(*msg) + length_bytes);
	if (!msg)
		return;
	msg->from = *from;
	msg->data = (uint8_t *)(msg + 1);
	memcpy(msg->data, data, length_bytes);
	msg->length_bytes = (uint32_t)length_bytes;
	STAILQ_INSERT_TAIL(&dg->received, msg, link);
	dg->nb_side_waiting++;
	roost_rs_notify(&dg->rs);
}

/* lock held. */
static void take(struct roost_rs_dgram *dg, const struct sockaddr_storage *from,
		 const uint8_t *data, size_t length_bytes)
{
	struct roost_rs_dest *dest;
	struct roost_rs_side side;
	int header;

	header = roost_rs_side_get(&side, from->ss_family, data, length_bytes);
	if (header < 0 || roost_rs_dest_get(dg, from, &dest) < 0)
		return;
	roost_rs_dest_tell(dest, side.qpn);
	if (side.op != ROOST_RS_OP_DATA)
		return;
	if (dest->uqp)
		(void)roost_rs_side_send(dg, dest, ROOST_RS_OP_CTRL, NULL, 0);
	else
		dest->owes_side = true;
	receive(dg, from, data + header, length_bytes - (size_t)header);
}

void roost_rs_side_readable(struct roost_rs *rs)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	uint8_t data[ROOST_RS_SIDE_MAX + ROOST_RS_DGRAM_BYTES];
	struct sockaddr_storage from = { 0 };
	socklen_t length = sizeof(from);
	ssize_t ret = -1;

	pthread_mutex_lock(&rs->lock);
	if (dg->udp_fd >= 0)
		ret = recvfrom(dg->udp_fd, data, sizeof(data), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &length);
	if (ret > 0 && !rs->closed)
		take(dg, &from, data, (size_t)ret);
	pthread_mutex_unlock(&rs->lock);
	roost_rs_dest_reap(dg);
}
