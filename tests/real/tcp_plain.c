/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * A plain socket program that knows nothing of RDMA, for librspreload.so to
 * carry: three connections one after another, each of which sends much both
 * ways at once, checks every byte and half-closes.
 *
 * usage: tcp_plain server ADDR PORT | tcp_plain client ADDR PORT
 */

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 3
#define BYTES (4u << 20)
#define PIECE 30000u

static void die(const char *what)
{
	fprintf(stderr, "tcp_plain: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint8_t byte_at(size_t i, unsigned int seed)
{
	return (uint8_t)(seed + i * 7 + (i >> 8) * 13);
}

static size_t send_some(int fd, size_t at, unsigned int seed)
{
	static uint8_t buf[PIECE];
	const size_t bytes = BYTES - at < PIECE ? BYTES - at : PIECE;
	ssize_t ret;

	for (size_t i = 0; i < bytes; i++)
		buf[i] = byte_at(at + i, seed);
	ret = send(fd, buf, bytes, MSG_DONTWAIT);
	if (ret < 0 && errno != EAGAIN)
		die("send");
	if (ret < 0)
		return at;
	if (at + (size_t)ret == BYTES && shutdown(fd, SHUT_WR) != 0)
		die("shutdown");
	return at + (size_t)ret;
}

/* Returns the new place; BYTES + 1 behind the end of the stream. */
static size_t recv_some(int fd, size_t at, unsigned int seed)
{
	static uint8_t buf[PIECE];
	const ssize_t ret = read(fd, buf, sizeof(buf));

	if (ret < 0)
		die("read");
	if (ret == 0 && at != BYTES) {
		errno = EPIPE;
		die("early end");
	}
	for (size_t i = 0; i < (size_t)ret; i++) {
		if (buf[i] != byte_at(at + i, seed)) {
			errno = EILSEQ;
			die("wrong byte");
		}
	}
	return ret == 0 ? BYTES + 1 : at + (size_t)ret;
}

static void talk(int fd, unsigned int own_seed, unsigned int peer_seed)
{
	struct pollfd pollfd = { .fd = fd };
	size_t sent = 0;
	size_t received = 0;

	while (sent < BYTES || received <= BYTES) {
		pollfd.events = 0;
		if (received <= BYTES)
			pollfd.events |= POLLIN;
		if (sent < BYTES)
			pollfd.events |= POLLOUT;
		if (poll(&pollfd, 1, 20000) != 1)
			die("poll");
		if ((pollfd.revents & POLLOUT) && sent < BYTES)
			sent = send_some(fd, sent, own_seed);
		if ((pollfd.revents & (POLLIN | POLLHUP)) && received <= BYTES)
			received = recv_some(fd, received, peer_seed);
	}
}

static void serve(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM, 0);
	int on = 1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		die("socket");
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, 2) != 0)
		die("listen");
	puts("listening");
	fflush(stdout);
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		int peer = accept(fd, NULL, NULL);

		if (peer < 0)
			die("accept");
		talk(peer, i, i + 100);
		close(peer);
	}
	close(fd);
}

static void call(const struct addrinfo *ai)
{
	struct sockaddr_storage addr;
	socklen_t length = sizeof(addr);

	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(ai->ai_family, SOCK_STREAM, 0);

		if (fd < 0)
			die("socket");
		if (connect(fd, ai->ai_addr, ai->ai_addrlen) != 0)
			die("connect");
		if (getpeername(fd, (struct sockaddr *)&addr, &length) != 0 ||
		    memcmp(&addr, ai->ai_addr, 8) != 0)
			die("getpeername");
		talk(fd, i + 100, i);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;

	if (argc != 4 || getaddrinfo(argv[2], argv[3], &hints, &ai) != 0) {
		fprintf(stderr, "usage: tcp_plain server|client ADDR PORT\n");
		return 2;
	}
	if (strcmp(argv[1], "server") == 0)
		serve(ai);
	else
		call(ai);
	freeaddrinfo(ai);
	puts("done");
	return 0;
}
