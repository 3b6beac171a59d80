/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <sys/socket.h>

#include "tests/bench/tcp_io.h"

static int socket_fd;

void tcp_io_open(int fd)
{
	socket_fd = fd;
}

bool tcp_io_give(const void *buf, size_t n)
{
	return send(socket_fd, buf, n, MSG_NOSIGNAL) == (ssize_t)n;
}

size_t tcp_io_take(void *buf, size_t n)
{
	for (;;) {
		ssize_t got = recv(socket_fd, buf, n, MSG_DONTWAIT);

		if (got > 0)
			return (size_t)got;
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			return 0;
	}
}

void tcp_io_flush(void)
{
}
