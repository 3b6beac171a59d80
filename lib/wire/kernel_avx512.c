/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per packet in each direction. No allocation, system
 * call, log or lock.
 *
 * The kernel of processors with 512-bit carry-less multiplication (Ice Lake
 * and Zen 4 servers and later): sixteen chunks at a time, four to a register,
 * which is a block of 64 bytes. Masked loads read any length, and vpexpandb
 * puts the zeros in front.
 */

#include "lib/wire/kernel.h"

#define FOLD_TARGET                                                            \
	"avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,pclmul,vpclmulqdq"
#define FOLD_MOVDQU "vmovdqu"
#include "lib/wire/fold.h"

#define BLOCK 64u
#define CHUNKS (BLOCK / FOLD_CHUNK)
#define FEW (FOLD_MAX / CHUNKS) /* blocks that can be moved at once */

/* Block i of src, as fold_take(). */
FOLD_FN __m512i take(uint8_t *dst, const uint8_t *src, size_t i,
		     uint32_t *fault)
{
	const __m512i_u *from = (const __m512i_u *)(src + i * BLOCK);
	__m512i v;

	if (!dst)
		return _mm512_loadu_si512(from);
	__asm__ volatile(ROOST_GUARDED("vmovdqu64 %[m], %[v]")
			 : [v] "=v"(v), [fault] "+r"(*fault)
			 : [m] "m"(*from));
	_mm512_storeu_si512(dst + i * BLOCK, v);
	return v;
}

/* The bytes of an application's block at src that are in the mask, with zeros
 * between. No other byte is touched.
 */
FOLD_FN __m512i load_bytes(const uint8_t *src, __mmask64 bytes, uint32_t *fault)
{
	__m512i v;

	__asm__ volatile(ROOST_GUARDED("vmovdqu8 %[m], %[v]%{%[k]%}%{z%}")
			 : [v] "=v"(v), [fault] "+r"(*fault)
			 : [m] "m"(*(const __m512i_u *)src), [k] "Yk"(bytes));
	return v;
}

FOLD_FN __mmask64 low_bytes(size_t nb_bytes)
{
	return UINT64_MAX >> (BLOCK - nb_bytes);
}

/* The first bytes of a block, behind zeros. */
FOLD_FN __m512i to_end(__m512i v, size_t nb_bytes)
{
	return _mm512_maskz_expand_epi8(UINT64_MAX << (BLOCK - nb_bytes), v);
}

/* v moved, and exclusive-ored into sum. */
FOLD_FN __m512i move(__m512i sum, __m512i v, __m512i k)
{
	return _mm512_ternarylogic_epi64(sum,
					 _mm512_clmulepi64_epi128(v, k, 0x00),
					 _mm512_clmulepi64_epi128(v, k, 0x11),
					 0x96);
}

/* Move each chunk of a block to the last chunk of the block that is `blocks`
 * blocks behind.
 */
FOLD_FN __m512i move_to_end(__m512i sum, __m512i v, size_t blocks)
{
	const uint64_t *k = fold_by[FOLD_MAX - CHUNKS * (blocks + 1)];

	return move(sum, v, _mm512_loadu_si512(k));
}

/* The last chunk, in four parts; the register behind it. */
FOLD_FN uint32_t join_and_reduce(__m512i v)
{
	__m256i half = _mm256_xor_si256(_mm512_castsi512_si256(v),
					_mm512_extracti64x4_epi64(v, 1));

	return fold_reduce(_mm_xor_si128(_mm256_castsi256_si128(half),
					 _mm256_extracti128_si256(half, 1)));
}

/* A block, second, and nb more, any number, moved into the last chunk. */
FOLD_FN uint32_t fold_blocks(__m512i first, __m512i second, uint8_t *dst,
			     const uint8_t *src, size_t nb, uint32_t *fault)
{
	const __m512i k = _mm512_broadcast_i32x4(fold_constant(4 * CHUNKS));
	__m512i sum = _mm512_setzero_si512(), a, b, c, d;
	size_t i = 0;

	if (nb + 2 <= FEW) {
		sum = move_to_end(sum, first, nb + 1);
		sum = move_to_end(sum, second, nb);
		for (; i < nb; i++)
			sum = move_to_end(sum, take(dst, src, i, fault),
					  nb - 1 - i);
		return join_and_reduce(sum);
	}
	a = first;
	b = second;
	c = take(dst, src, 0, fault);
	d = take(dst, src, 1, fault);
	for (i = 2; i + 4 <= nb; i += 4) {
		a = move(take(dst, src, i, fault), a, k);
		b = move(take(dst, src, i + 1, fault), b, k);
		c = move(take(dst, src, i + 2, fault), c, k);
		d = move(take(dst, src, i + 3, fault), d, k);
	}
	sum = move_to_end(sum, a, nb - i + 3);
	sum = move_to_end(sum, b, nb - i + 2);
	sum = move_to_end(sum, c, nb - i + 1);
	sum = move_to_end(sum, d, nb - i);
	for (; i < nb; i++)
		sum = move_to_end(sum, take(dst, src, i, fault), nb - 1 - i);
	return join_and_reduce(sum);
}

