/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The calls of <rdma/rsocket.h> but for rpoll() and rselect(), in poll.c. */

#include <errno.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cm/rsocket/option.h"
#include "cm/rsocket/service.h"
#include "cm/rsocket/stream.h"

/* -errno into the dialect of sockets. */
static ssize_t answer(ssize_t ret)
{
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

/* A stream with a reference, or NULL and errno. */
static struct roost_rs_stream *get_stream(int socket)
{
	struct roost_rs *rs = roost_rs_get(socket);

	if (!rs) {
		errno = EBADF;
		return NULL;
	}
	if (rs->type != SOCK_STREAM) {
		roost_rs_put(rs);
		errno = EOPNOTSUPP;
		return NULL;
	}
	return roost_rs_stream(rs);
}

static bool is_supported(int domain, int type, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6)
		return false;
	/* No SOCK_CLOEXEC and SOCK_NONBLOCK: rdma-core knows none, and its
	 * preload library leaves such sockets to the kernel. */
	return (type == SOCK_STREAM &&
		(protocol == 0 || protocol == IPPROTO_TCP)) ||
	       (type == SOCK_DGRAM &&
		(protocol == 0 || protocol == IPPROTO_UDP));
}

int rsocket(int domain, int type, int protocol)
{
	struct roost_rs *rs;
	int ret;

	if (!is_supported(domain, type, protocol))
		return (int)answer(-ENOTSUP);
	ret = roost_rs_service_start();
	if (ret == 0)
		ret = type == SOCK_STREAM
			      ? roost_rs_stream_create((sa_family_t)domain, &rs)
			      : roost_rs_dgram_create((sa_family_t)domain, &rs);
	if (ret < 0)
		return (int)answer(ret);
	ret = roost_rs_insert(rs);
	roost_rs_put(rs);
	return (int)answer(ret);
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct roost_rs *rs = roost_rs_get(socket);
	int ret;

	if (!rs)
		return (int)answer(-EBADF);
	ret = rs->ops->bind(rs, addr, addrlen);
	roost_rs_put(rs);
	return (int)answer(ret);
}

int rlisten(int socket, int backlog)
{
	struct roost_rs_stream *st = get_stream(socket);
	int ret;

	if (!st)
		return -1;
	ret = roost_rs_stream_listen(st, backlog);
	roost_rs_put(&st->rs);
	return (int)answer(ret);
}

/* Like a socket call: copy as much of the address as fits, and return its full
 * length.
 */
static void addr_out(const struct sockaddr_storage *from, struct sockaddr *addr,
		     socklen_t *length)
{
	const socklen_t size =
		roost_rs_addr_length((const struct sockaddr *)from);

	if (!length)
		return;
	if (addr)
		memcpy(addr, from, *length < size ? *length : size);
	*length = size;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct roost_rs_stream *st = get_stream(socket);
	struct sockaddr_storage from;
	int ret;

	if (!st)
		return -1;
	ret = roost_rs_stream_accept(st, &from);
	roost_rs_put(&st->rs);
	if (ret >= 0)
		addr_out(&from, addr, addrlen);
	return (int)answer(ret);
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct roost_rs *rs = roost_rs_get(socket);
	int ret;

	if (!rs)
		return (int)answer(-EBADF);
	ret = rs->ops->connect(rs, addr, addrlen);
	roost_rs_put(rs);
	return (int)answer(ret);
}

int rshutdown(int socket, int how)
{
	struct roost_rs *rs;
	int ret, state;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return (int)answer(-EINVAL);
	rs = roost_rs_get(socket);
	if (!rs)
		return (int)answer(-EBADF);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = rs->ops->shutdown(rs, how);
	pthread_setcancelstate(state, NULL);
	roost_rs_put(rs);
	return (int)answer(ret);
}

