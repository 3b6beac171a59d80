/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Birth and death of datagram rsockets, and the addresses of their ends. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cm/rsocket/dgram.h"

static int listen_sidr(struct roost_rs_dgram *dg)
{
	struct sockaddr_storage local = dg->local;
	int ret;

	if (rdma_create_id(roost_rs_service_channel(), &dg->listen_id,
			   &dg->listen_cm, RDMA_PS_UDP) != 0) {
		dg->listen_id = NULL;
		return -errno;
	}
	if (rdma_bind_addr(dg->listen_id, (struct sockaddr *)&local) == 0 &&
	    rdma_listen(dg->listen_id, 0) == 0) {
		roost_rs_port_set(&dg->local, rdma_get_src_port(dg->listen_id));
		return 0;
	}
	ret = -errno;
	rdma_destroy_id(dg->listen_id);
	dg->listen_id = NULL;
	return ret;
}

static int dgram_bind(struct roost_rs *rs, const struct sockaddr *addr,
		      socklen_t length)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	int ret = roost_rs_addr_check(addr, length);

	if (ret < 0)
		return ret;
	pthread_mutex_lock(&rs->lock);
	if (dg->is_bound) {
		ret = -EINVAL;
		goto unlock;
	}
	memcpy(&dg->local, addr, roost_rs_addr_length(addr));
	ret = roost_rs_side_bind(dg);
	if (ret < 0)
		goto unlock;
	ret = listen_sidr(dg);
	/* An address that only the kernel has: its RDMA device may come later.
	 */
	if (ret < 0 && ret != -EADDRINUSE && dg->udp_fd >= 0)
		ret = 0;
	if (ret == 0)
		dg->is_bound = true;
unlock:
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

static int dgram_connect(struct roost_rs *rs, const struct sockaddr *addr,
			 socklen_t length)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	const bool dissolve = addr && length >= sizeof(addr->sa_family) &&
			      addr->sa_family == AF_UNSPEC;
	struct sockaddr_storage to = { 0 };
	struct roost_rs_dest *dest = NULL;
	int ret = dissolve ? 0 : roost_rs_addr_check(addr, length);

	if (ret < 0)
		return ret;
	pthread_mutex_lock(&rs->lock);
	if (!dissolve) {
		memcpy(&to, addr, roost_rs_addr_length(addr));
		ret = roost_rs_dgram_bind_any(dg);
		if (ret == 0)
			ret = roost_rs_dest_get(dg, &to, &dest);
	}
	if (ret == 0) {
		dg->peer = dest;
		dg->to = dest;
	}
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

static int dgram_shutdown(struct roost_rs *rs, int how)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	int ret = 0;

	pthread_mutex_lock(&rs->lock);
	if (!dg->peer)
		ret = -ENOTCONN;
	if (how != SHUT_WR)
		dg->readable = false;
	if (how != SHUT_RD)
		dg->writable = false;
	roost_rs_notify(rs);
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

static void dgram_close(struct roost_rs *rs)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	int ret;

	pthread_mutex_lock(&rs->lock);
	dg->readable = false;
	dg->writable = false;
	roost_rs_notify(rs);
	/* A UD send completes when it is on the wire, which is soon. A datagram
	 * that waits for its destination takes as long as the resolution.
	 */
	do {
		ret = roost_rs_block(rs, roost_rs_dgram_all_sent, false);
	} while (ret == -EINTR);
	pthread_mutex_unlock(&rs->lock);
}

static void dgram_free(struct roost_rs *rs)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	struct roost_rs_dmsg *msg;
	struct roost_rs_uqp *uqp;

	if (dg->listen_id)
		rdma_destroy_id(dg->listen_id);
	roost_rs_dest_free_all(dg);
	while ((msg = STAILQ_FIRST(&dg->received)) != NULL) {
		STAILQ_REMOVE_HEAD(&dg->received, link);
		if (!msg->uqp)
			free(msg);
	}
	while ((uqp = LIST_FIRST(&dg->uqps)) != NULL) {
		LIST_REMOVE(uqp, link);
		roost_rs_uqp_free(uqp);
	}
	if (dg->udp_fd >= 0)
		close(dg->udp_fd);
	if (dg->epoll_fd >= 0)
		close(dg->epoll_fd);
	roost_rs_fini(rs);
	free(dg);
}

