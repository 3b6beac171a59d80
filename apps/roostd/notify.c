/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX 512

/* A path, or an abstract name, which begins with @. Returns 0: neither. */
static socklen_t find_address(struct sockaddr_un *addr)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t len = name ? strlen(name) : 0;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len < 2 || len >= sizeof(addr->sun_path) ||
	    (name[0] != '/' && name[0] != '@'))
		return 0;
	memcpy(addr->sun_path, name, len);
	if (name[0] == '@')
		addr->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void roostd_notify(const char *format, ...)
{
	struct sockaddr_un addr;
	const socklen_t addr_len = find_address(&addr);
	char lines[LINES_MAX];
	va_list args;
	int fd;

	if (addr_len == 0)
		return;
	va_start(args, format);
	vsnprintf(lines, sizeof(lines), format, args);
	va_end(args);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
		      (struct sockaddr *)&addr, addr_len);
	close(fd);
}

void roostd_notify_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	roostd_notify("RELOADING=1\nMONOTONIC_USEC=%lld",
		      (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}