static bool usable(void)
{
	return __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vbmi2") &&
	       __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

FOLD_FN __m512i masked(const struct roost_icrc_mask *mask, const uint8_t *l3,
		       size_t at, __mmask64 bytes)
{
	const uint8_t *clear = mask->clear + FOLD_CHUNK + at;
	const uint8_t *flip = mask->flip + FOLD_CHUNK + at;
	__m512i v =
		_mm512_andnot_si512(_mm512_loadu_si512(clear),
				    _mm512_maskz_loadu_epi8(bytes, l3 + at));

	return _mm512_xor_si512(v, _mm512_loadu_si512(flip));
}

__attribute__((target(FOLD_TARGET))) static uint32_t
icrc(const struct roost_icrc_mask *mask, const uint8_t *l3, size_t len_bytes)
{
	size_t at = (len_bytes - 1) % BLOCK + 1;
	uint32_t none = 0;
	__m512i first = to_end(masked(mask, l3, 0, low_bytes(at)), at);

	if (at == len_bytes)
		return ~join_and_reduce(
			move_to_end(_mm512_setzero_si512(), first, 0));
	return ~fold_blocks(first, masked(mask, l3, at, UINT64_MAX), NULL,
			    l3 + at + BLOCK, (len_bytes - at) / BLOCK - 1,
			    &none);
}

FOLD_FN uint32_t fold_and_copy(uint32_t crc, uint8_t *dst, const uint8_t *src,
			       size_t len_bytes, uint32_t *fault)
{
	const __m512i start =
		_mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc));
	size_t at = (len_bytes - 1) % BLOCK + 1;
	__m512i first, second;
	/* The rest of the register behind the first bytes goes into the next
	 * block.
	 */
	uint32_t rest = at < sizeof(crc) ? ~crc >> (8 * at) : 0;

	if (len_bytes == 0)
		return crc;
	first = load_bytes(src, low_bytes(at), fault);
	_mm512_mask_storeu_epi8(dst, low_bytes(at), first);
	first = to_end(_mm512_xor_si512(first, start), at);
	if (at == len_bytes)
		return ~(rest ^
			 join_and_reduce(move_to_end(_mm512_setzero_si512(),
						     first, 0)));
	second = _mm512_xor_si512(take(dst + at, src + at, 0, fault),
				  _mm512_zextsi128_si512(
					  _mm_cvtsi32_si128((int)rest)));
	at += BLOCK;
	return ~fold_blocks(first, second, dst + at, src + at,
			    (len_bytes - at) / BLOCK, fault);
}

/* In a register: what is stored at dst could be *fault. */
__attribute__((target(FOLD_TARGET))) static uint32_t
crc_copy(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t len_bytes,
	 uint32_t *fault)
{
	uint32_t any = 0;

	crc = fold_and_copy(crc, dst, src, len_bytes, &any);
	*fault |= any;
	return crc;
}

__attribute__((target(FOLD_TARGET))) static void
copy_up(uint8_t *dst, const uint8_t *src, size_t nb_blocks, uint32_t *fault)
{
	uint32_t any = 0;

	for (size_t i = 0; i < nb_blocks * BLOCK; i += BLOCK) {
		__m512i v = _mm512_loadu_si512(src + i);

		__asm__ volatile(
			ROOST_GUARDED("vmovdqa64 %[v], %[m]")
			: [m] "=m"(*(__m512i *)(dst + i)), [fault] "+r"(any)
			: [v] "v"(v)
			: "memory");
	}
	*fault |= any;
}

const struct roost_kernel roost_kernel_avx512 = {
	.name = "avx512",
	.usable = usable,
	.icrc = icrc,
	.crc_copy = crc_copy,
	.copy_up = copy_up,
};
