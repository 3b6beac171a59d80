/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Two ends that sleep nearly all the time: a message and its answer now and
 * then, over two rsockets in turn, which two workers have where there are as
 * many. What matters is how late a sleeper hears of it, and what its sleep
 * costs.
 *
 * usage: wake PORT [ADDRESS of the server]
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#define CONNECTIONS 2
#define MESSAGES 12
#define PAUSE_US 200000

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static void one_byte(ssize_t n, const char *what)
{
	if (n != 1)
		die(what);
}

static int open_socket(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		die("rsocket");
	return fd;
}

static void serve(const struct sockaddr_in *addr)
{
	int fd = open_socket(), ends[CONNECTIONS];
	char c;

	if (rbind(fd, (const void *)addr, sizeof(*addr)) < 0 ||
	    rlisten(fd, CONNECTIONS) < 0)
		die("listen");
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < CONNECTIONS; i++) {
		ends[i] = raccept(fd, NULL, NULL);
		if (ends[i] < 0)
			die("accept");
	}
	for (int i = 0; rrecv(ends[i], &c, 1, 0) == 1;
	     i = (i + 1) % CONNECTIONS)
		one_byte(rsend(ends[i], &c, 1, 0), "answer");
	for (int i = 0; i < CONNECTIONS; i++)
		rclose(ends[i]);
	rclose(fd);
}

static void ask(const struct sockaddr_in *addr)
{
	double longest = 0, sum = 0, began, cpu, sent, took;
	int fds[CONNECTIONS];
	char c = 'x';

	for (int i = 0; i < CONNECTIONS; i++) {
		fds[i] = open_socket();
		if (rconnect(fds[i], (const void *)addr, sizeof(*addr)) < 0)
			die("connect");
	}
	began = now_s();
	cpu = cpu_s();
	for (int i = 0; i < MESSAGES; i++) {
		int fd = fds[i % CONNECTIONS];

		usleep(PAUSE_US);
		sent = now_s();
		one_byte(rsend(fd, &c, 1, 0), "send");
		one_byte(rrecv(fd, &c, 1, 0), "receive");
		took = now_s() - sent;
		sum += took;
		if (took > longest)
			longest = took;
	}
	printf("average %.0f us, longest %.0f us, %.1f %% of a CPU\n",
	       sum * 1e6 / MESSAGES, longest * 1e6,
	       100 * (cpu_s() - cpu) / (now_s() - began));
	for (int i = 0; i < CONNECTIONS; i++)
		rclose(fds[i]);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	if (argc < 2)
		return 2;
	addr.sin_port = htons((uint16_t)atoi(argv[1]));
	if (argc == 2) {
		serve(&addr);
		return 0;
	}
	inet_pton(AF_INET, argv[2], &addr.sin_addr);
	ask(&addr);
	return 0;
}
