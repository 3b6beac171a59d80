/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Copying and the ICRC, kernel by kernel, beside memcpy alone and beside
 * memcpy with ISA-L's CRC behind it. Each figure is a median of pairs: this
 * and its peer, one after the other, from memory that is in the cache.
 *
 * usage: kernels [BYTES...]
 * Prints, per length and kernel,
 * "kernels NAME BYTES ns N over_memcpy R over_isal R icrc_ns N"; the ratios
 * are speeds: more than 1 is faster than the peer.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <isa-l/crc.h>

#include "lib/wire/icrc.h"

#define PAIRS 201
#define LEN_MAX 9216u
#define CALL_BYTES 65536u /* so many in one measurement, and some calls */
#define CALLS_MIN 64u
/* Where a payload stands in a frame: behind RoCEv2's headers and a RETH. */
#define DST_OFF 70u
#define HDR_OFF 14u

static _Alignas(64) uint8_t src[LEN_MAX + 64], dst[LEN_MAX + DST_OFF + 64];
static volatile uint32_t sink;

static uint32_t plain_copy(const struct roost_kernel *kernel, size_t len_bytes)
{
	(void)kernel;
	memcpy(dst + DST_OFF, src, len_bytes);
	__asm__ volatile("" ::"r"(dst) : "memory");
	return 0;
}

static uint32_t isal_copy(const struct roost_kernel *kernel, size_t len_bytes)
{
	(void)kernel;
	memcpy(dst + DST_OFF, src, len_bytes);
	return crc32_gzip_refl(0, dst + DST_OFF, len_bytes);
}

static uint32_t fused_copy(const struct roost_kernel *kernel, size_t len_bytes)
{
	uint32_t fault = 0;

	return kernel->crc_copy(0, dst + DST_OFF, src, len_bytes, &fault);
}

static uint32_t icrc(const struct roost_kernel *kernel, size_t len_bytes)
{
	return kernel->icrc(&roost_icrc_mask_ipv4, src + HDR_OFF, len_bytes);
}

static double call_ns(uint32_t (*run)(const struct roost_kernel *, size_t),
		      const struct roost_kernel *kernel, size_t len_bytes)
{
	size_t calls = CALLS_MIN + CALL_BYTES / len_bytes;
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (size_t i = 0; i < calls; i++)
		sink = run(kernel, len_bytes);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 +
		(double)(b.tv_nsec - a.tv_nsec)) /
	       (double)calls;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, PAIRS, sizeof(values[0]), compare);
	return values[PAIRS / 2];
}

static void measure(const struct roost_kernel *kernel, size_t len_bytes)
{
	static double ns[PAIRS], memcpy_ratio[PAIRS], isal_ratio[PAIRS];
	static double icrc_ns[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		double other = call_ns(plain_copy, kernel, len_bytes);

		ns[i] = call_ns(fused_copy, kernel, len_bytes);
		memcpy_ratio[i] = other / ns[i];
		other = call_ns(isal_copy, kernel, len_bytes);
		isal_ratio[i] = other / call_ns(fused_copy, kernel, len_bytes);
		icrc_ns[i] = call_ns(icrc, kernel, len_bytes + 40);
	}
	printf("kernels %s %zu ns %.1f over_memcpy %.3f over_isal %.3f "
	       "icrc_ns %.1f\n",
	       kernel->name, len_bytes, median(ns), median(memcpy_ratio),
	       median(isal_ratio), median(icrc_ns));
	fflush(stdout);
}

static void measure_all(size_t len_bytes)
{
	for (unsigned int i = 0; i < ROOST_NB_KERNELS; i++)
		if (roost_kernels[i]->usable())
			measure(roost_kernels[i], len_bytes);
}

int main(int argc, char **argv)
{
	static const size_t lens[] = { 64, 256, 1024, 4096 };

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 131 + 7);
	for (int i = 1; i < argc; i++) {
		size_t len_bytes = strtoul(argv[i], NULL, 0);

		if (len_bytes < 1 || len_bytes > LEN_MAX - 64) {
			fprintf(stderr, "kernels: BYTES: 1 to %u\n",
				LEN_MAX - 64);
			return EXIT_FAILURE;
		}
		measure_all(len_bytes);
	}
	for (size_t i = 0; argc == 1 && i < sizeof(lens) / sizeof(lens[0]); i++)
		measure_all(lens[i]);
	return EXIT_SUCCESS;
}
