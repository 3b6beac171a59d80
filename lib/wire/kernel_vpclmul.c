/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per packet in each direction. No allocation, system
 * call, log or lock.
 *
 * The kernel of processors with 256-bit carry-less multiplication (Ice Lake,
 * Alder Lake, Zen 3 and later): eight chunks at a time, two to a register.
 */

#include "lib/wire/kernel.h"

#define FOLD_TARGET "avx2,pclmul,vpclmulqdq"
#define FOLD_MOVDQU "vmovdqu"
#include "lib/wire/fold_chunks.h"

#define PAIR (2 * FOLD_CHUNK)
#define WIDE 8u /* chunks in the four accumulators */

/* Chunks i and i + 1 of src, as fold_take(). */
FOLD_FN __m256i take_pair(uint8_t *dst, const uint8_t *src, size_t i,
			  uint32_t *fault)
{
	const __m256i_u *from = (const __m256i_u *)(src + i * FOLD_CHUNK);
	__m256i v;

	if (!dst)
		return _mm256_loadu_si256(from);
	__asm__ volatile(ROOST_GUARDED("vmovdqu %[m], %[v]")
			 : [v] "=x"(v), [fault] "+r"(*fault)
			 : [m] "m"(*from));
	_mm256_storeu_si256((__m256i *)(dst + i * FOLD_CHUNK), v);
	return v;
}

FOLD_FN __m256i move_pair(__m256i v, __m256i k)
{
	return _mm256_xor_si256(_mm256_clmulepi64_epi128(v, k, 0x00),
				_mm256_clmulepi64_epi128(v, k, 0x11));
}

/* Move the first chunk of a pair by `chunks` chunks, and the second by one
 * less.
 */
FOLD_FN __m256i move_to_end(__m256i v, size_t chunks)
{
	const uint64_t *k = fold_by[FOLD_MAX - 1 - chunks];

	return move_pair(v, _mm256_loadu_si256((const __m256i *)k));
}

/* Both of a pair, each in its place. */
FOLD_FN __m128i join_pair(__m256i v)
{
	return _mm_xor_si128(_mm256_castsi256_si128(v),
			     _mm256_extracti128_si256(v, 1));
}

/* As fold_few(). */
FOLD_FN __m128i few_pairs(__m256i sum, uint8_t *dst, const uint8_t *src,
			  size_t i, size_t nb, uint32_t *fault)
{
	__m128i last = _mm_setzero_si128();

	for (; i + 2 <= nb; i += 2)
		sum = _mm256_xor_si256(sum, move_to_end(take_pair(dst, src, i,
								  fault),
							nb - 1 - i));
	if (i < nb)
		last = fold_take(dst, src, i, fault);
	return _mm_xor_si128(join_pair(sum), last);
}

FOLD_FN __m128i fold_many(__m128i carry, uint8_t *dst, const uint8_t *src,
			  size_t nb, uint32_t *fault)
{
	const __m256i k = _mm256_broadcastsi128_si256(fold_constant(WIDE));
	__m256i first = _mm256_zextsi128_si256(carry), a, b, c, d;
	size_t i;

	if (nb < 2 * WIDE) {
		if (nb > 1)
			carry = fold_move(carry, fold_constant(nb - 1));
		first = _mm256_zextsi128_si256(carry);
		return few_pairs(first, dst, src, 0, nb, fault);
	}
	a = _mm256_xor_si256(first, take_pair(dst, src, 0, fault));
	b = take_pair(dst, src, 2, fault);
	c = take_pair(dst, src, 4, fault);
	d = take_pair(dst, src, 6, fault);
	for (i = WIDE; i + WIDE <= nb; i += WIDE) {
		a = _mm256_xor_si256(move_pair(a, k),
				     take_pair(dst, src, i, fault));
		b = _mm256_xor_si256(move_pair(b, k),
				     take_pair(dst, src, i + 2, fault));
		c = _mm256_xor_si256(move_pair(c, k),
				     take_pair(dst, src, i + 4, fault));
		d = _mm256_xor_si256(move_pair(d, k),
				     take_pair(dst, src, i + 6, fault));
	}
	a = _mm256_xor_si256(move_to_end(a, nb - i + 7),
			     move_to_end(b, nb - i + 5));
	c = _mm256_xor_si256(move_to_end(c, nb - i + 3),
			     move_to_end(d, nb - i + 1));
	return few_pairs(_mm256_xor_si256(a, c), dst, src, i, nb, fault);
}

static bool usable(void)
{
	return __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

__attribute__((target(FOLD_TARGET))) static void
copy_up(uint8_t *dst, const uint8_t *src, size_t nb_blocks, uint32_t *fault)
{
	uint32_t any = 0;

	for (size_t i = 0; i < nb_blocks * ROOST_KERNEL_BLOCK; i += PAIR) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(src + i));

		__asm__ volatile(
			ROOST_GUARDED("vmovdqa %[v], %[m]")
			: [m] "=m"(*(__m256i *)(dst + i)), [fault] "+r"(any)
			: [v] "x"(v)
			: "memory");
	}
	*fault |= any;
}

const struct roost_kernel roost_kernel_vpclmul = {
	.name = "vpclmul",
	.usable = usable,
	.icrc = fold_icrc,
	.crc_copy = fold_crc_copy,
	.copy_up = copy_up,
};
