/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/cable/link.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pmd_glue/channel/meet.h"
#include "pmd_glue/process/fork_guard.h"

/* A process that was just killed may hold its claim until it has exited. */
#define CLAIM_TRIES 10
#define CLAIM_WAIT_NS 10000000

void roost_link_address(const char *name, unsigned int end,
			char address[ROOST_LINK_ADDRESS_MAX])
{
	snprintf(address, ROOST_LINK_ADDRESS_MAX, "@roost/%u/%s/%u", getuid(),
		 name, end + 1);
}

static int try_claim(const char *name, unsigned int end,
		     struct roost_link *link)
{
	char address[ROOST_LINK_ADDRESS_MAX];
	int fd, ret;

	roost_link_address(name, end, address);
	fd = roost_shm_listen(address);
	if (fd < 0)
		return fd;
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
	char address[ROOST_LINK_ADDRESS_MAX];
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	int fd;

	roost_link_address(name, end, address);
	fd = roost_shm_connect(address, NULL);
	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
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
