/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a message costs a program: verbs, locks, transport and port of both ends
 * in one thread, so that nobody waits for a second core. An ordinary verbs
 * program with two devices, the ends of one link:
 *
 *   roost run --link bench --link bench -- bench_verbs
 *
 * usage: bench_verbs [-n COUNT] [-s BYTES]
 *   -n  messages a round (default: 200000)
 *   -s  bytes of each, inline; 1 to 64 (default: 16)
 *
 * RC WRITEs, posted one at a time as perftest does: 128 outstanding, every
 * hundredth signalled. Prints "verbs ns N": CPU time a message, the best of
 * five rounds.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/writes.h"
#include "tests/real/user.h"

#define ROUNDS 5u

static struct writes_end from, to;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* No completion comes here; its polls turn the worker. */
static void poll_to(void)
{
	struct ibv_wc wc;

	ibv_poll_cq(to.cq, 1, &wc);
}

int main(int argc, char **argv)
{
	struct writes writes = {
		.count = 200000,
		.bytes = 16,
		.outstanding = 128,
		.signal_every = 100,
		.list = 1,
		.idle = poll_to,
	};
	struct writes_peer from_peer, to_peer;
	struct ibv_device **list;
	double ns, start_ns, best_ns = 0;
	int c, nb;

	/* Inside valgrind, the instructions of elsewhere are counted: see
	 * roost_catch_is_blind().
	 */
	unsetenv("LD_PRELOAD");
	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == 'n')
			writes.count = strtoul(optarg, NULL, 10);
		else if (c == 's')
			writes.bytes = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	writes_check(&writes);
	list = ibv_get_device_list(&nb);
	user_check(list && nb == 2, "not two devices");
	writes_open(&from, list[0]);
	writes_open(&to, list[1]);
	ibv_free_device_list(list);
	from_peer = writes_tell(&from);
	to_peer = writes_tell(&to);
	writes_connect(&from, &to_peer);
	writes_connect(&to, &from_peer);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		start_ns = cpu_ns();
		writes_run(&from, &to_peer, &writes);
		ns = (cpu_ns() - start_ns) / (double)writes.count;
		best_ns = i == 0 || ns < best_ns ? ns : best_ns;
	}
	printf("verbs ns %.1f\n", best_ns);
	return 0;
}
