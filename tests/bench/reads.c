/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * How long a READ takes, whose answer the program at the other end has nothing
 * to do with: it polls an empty CQ now and then, as programs do from a loop of
 * theirs. It forks, and each of the two opens its end of one link:
 *
 *   roost run --link bench -- bench_reads -i 100
 *
 * usage: bench_reads [-n COUNT] [-i INTERVAL_US] [-b BURST] [-s] [-g PAUSE_US]
 *                    [-c POLLER,READER]
 *   -n  READs (default: 2000), or as many as fit into 20 s
 *   -i  from poll to poll (default: -1, it never polls; 0: without a pause)
 *   -b  polls at a time (default: 1)
 *   -s  it computes between polls; otherwise it sleeps
 *   -g  between two READs, half of it random (default: 200)
 *   -c  the cores (default: wherever the kernel puts them)
 *
 * Prints "reads mean N p50 N p99 N", in us.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/writes.h"
#include "tests/real/user.h"

#define COUNT_MAX 1000000ul
#define LONGEST_US 20e6 /* on a machine where each one waits for processors */

struct reads {
	unsigned long count;
	long interval_us; /* -1: never */
	unsigned int burst;
	bool computes;
	unsigned int pause_us;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
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

static void pause_until(double us, bool computes)
{
	const double left_us = us - now_us();
	struct timespec t;

	if (computes) {
		while (now_us() < us)
			;
	} else if (left_us > 0) {
		t.tv_sec = (time_t)(left_us / 1e6);
		t.tv_nsec = (long)(left_us * 1e3) % 1000000000;
		nanosleep(&t, NULL);
	}
}

/* Until the reader ends. */
static void poll_now_and_then(int fd, const struct reads *reads)
{
	static struct writes_end end;
	struct writes_peer peer;
	struct ibv_wc wc;
	double next_us;
	char byte;

	writes_join(&end, fd, &peer);
	if (reads->interval_us < 0) {
		user_check(read(fd, &byte, 1) == 0, "the reader");
		return;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	next_us = now_us();
	for (unsigned int n = 1; n % 1024 || read(fd, &byte, 1) != 0; n++) {
		for (unsigned int i = 0; i < reads->burst; i++)
			user_check(ibv_poll_cq(end.cq, 1, &wc) == 0, "a CQE");
		next_us += (double)reads->interval_us;
		if (next_us < now_us())
			next_us = now_us();
		else
			pause_until(next_us, reads->computes);
	}
}

static double read_once(struct writes_end *end, const struct writes_peer *peer)
{
	struct ibv_sge sge = { .addr = (uintptr_t)end->buf,
			       .length = 8,
			       .lkey = end->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = peer->addr, .rkey = peer->rkey },
	};
	const double start_us = now_us();
	struct ibv_wc wc;
	int n;

	user_check(ibv_post_send(end->qp, &wr, &bad) == 0, "ibv_post_send");
	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (n == 0);
	user_check(n == 1, "ibv_poll_cq");
	user_check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	return now_us() - start_us;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void read_all(int fd, const struct reads *reads)
{
	static struct writes_end end;
	static double took_us[COUNT_MAX];
	struct writes_peer peer;
	double sum_us = 0, end_us;
	unsigned long n = 0;

	writes_join(&end, fd, &peer);
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	end_us = now_us() + LONGEST_US;
	while (n < reads->count && now_us() < end_us) {
		pause_until(now_us() + reads->pause_us * (0.5 + drand48() / 2),
			    false);
		took_us[n] = read_once(&end, &peer);
		sum_us += took_us[n++];
	}
	qsort(took_us, n, sizeof(took_us[0]), by_value);
	printf("reads mean %.1f p50 %.1f p99 %.1f\n", sum_us / (double)n,
	       took_us[n / 2], took_us[n * 99 / 100]);
}

int main(int argc, char **argv)
{
	struct reads reads = {
		.count = 2000,
		.interval_us = -1,
		.burst = 1,
		.pause_us = 200,
	};
	int cpus[2] = { -1, -1 };
	int c, status, fds[2];
	pid_t child;

	while ((c = getopt(argc, argv, "n:i:b:sg:c:")) != -1) {
		if (c == 'n')
			reads.count = strtoul(optarg, NULL, 10);
		else if (c == 'i')
			reads.interval_us = strtol(optarg, NULL, 10);
		else if (c == 'b')
			reads.burst = (unsigned int)strtoul(optarg, NULL, 10);
		else if (c == 's')
			reads.computes = true;
		else if (c == 'g')
			reads.pause_us =
				(unsigned int)strtoul(optarg, NULL, 10);
		else if (c != 'c' ||
			 sscanf(optarg, "%d,%d", &cpus[0], &cpus[1]) != 2)
			return 2;
	}
	user_check(reads.count > 0 && reads.count <= COUNT_MAX, "-n");
	user_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
	child = fork();
	user_check(child >= 0, "fork");
	if (child == 0) {
		close(fds[1]);
		/* It would keep its end of the link from the next ones. */
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0ul, 0ul, 0ul);
		prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
		run_on(cpus[0]);
		poll_now_and_then(fds[0], &reads);
		return 0;
	}
	close(fds[0]);
	run_on(cpus[1]);
	read_all(fds[1], &reads);
	close(fds[1]);
	errno = ECHILD;
	user_check(waitpid(child, &status, 0) == child && status == 0,
		   "the poller failed");
	return 0;
}
