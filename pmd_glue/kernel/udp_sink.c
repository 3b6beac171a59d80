/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/udp_sink.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "lib/wire/frame.h"

/* Attach the filter before bind(2), so that no packet is queued. */
static int prepare(int fd, const char *iface)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = { .len = 1, .filter = &nothing };
	const int on = 1, off = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		       sizeof(program)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, iface,
		       (socklen_t)strlen(iface)) < 0)
		return -errno;
	/* Several processes may use the interface. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	/* Fails for a socket of IPv4, which does not need it. */
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return 0;
}

static int open_for(int family, const struct sockaddr *addr, socklen_t len,
		    const char *iface)
{
	int fd = roost_high_fd(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	int ret;

	if (fd < 0)
		return -errno;
	ret = prepare(fd, iface);
	if (ret == 0 && bind(fd, addr, len) < 0)
		ret = -errno;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int roost_udp_sink_open(const char *iface)
{
	const struct sockaddr_in any4 = {
		.sin_family = AF_INET,
		.sin_port = htons(ROOST_UDP_PORT),
	};
	const struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(ROOST_UDP_PORT),
	};
	int ret = open_for(AF_INET6, (const void *)&any, sizeof(any), iface);

	/* The kernel has no IPv6, or IPv6 is disabled. */
	if (ret == -EAFNOSUPPORT || ret == -EADDRNOTAVAIL)
		ret = open_for(AF_INET, (const void *)&any4, sizeof(any4),
			       iface);
	return ret;
}
