/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Messages over TCP, by two programs that poll: what a program without RDMA
 * does when it is in a hurry. Run by tests/bench/run. It is built twice, for
 * send and recv, and for io_uring (tcp_io.h).
 *
 * usage: tcp server ADDRESS PORT
 *        tcp client ADDRESS PORT BYTES SECONDS
 *        tcp sink ADDRESS PORT
 *        tcp source ADDRESS PORT BYTES SECONDS
 * The client prints "tcp ns N", the median of the round trip of a message; the
 * sink, to which the source sends one message behind the other, "tcp gbps N".
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

#include "tests/bench/tcp_io.h"

#define TRIPS_MAX 1000000u
#define BYTES_MAX 65536u
#define CONNECT_TRIES 500u

static char in[BYTES_MAX], out[BYTES_MAX];

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

static int accept_one(const struct sockaddr_in *at)
{
	int one = 1, fd, listener = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (const struct sockaddr *)at, sizeof(*at)) != 0 ||
	    listen(listener, 1) != 0)
		die("listen");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept");
	return fd;
}

static void serve(void)
{
	size_t n;

	while ((n = tcp_io_take(in, sizeof(in))) > 0)
		if (!tcp_io_give(out, n))
			break;
}

static void drain(void)
{
	size_t n = tcp_io_take(in, sizeof(in)), bytes = 0;
	double start = now_s();

	while (n > 0 && (n = tcp_io_take(in, sizeof(in))) > 0)
		bytes += n;
	printf("tcp gbps %.2f\n", 8e-9 * (double)bytes / (now_s() - start));
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

static void measure(size_t bytes, double seconds)
{
	static double trips[TRIPS_MAX];
	double start = now_s(), before = start;
	size_t nb = 0;

	while (nb < TRIPS_MAX && before - start < seconds) {
		size_t back = 0, n;

		if (!tcp_io_give(out, bytes))
			die("send");
		while (back < bytes) {
			n = tcp_io_take(in, bytes - back);
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

static void pour(size_t bytes, double seconds)
{
	double start = now_s();

	while (now_s() - start < seconds)
		if (!tcp_io_give(out, bytes))
			die("send");
	tcp_io_flush();
}

int main(int argc, char **argv)
{
	const char *role = argc > 1 ? argv[1] : "";
	bool listens = strcmp(role, "server") == 0 || strcmp(role, "sink") == 0;
	bool calls = strcmp(role, "client") == 0 || strcmp(role, "source") == 0;
	struct sockaddr_in at;
	size_t bytes = 1;
	int fd;

	if ((!listens || argc != 4) && (!calls || argc != 6)) {
		fprintf(stderr, "usage: tcp server|sink ADDRESS PORT\n"
				"       tcp client|source ADDRESS PORT BYTES "
				"SECONDS\n");
		return EXIT_FAILURE;
	}
	at = address(argv);
	if (calls)
		bytes = strtoul(argv[4], NULL, 0);
	if (bytes < 1 || bytes > BYTES_MAX) {
		fprintf(stderr, "tcp: BYTES: 1 to %u\n", BYTES_MAX);
		return EXIT_FAILURE;
	}
	fd = listens ? accept_one(&at) : connect_to(&at);
	no_delay(fd);
	tcp_io_open(fd);
	if (strcmp(role, "server") == 0)
		serve();
	else if (listens)
		drain();
	else if (strcmp(role, "client") == 0)
		measure(bytes, strtod(argv[5], NULL));
	else
		pour(bytes, strtod(argv[5], NULL));
	return EXIT_SUCCESS;
}