int rclose(int socket)
{
	struct roost_rs *rs = roost_rs_get(socket);
	bool removed;
	int state;

	if (!rs)
		return (int)answer(-EBADF);
	/* Not cancelled: a second call would not find the number. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rs->ops->close(rs);
	pthread_mutex_lock(&rs->lock);
	rs->closed = true;
	roost_rs_notify(rs);
	pthread_mutex_unlock(&rs->lock);
	removed = roost_rs_remove(rs);
	roost_rs_put(rs);
	pthread_setcancelstate(state, NULL);
	return (int)answer(removed ? 0 : -EBADF);
}

static ssize_t recv_from(int socket, const struct iovec *iov, int nb_iov,
			 int flags, struct sockaddr_storage *from)
{
	struct roost_rs *rs = roost_rs_get(socket);
	ssize_t ret;

	if (!rs)
		return answer(-EBADF);
	ret = nb_iov < 0 ? -EINVAL
			 : rs->ops->recv(rs, iov, nb_iov, flags, from);
	roost_rs_put(rs);
	return answer(ret);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = len };

	return recv_from(socket, &iov, 1, flags, NULL);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
		  struct sockaddr *src_addr, socklen_t *addrlen)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct sockaddr_storage from = { 0 };
	ssize_t ret = recv_from(socket, &iov, 1, flags, &from);

	if (ret >= 0 && src_addr && from.ss_family != AF_UNSPEC)
		addr_out(&from, src_addr, addrlen);
	return ret;
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	struct sockaddr_storage from = { 0 };
	ssize_t ret = recv_from(socket, msg->msg_iov, (int)msg->msg_iovlen,
				flags, &from);

	if (ret < 0)
		return ret;
	if (msg->msg_name && from.ss_family != AF_UNSPEC)
		addr_out(&from, msg->msg_name, &msg->msg_namelen);
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	return ret;
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return recv_from(socket, iov, iovcnt, 0, NULL);
}

static ssize_t send_to(int socket, const struct iovec *iov, int nb_iov,
		       int flags, const struct sockaddr *to, socklen_t length)
{
	struct roost_rs *rs = roost_rs_get(socket);
	ssize_t ret;

	if (!rs)
		return answer(-EBADF);
	ret = nb_iov < 0 ? -EINVAL
			 : rs->ops->send(rs, iov, nb_iov, flags, to, length);
	roost_rs_put(rs);
	return answer(ret);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return rsendto(socket, buf, len, flags, NULL, 0);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return send_to(socket, &iov, 1, flags, dest_addr, addrlen);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen != 0)
		return answer(-ENOTSUP);
	return send_to(socket, msg->msg_iov, (int)msg->msg_iovlen, flags,
		       msg->msg_name,
		       msg->msg_name != NULL ? msg->msg_namelen : 0);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsendto(socket, buf, count, 0, NULL, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return send_to(socket, iov, iovcnt, 0, NULL, 0);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct roost_rs *rs = roost_rs_get(socket);
	struct sockaddr_storage peer;
	int ret;

	if (!rs)
		return (int)answer(-EBADF);
	ret = rs->ops->peer(rs, &peer);
	roost_rs_put(rs);
	if (ret == 0)
		addr_out(&peer, addr, addrlen);
	return (int)answer(ret);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct roost_rs *rs = roost_rs_get(socket);
	struct sockaddr_storage local;
	int ret;

	if (!rs)
		return (int)answer(-EBADF);
	ret = rs->ops->local(rs, &local);
	roost_rs_put(rs);
	if (ret == 0)
		addr_out(&local, addr, addrlen);
	return (int)answer(ret);
}

int rsetsockopt(int socket, int level, int optname, const void *optval,
		socklen_t optlen)
{
	struct roost_rs *rs = roost_rs_get(socket);
	int ret;

	if (!rs)
		return (int)answer(-EBADF);
	ret = roost_rs_option_set(rs, level, optname, optval, optlen);
	roost_rs_put(rs);
	return (int)answer(ret);
}

int rgetsockopt(int socket, int level, int optname, void *optval,
		socklen_t *optlen)
{
	struct roost_rs *rs = roost_rs_get(socket);
	int ret;

	if (!rs)
		return (int)answer(-EBADF);
	ret = roost_rs_option_get(rs, level, optname, optval, optlen);
	roost_rs_put(rs);
	return (int)answer(ret);
}

int rfcntl(int socket, int cmd, ...)
{
	struct roost_rs *rs = roost_rs_get(socket);
	va_list args;
	int param;
	int ret = 0;

	if (!rs)
		return (int)answer(-EBADF);
	va_start(args, cmd);
	param = cmd == F_SETFL || cmd == F_SETFD ? va_arg(args, int) : 0;
	va_end(args);
	pthread_mutex_lock(&rs->lock);
	switch (cmd) {
	case F_GETFL:
		ret = rs->flags;
		break;
	case F_SETFL:
		rs->flags = O_RDWR | param;
		break;
	case F_GETFD:
	case F_SETFD:
		ret = fcntl(rs->fd, cmd, param);
		if (ret < 0)
			ret = -errno;
		break;
	default:
		ret = -ENOTSUP;
		break;
	}
	pthread_mutex_unlock(&rs->lock);
	roost_rs_put(rs);
	return (int)answer(ret);
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags,
	     off_t offset)
{
	struct roost_rs_stream *st = get_stream(socket);
	off_t ret;

	(void)flags; /* none is defined */
	if (!st)
		return -1;
	ret = roost_rs_map_add(st, buf, len, prot, offset);
	roost_rs_put(&st->rs);
	return (off_t)answer(ret);
}

int riounmap(int socket, void *buf, size_t len)
{
	struct roost_rs_stream *st = get_stream(socket);
	int ret;

	if (!st)
		return -1;
	ret = roost_rs_map_remove(st, buf, len);
	roost_rs_put(&st->rs);
	return (int)answer(ret);
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset,
		int flags)
{
	struct roost_rs_stream *st = get_stream(socket);
	ssize_t ret;

	if (!st)
		return (size_t)-1;
	ret = roost_rs_map_write(st, buf, count, (uint64_t)offset, flags);
	roost_rs_put(&st->rs);
	return (size_t)answer(ret);
}