/* The child's copies would keep the port of the parent's UDP socket, and keep
 * the socket in the epoll set of the parent's service thread.
 */
static void dgram_forget(struct roost_rs *rs)
{
	const struct roost_rs_dgram *dg = roost_rs_dgram(rs);

	if (dg->udp_fd >= 0)
		close(dg->udp_fd);
	close(dg->epoll_fd);
}

static int dgram_local(struct roost_rs *rs, struct sockaddr_storage *addr)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);

	pthread_mutex_lock(&rs->lock);
	*addr = dg->local;
	pthread_mutex_unlock(&rs->lock);
	return 0;
}

static int dgram_peer(struct roost_rs *rs, struct sockaddr_storage *addr)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);
	int ret = -ENOTCONN;

	pthread_mutex_lock(&rs->lock);
	if (dg->peer) {
		*addr = dg->peer->addr;
		ret = 0;
	}
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

static bool dgram_sizable(struct roost_rs *rs)
{
	return LIST_EMPTY(&roost_rs_dgram(rs)->uqps);
}

/* The UDP socket handles all options of UDP; an option that it refuses is
 * refused.
 */
static int dgram_set_option(struct roost_rs *rs, int level, int name,
			    const void *value, socklen_t length)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(rs);

	if (level != SOL_SOCKET && level != IPPROTO_IPV6 && level != IPPROTO_IP)
		return 0;
	if (dg->udp_fd < 0)
		return 0;
	return setsockopt(dg->udp_fd, level, name, value, length) == 0 ? 0
								       : -errno;
}

static const struct roost_rs_ops dgram_ops = {
	.bind = dgram_bind,
	.connect = dgram_connect,
	.send = roost_rs_dgram_send,
	.recv = roost_rs_dgram_recv,
	.shutdown = dgram_shutdown,
	.close = dgram_close,
	.free = dgram_free,
	.forget = dgram_forget,
	.local = dgram_local,
	.peer = dgram_peer,
	.sizable = dgram_sizable,
	.set_option = dgram_set_option,
	.readable = roost_rs_side_readable,
	.progress = roost_rs_dgram_progress,
	.events = roost_rs_dgram_events,
	.arm = roost_rs_dgram_arm,
	.drain = roost_rs_dgram_drain,
	.wait_fd = roost_rs_dgram_wait_fd,
};

int roost_rs_dgram_create(sa_family_t family, struct roost_rs **out)
{
	struct roost_rs_dgram *dg = calloc(1, sizeof(*dg));
	int ret;

	if (!dg)
		return -ENOMEM;
	roost_rs_init(&dg->rs, &dgram_ops, SOCK_DGRAM, family);
	dg->readable = true;
	dg->writable = true;
	dg->local.ss_family = family;
	dg->listen_cm.rs = &dg->rs;
	dg->listen_cm.event = roost_rs_dgram_listen_event;
	LIST_INIT(&dg->uqps);
	for (unsigned int i = 0; i < ROOST_RS_DEST_BUCKETS; i++)
		LIST_INIT(&dg->dests[i]);
	for (unsigned int used = 0; used < 2; used++)
		TAILQ_INIT(&dg->dests_by_age[used]);
	LIST_INIT(&dg->dead_dests);
	STAILQ_INIT(&dg->received);
	dg->udp_fd =
		socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	dg->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (dg->udp_fd < 0 || dg->epoll_fd < 0) {
		ret = -errno;
		roost_rs_put(&dg->rs);
		return ret;
	}
	*out = &dg->rs;
	return 0;
}
