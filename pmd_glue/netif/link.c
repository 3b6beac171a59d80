/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/link.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "pmd_glue/process/fork_guard.h"

/* A process that was just killed may hold its claim until it has exited. */
#define CLAIM_TRIES 10
#define CLAIM_WAIT_NS 10000000

/* Pending connections of processes that ask for our pid; more are refused. */
#define CLAIM_BACKLOG 16

static socklen_t claim_addr(const char *name, unsigned int end,
			    struct sockaddr_un *addr)
{
	int len;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	/* An abstract name starts with a zero byte, and ends without one. */
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
		       "roost/%u/%s/%u", getuid(), name, end + 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)len);
}

static int try_claim(const char *name, unsigned int end,
		     struct roost_link *link)
{
	struct sockaddr_un addr;
	socklen_t len = claim_addr(name, end, &addr);
	int ret;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, len) < 0 ||
	    listen(fd, CLAIM_BACKLOG) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	ret = roost_fork_guard_add(fd);
	if (ret) {
		close(fd);
		return ret;
	}
	link->end = end;
	link->fd = fd;
	return 0;
}

/* The pid of the end's holder; 0: not known, or the end is free now. */
static pid_t holder(const char *name, unsigned int end)
{
	struct sockaddr_un addr;
	socklen_t len = claim_addr(name, end, &addr);
	struct ucred cred = { 0 };
	socklen_t cred_len = sizeof(cred);
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (struct sockaddr *)&addr, len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0)
		cred.pid = 0;
	close(fd);
	return cred.pid;
}

int roost_link_claim(const char *name, struct roost_link *link, pid_t pids[2])
{
	const struct timespec wait = { .tv_nsec = CLAIM_WAIT_NS };
	int ret = -EADDRINUSE;

	for (int i = 0; i < CLAIM_TRIES && ret == -EADDRINUSE; i++) {
		if (i > 0)
			nanosleep(&wait, NULL);
		ret = try_claim(name, 0, link);
		if (ret == -EADDRINUSE)
			ret = try_claim(name, 1, link);
	}
	if (ret != -EADDRINUSE)
		return ret;
	pids[0] = holder(name, 0);
	pids[1] = holder(name, 1);
	return -EBUSY;
}

void roost_link_release(struct roost_link *link)
{
	roost_fork_guard_remove(link->fd);
	close(link->fd);
	link->fd = -1;
}

void roost_link_serve(const struct roost_link *link)
{
	int fd;

	while ((fd = accept4(link->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(fd);
}

void roost_link_mac(const char *name, unsigned int end, uint8_t mac[6])
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	mac[0] = 0x02; /* locally administered */
	mac[1] = (uint8_t)(hash >> 24);
	mac[2] = (uint8_t)(hash >> 16);
	mac[3] = (uint8_t)(hash >> 8);
	mac[4] = (uint8_t)hash;
	mac[5] = (uint8_t)(end + 1);
}

int roost_link_devargs(const char *name, unsigned int end, const char *device,
		       char *devargs, size_t size)
{
	uint8_t mac[6];
	int len;

	roost_link_mac(name, end, mac);
	len = snprintf(devargs, size,
		       "net_memif_%s,role=%s,socket-abstract=yes,"
		       "socket=roost/%u/%s/memif,"
		       "mac=%02x:%02x:%02x:%02x:%02x:%02x",
		       device, end == 0 ? "server" : "client", getuid(), name,
		       mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}
