/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per packet in each direction. No allocation, system
 * call, log or lock.
 *
 * The kernel of processors with 128-bit carry-less multiplication (x86 since
 * 2010): four chunks at a time.
 */

#include "lib/wire/kernel.h"

#define FOLD_TARGET "pclmul,ssse3,sse4.1"
#define FOLD_MOVDQU "movdqu"
#include "lib/wire/fold_chunks.h"

#define WIDE 4u

FOLD_FN __m128i fold_many(__m128i carry, uint8_t *dst, const uint8_t *src,
			  size_t nb, uint32_t *fault)
{
	const __m128i k = fold_constant(WIDE);
	__m128i a, b, c, d;
	size_t i;

	if (nb < 2 * WIDE) {
		if (nb > 1)
			carry = fold_move(carry, fold_constant(nb - 1));
		return _mm_xor_si128(carry, fold_few(dst, src, 0, nb, fault));
	}
	a = _mm_xor_si128(carry, fold_take(dst, src, 0, fault));
	b = fold_take(dst, src, 1, fault);
	c = fold_take(dst, src, 2, fault);
	d = fold_take(dst, src, 3, fault);
	for (i = WIDE; i + WIDE <= nb; i += WIDE) {
		a = _mm_xor_si128(fold_move(a, k),
				  fold_take(dst, src, i, fault));
		b = _mm_xor_si128(fold_move(b, k),
				  fold_take(dst, src, i + 1, fault));
		c = _mm_xor_si128(fold_move(c, k),
				  fold_take(dst, src, i + 2, fault));
		d = _mm_xor_si128(fold_move(d, k),
				  fold_take(dst, src, i + 3, fault));
	}
	a = _mm_xor_si128(fold_move(a, fold_constant(nb - i + 3)),
			  fold_move(b, fold_constant(nb - i + 2)));
	c = _mm_xor_si128(fold_move(c, fold_constant(nb - i + 1)),
			  fold_move(d, fold_constant(nb - i)));
	return _mm_xor_si128(_mm_xor_si128(a, c),
			     fold_few(dst, src, i, nb, fault));
}

static bool usable(void)
{
	return __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("sse4.1");
}

__attribute__((target(FOLD_TARGET))) static void
copy_up(uint8_t *dst, const uint8_t *src, size_t nb_blocks, uint32_t *fault)
{
	uint32_t any = 0;

	for (size_t i = 0; i < nb_blocks * ROOST_KERNEL_BLOCK;
	     i += FOLD_CHUNK) {
		roost_guard_v16 v = (roost_guard_v16)fold_load(src + i);

		roost_guard_store16(dst + i, v, &any);
	}
	*fault |= any;
}

const struct roost_kernel roost_kernel_pclmul = {
	.name = "pclmul",
	.usable = usable,
	.icrc = fold_icrc,
	.crc_copy = fold_crc_copy,
	.copy_up = copy_up,
};
