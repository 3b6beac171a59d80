/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Messages there and back over TCP, by two programs that poll: what a program
 * without RDMA does when it is in a hurry. Run by tests/bench/run.
 *
 * usage: tcp server ADDRESS PORT
 *        tcp client ADDRESS PORT BYTES SECONDS
 * The client prints "tcp ns N", the median of a round trip.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TRIPS_MAX 1000000u
#define BYTES_MAX 65536u
#define CONNECT_TRIES 500u

static char buf[BYTES_MAX];

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "tcp: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sockaddr_in address(char **argv)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 0)),
	};

	if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		die(argv[2]);
	return to;
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
		die("TCP_NODELAY");
}

/* At most n, at least one, without sleeping. 0: the other end is gone. */
static size_t take(int fd, size_t n)
{
	for (;;) {
		ssize_t got = recv(fd, buf, n, MSG_DONTWAIT);

		if (got > 0)
			return (size_t)got;
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			return 0;
	}
}

static void serve(const struct sockaddr_in *at)
{
	int one = 1, fd, listener = socket(AF_INET, SOCK_STREAM, 0);
	size_t n;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (const struct sockaddr *)at, sizeof(*at)) != 0 ||
	    listen(listener, 1) != 0)
		die("listen");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept");
	no_delay(fd);
	while ((n = take(fd, sizeof(buf))) > 0)
		if (send(fd, buf, n, MSG_NOSIGNAL) != (ssize_t)n)
			break;
}

static int connect_to(const struct sockaddr_in *to)
{
	for (unsigned int i = 0; i < CONNECT_TRIES; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
			return fd;
		close(fd);
		usleep(10000);
	}
	die("connect");
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(int fd, size_t bytes, double seconds)
{
	static double trips[TRIPS_MAX];
	double start = now_s(), before = start;
	size_t nb = 0;

	no_delay(fd);
	while (nb < TRIPS_MAX && before - start < seconds) {
		size_t back = 0, n;

		if (send(fd, buf, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
			die("send");
		while (back < bytes) {
			n = take(fd, bytes - back);
			if (n == 0)
				die("recv");
			back += n;
		}
		trips[nb] = now_s() - before;
		before += trips[nb++];
	}
	qsort(trips, nb, sizeof(trips[0]), compare);
	printf("tcp ns %.0f\n", 1e9 * trips[nb / 2]);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at;
	size_t bytes;

	if (argc != 4 && argc != 6) {
		fprintf(stderr, "usage: tcp server ADDRESS PORT\n"
				"       tcp client ADDRESS PORT BYTES "
				"SECONDS\n");
		return EXIT_FAILURE;
	}
	at = address(argv);
	if (argc == 4) {
		serve(&at);
		return EXIT_SUCCESS;
	}
	bytes = strtoul(argv[4], NULL, 0);
	if (bytes < 1 || bytes > BYTES_MAX) {
		fprintf(stderr, "tcp: BYTES: 1 to %u\n", BYTES_MAX);
		return EXIT_FAILURE;
	}
	measure(connect_to(&at), bytes, strtod(argv[5], NULL));
	return EXIT_SUCCESS;
}
