/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_FOLD_H
#define ROOST_WIRE_FOLD_H

/*
 * CRC-32 by carry-less multiplication, for the kernels of x86 only; each of
 * them defines FOLD_TARGET, the instruction sets to compile it for, before, and
 * FOLD_MOVDQU, their instruction that moves a chunk.
 *
 * A message is a polynomial modulo that of the CRC. A chunk of 16 bytes that
 * stands d bytes before the last one of the message can be moved there: its
 * two halves are multiplied by constants, which are x^(8d + 32) and
 * x^(8d - 32) modulo the polynomial, and what comes out is exclusive-ored into
 * the last chunk. All chunks of a short message move at once, independent of
 * each other; the last chunk is then reduced to 32 bits. (V. Gopal et al.,
 * "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009.)
 *
 * A length that is no multiple of 16 costs zeros in front of the message: a
 * register of 0 stays 0 over them.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <immintrin.h>

#include "lib/wire/guard.h"

#define FOLD_FN                                                                \
	__attribute__((target(FOLD_TARGET), always_inline)) static inline
#define FOLD_CHUNK 16u
/* Maximum of chunks that are moved at once. */
#define FOLD_MAX 32u

/* fold_by[FOLD_MAX - 1 - i] moves a chunk by i chunks. Bits are reversed and
 * shifted by one, as the reflected CRC wants them.
 */
static const uint64_t fold_by[FOLD_MAX][2] __attribute__((aligned(64))) = {
	{ 0x0398e2ff2, 0x1cf247394 }, { 0x119adc226, 0x145972f08 },
	{ 0x144c76d92, 0x1b631f204 }, { 0x0ad0d2bb2, 0x0cd669a40 },
	{ 0x13484efdc, 0x0f9d9c7ee }, { 0x04b700aa8, 0x0eea395c4 },
	{ 0x150fc8004, 0x04470ac44 }, { 0x1f79525b0, 0x0d31343ea },
	{ 0x07eaed122, 0x09b9bdbd0 }, { 0x11e6a95a2, 0x12af2c15a },
	{ 0x1ad568056, 0x1c712203a }, { 0x00e9bd5cc, 0x115b87256 },
	{ 0x032b0733c, 0x0ff6f2fc2 }, { 0x1f7228078, 0x1aaa44c18 },
	{ 0x0a749e894, 0x16269a506 }, { 0x11542778a, 0x1322d1430 },
	{ 0x1db06f64c, 0x1c47d2a9c }, { 0x19159bb02, 0x125f17dfc },
	{ 0x1b35adb0e, 0x1e7146aac }, { 0x1821d8bc0, 0x12e958ac4 },
	{ 0x1816ab61c, 0x10aae2566 }, { 0x0e3543be0, 0x14b57d3f0 },
	{ 0x1fdc60a7c, 0x03f41287a }, { 0x1e88ef372, 0x14a7fe880 },
	{ 0x1ea89367e, 0x1d7cfc6ac }, { 0x0df068dc2, 0x18cb44e58 },
	{ 0x1c7569e54, 0x0ae0b5394 }, { 0x154442bd4, 0x1c6e41596 },
	{ 0x03db1ecdc, 0x174359406 }, { 0x0f1da05aa, 0x15a546366 },
	{ 0x1751997d0, 0x0ccaa009e }, { 0x1db710640, 0x0b66b1fa6 },
};

/* The constant that reduces 64 bits to 32, and Barrett's constants, from the
 * same paper.
 */
#define FOLD_64 0x163cd6124
#define FOLD_POLY 0x1db710641
#define FOLD_MU 0x1f7011641

static const uint8_t fold_slide[3 * FOLD_CHUNK] = {
	[0 ... FOLD_CHUNK - 1] = 0x80,
	0,
	1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
	[2 * FOLD_CHUNK... 3 * FOLD_CHUNK - 1] = 0x80,
};

FOLD_FN __m128i fold_load(const void *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

FOLD_FN void fold_store(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)p, v);
}

FOLD_FN __m128i fold_constant(size_t chunks)
{
	return fold_load(fold_by[FOLD_MAX - 1 - chunks]);
}

FOLD_FN __m128i fold_move(__m128i v, __m128i k)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(v, k, 0x00),
			     _mm_clmulepi64_si128(v, k, 0x11));
}

/* Shift towards the end of the chunk by 0..16 bytes, or towards its beginning.
 */
FOLD_FN __m128i fold_shift_up(__m128i v, size_t bytes)
{
	return _mm_shuffle_epi8(v, fold_load(fold_slide + FOLD_CHUNK - bytes));
}

FOLD_FN __m128i fold_shift_down(__m128i v, size_t bytes)
{
	return _mm_shuffle_epi8(v, fold_load(fold_slide + FOLD_CHUNK + bytes));
}

/* The register behind the last chunk. */
FOLD_FN uint32_t fold_reduce(__m128i v)
{
	const __m128i low32 = _mm_set_epi64x(0, 0xffffffff);
	const __m128i barrett = _mm_set_epi64x(FOLD_MU, FOLD_POLY);
	__m128i t;

	v = _mm_xor_si128(_mm_srli_si128(v, 8),
			  _mm_clmulepi64_si128(v, fold_constant(1), 0x10));
	v = _mm_xor_si128(_mm_srli_si128(v, 4),
			  _mm_clmulepi64_si128(_mm_and_si128(v, low32),
					       _mm_set_epi64x(0, FOLD_64),
					       0x00));
	t = _mm_clmulepi64_si128(_mm_and_si128(v, low32), barrett, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), barrett, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(v, t), 1);
}

/* A load of an application's memory (lib/wire/guard.h). */
FOLD_FN __m128i fold_load_guarded(const uint8_t *src, uint32_t *fault)
{
	__m128i v;

	__asm__ volatile(ROOST_GUARDED(FOLD_MOVDQU " %[m], %[v]")
			 : [v] "=x"(v), [fault] "+r"(*fault)
			 : [m] "m"(*(const roost_guard_v16 *)src));
	return v;
}

/* Chunk i of src, which is copied, and an application's, where dst is not NULL.
 */
FOLD_FN __m128i fold_take(uint8_t *dst, const uint8_t *src, size_t i,
			  uint32_t *fault)
{
	__m128i v;

	if (!dst)
		return fold_load(src + i * FOLD_CHUNK);
	v = fold_load_guarded(src + i * FOLD_CHUNK, fault);
	fold_store(dst + i * FOLD_CHUNK, v);
	return v;
}

/* Chunks i to nb - 1, none to FOLD_MAX of them, moved into the last. */
FOLD_FN __m128i fold_few(uint8_t *dst, const uint8_t *src, size_t i, size_t nb,
			 uint32_t *fault)
{
	__m128i sum = _mm_setzero_si128();

	if (i == nb)
		return sum;
	for (; i + 1 < nb; i++)
		sum = _mm_xor_si128(sum,
				    fold_move(fold_take(dst, src, i, fault),
					      fold_constant(nb - 1 - i)));
	return _mm_xor_si128(sum, fold_take(dst, src, i, fault));
}

#endif
