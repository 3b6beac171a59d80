/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * How long a cache line takes from one core to another: the state of the
 * machine beside a figure that has two cores in it.
 *
 * usage: line CPU CPU
 * Prints "line ns N", one way.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TRIPS 20000u
#define ROUNDS 15u

static _Alignas(128) atomic_uint line;

static void pin(const char *cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)strtoul(cpu, NULL, 0), &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

/* Odd numbers are for this side. */
static void *answer(void *cpu)
{
	pin(cpu);
	for (unsigned int n = 1; n < 2 * TRIPS * ROUNDS; n += 2) {
		while (atomic_load(&line) != n)
			;
		atomic_store(&line, n + 1);
	}
	return NULL;
}

static double round_ns(unsigned int first)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (unsigned int n = first; n < first + 2 * TRIPS; n += 2) {
		atomic_store(&line, n + 1);
		while (atomic_load(&line) != n + 2)
			;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 +
		(double)(b.tv_nsec - a.tv_nsec)) /
	       (2 * TRIPS);
}

int main(int argc, char **argv)
{
	double least = 1e18;
	pthread_t thread;

	if (argc != 3) {
		fprintf(stderr, "usage: line CPU CPU\n");
		return EXIT_FAILURE;
	}
	pin(argv[1]);
	if (pthread_create(&thread, NULL, answer, argv[2]) != 0)
		return EXIT_FAILURE;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double ns = round_ns(i * 2 * TRIPS);

		if (ns < least)
			least = ns;
	}
	pthread_join(thread, NULL);
	printf("line ns %.1f\n", least);
	return EXIT_SUCCESS;
}
