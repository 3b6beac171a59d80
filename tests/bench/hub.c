/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a frame from client to client costs the daemon: taken from the sender's
 * memory, checked, steered, copied into the receiver's memory. The clients are
 * in this process, and their work is not counted.
 *
 * usage: bench_hub PAYLOAD-BYTES [RUNS]
 * Prints "hub ns NANOSECONDS cycles TSC-CYCLES memcpy NANOSECONDS": per frame,
 * the medians of RUNS (50); memcpy: the same bytes copied alone, slot by slot.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"

#define BURST 32u
#define BURSTS 64u
#define RUNS_MAX 1000u

static uint64_t cycles(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct client from, to;

/* Frames are written and read by the clients meanwhile, as in real life. */
static void run(const struct roost_sw_frame *frame, uint64_t *ns, uint64_t *tsc,
		uint64_t *copy_ns)
{
	static uint8_t other[BURST][ROOST_SHM_SLOT_BYTES];
	uint32_t len;

	*ns = *tsc = *copy_ns = 0;
	for (unsigned int i = 0; i < BURSTS; i++) {
		const uint32_t first = from.out.published;
		uint64_t at, at_tsc;

		for (unsigned int k = 0; k < BURST; k++)
			c_publish(&from, frame);
		at = clock_ns();
		at_tsc = cycles();
		assert_int_equal(roostd_port_poll(&port, now_ns), BURST);
		*tsc += cycles() - at_tsc;
		*ns += clock_ns() - at;
		while (c_take(&to, &len))
			assert_int_equal(len, frame->len_bytes);
		roost_shm_out_free(&from.out, roost_shm_out_collect(&from.out));
		at = clock_ns();
		for (unsigned int k = 0; k < BURST; k++)
			memcpy(other[k],
			       roost_shm_slot(&from.ours,
					      (first + k) %
						      client_shape.nb_slots),
			       frame->len_bytes);
		*copy_ns += clock_ns() - at;
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(uint64_t *values, unsigned int nb)
{
	qsort(values, nb, sizeof(values[0]), compare);
	return (double)values[nb / 2] / (BURST * BURSTS);
}

int main(int argc, char **argv)
{
	static uint64_t ns[RUNS_MAX], tsc[RUNS_MAX], copy_ns[RUNS_MAX];
	const unsigned int runs =
		argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 50;
	const uint32_t payload =
		argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 4096;
	struct roost_sw_frame frame;
	void *state = NULL;

	if (runs == 0 || runs > RUNS_MAX || setup(&state) != 0)
		return EXIT_FAILURE;
	c_attach(&from);
	c_attach(&to);
	frame = rc(&to, payload);
	for (unsigned int i = 0; i < runs; i++)
		run(&frame, &ns[i], &tsc[i], &copy_ns[i]);
	printf("hub ns %.1f cycles %.0f memcpy %.1f\n", median(ns, runs),
	       median(tsc, runs), median(copy_ns, runs));
	c_close(&from);
	c_close(&to);
	return teardown(&state);
}
