/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <errno.h>
#include <string.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/rs.h"

void roost_rs_init(struct roost_rs *rs, const struct roost_rs_ops *ops,
		   int type, sa_family_t family)
{
	rs->ops = ops;
	rs->type = type;
	rs->family = family;
	rs->fd = -1;
	rs->refs = 1;
	pthread_mutex_init(&rs->send_lock, NULL);
	pthread_mutex_init(&rs->recv_lock, NULL);
	pthread_mutex_init(&rs->lock, NULL);
	LIST_INIT(&rs->waiters);
	rs->flags = O_RDWR;
	/* rdma-core's ends linger from the start. */
	rs->so_flags = 1ull << SO_LINGER;
	rs->sizes = roost_rs_config()->sizes;
}

void roost_rs_fini(struct roost_rs *rs)
{
	pthread_mutex_destroy(&rs->lock);
	pthread_mutex_destroy(&rs->recv_lock);
	pthread_mutex_destroy(&rs->send_lock);
}

int roost_rs_addr_check(const struct sockaddr *addr, socklen_t length)
{
	if (!addr || length < sizeof(addr->sa_family))
		return -EINVAL;
	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (length < roost_rs_addr_length(addr))
		return -EINVAL;
	return 0;
}

in_port_t roost_rs_port(const struct sockaddr_storage *addr)
{
	/* At the same place in both families. */
	return ((const struct sockaddr_in *)(const void *)addr)->sin_port;
}

void roost_rs_port_set(struct sockaddr_storage *addr, in_port_t port)
{
	((struct sockaddr_in *)(void *)addr)->sin_port = port;
}

bool roost_rs_addr_equal(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b, bool with_port)
{
	const struct sockaddr_in *a4 = (const void *)a;
	const struct sockaddr_in *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a;
	const struct sockaddr_in6 *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (with_port && roost_rs_port(a) != roost_rs_port(b))
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) ==
	       0;
}
