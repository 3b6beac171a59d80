/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * How many small messages a second a program sends to another one, each on a
 * core of its own. perftest sends no inline data on a device that it does not
 * know by name; this one does. It forks, and each of the two opens its end of
 * one link:
 *
 *   roost run --link bench -- bench_rate
 *
 * usage: bench_rate [-n COUNT] [-s BYTES] [-l LIST] [-t OUTSTANDING]
 *                   [-q SIGNALLED] [-c RECEIVER,SENDER] [-p PORT]
 *   -n  messages (default: 2000000)
 *   -s  bytes of each, inline; 1 to 64 (default: 16)
 *   -l  how many a call of ibv_post_send has (default: 1)
 *   -t  outstanding at most (default: 512)
 *   -q  one in so many is signalled (default: 64)
 *   -c  the cores (default: wherever the kernel puts them)
 *   -p  the receiver's port, as DPDK's devargs (default: as the sender's)
 *
 * RC WRITEs. The receiver sleeps: what comes is its worker's. Prints "rate pps
 * N", from the first post to the last completion.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/writes.h"
#include "tests/real/user.h"

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_on(int cpu)
{
	cpu_set_t cpus;

	if (cpu < 0)
		return;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	user_check(sched_setaffinity(0, sizeof(cpus), &cpus) == 0,
		   "sched_setaffinity");
}

static int receive(int fd)
{
	static struct writes_end end;
	struct writes_peer peer;
	char byte;

	writes_join(&end, fd, &peer);
	/* Until the sender ends. */
	return read(fd, &byte, 1) == 0 ? 0 : 1;
}

static void send_all(int fd, const struct writes *writes)
{
	static struct writes_end end;
	struct writes_peer peer;
	double start_s;

	writes_join(&end, fd, &peer);
	start_s = now_s();
	writes_run(&end, &peer, writes);
	printf("rate pps %.0f\n", (double)writes->count / (now_s() - start_s));
}

static unsigned int number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct writes writes = {
		.count = 2000000,
		.bytes = 16,
		.outstanding = 512,
		.signal_every = 64,
		.list = 1,
	};
	const char *port = NULL;
	int cpus[2] = { -1, -1 };
	int c, status, fds[2];
	pid_t child;

	while ((c = getopt(argc, argv, "n:s:l:t:q:c:p:")) != -1) {
		if (c == 'n')
			writes.count = strtoul(optarg, NULL, 10);
		else if (c == 's')
			writes.bytes = number(optarg);
		else if (c == 'l')
			writes.list = number(optarg);
		else if (c == 't')
			writes.outstanding = number(optarg);
		else if (c == 'q')
			writes.signal_every = number(optarg);
		else if (c == 'p')
			port = optarg;
		else if (c != 'c' ||
			 sscanf(optarg, "%d,%d", &cpus[0], &cpus[1]) != 2)
			return 2;
	}
	writes_check(&writes);
	user_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
	child = fork();
	user_check(child >= 0, "fork");
	if (child == 0) {
		close(fds[1]);
		run_on(cpus[0]);
		user_check(!port || setenv("ROOST_PORT0_DEVARGS", port, 1) == 0,
			   "setenv");
		return receive(fds[0]);
	}
	close(fds[0]);
	run_on(cpus[1]);
	send_all(fds[1], &writes);
	close(fds[1]);
	errno = ECHILD;
	user_check(waitpid(child, &status, 0) == child && status == 0,
		   "the receiver failed");
	return 0;
}
