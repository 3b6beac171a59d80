/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_FOLD_CHUNKS_H
#define ROOST_WIRE_FOLD_CHUNKS_H

/*
 * Packets and pieces of payload, for the kernels that fold chunk by chunk
 * because they have no masked loads; fold_many() is what each does its way.
 */

#include "lib/wire/fold.h"

/* From this number of chunks on, fold_many() is faster. */
#define FEW 8u

/* ---- less than a chunk ------------------------------------------------- */

FOLD_FN uint64_t fold_copy8(uint8_t *dst, const uint8_t *src, uint32_t *fault)
{
	uint64_t v = roost_guard_load8(src, fault);

	memcpy(dst, &v, sizeof(v));
	return v;
}

FOLD_FN uint32_t fold_copy4(uint8_t *dst, const uint8_t *src, uint32_t *fault)
{
	uint32_t v = roost_guard_load4(src, fault);

	memcpy(dst, &v, sizeof(v));
	return v;
}

/* Copy len_bytes < 16. Returns them, with zeros behind. Where two loads
 * overlap, the one that counts is the one that is stored last.
 */
FOLD_FN __m128i fold_copy_bytes(uint8_t *dst, const uint8_t *src,
				size_t len_bytes, uint32_t *fault)
{
	uint64_t low = 0, high = 0;

	if (len_bytes >= 8) {
		high = fold_copy8(dst + len_bytes - 8, src + len_bytes - 8,
				  fault);
		low = fold_copy8(dst, src, fault);
		/* In two steps: a shift by 64 is none. */
		high = high >> 1 >> (127 - 8 * len_bytes);
	} else if (len_bytes >= 4) {
		low = fold_copy4(dst + len_bytes - 4, src + len_bytes - 4,
				 fault);
		low = low >> (64 - 8 * len_bytes) << 32;
		low |= fold_copy4(dst, src, fault);
	} else {
		for (size_t i = 0; i < len_bytes; i++) {
			uint8_t byte = roost_guard_load1(src + i, fault);

			dst[i] = byte;
			low |= (uint64_t)byte << (8 * i);
		}
	}
	return _mm_set_epi64x((long long)high, (long long)low);
}

FOLD_FN uint32_t fold_copy_short(uint32_t reg, uint8_t *dst, const uint8_t *src,
				 size_t len_bytes, uint32_t *fault)
{
	__m128i start = _mm_set_epi64x(0, reg);
	__m128i v = _mm_xor_si128(fold_copy_bytes(dst, src, len_bytes, fault),
				  start);
	uint32_t rest = 0;

	if (len_bytes == 0)
		return reg;
	if (len_bytes < sizeof(reg))
		rest = reg >> (8 * len_bytes);
	return rest ^ fold_reduce(fold_shift_up(v, FOLD_CHUNK - len_bytes));
}

/* ---- packets ----------------------------------------------------------- */

FOLD_FN __m128i fold_masked(const struct roost_icrc_mask *mask,
			    const uint8_t *l3, size_t at)
{
	const __m128i clear = fold_load(mask->clear + FOLD_CHUNK + at);
	const __m128i flip = fold_load(mask->flip + FOLD_CHUNK + at);

	return _mm_xor_si128(_mm_andnot_si128(clear, fold_load(l3 + at)), flip);
}

/* The first nb chunks of a packet. The first of them has the first 1 to 16
 * bytes, so that the packet ends where a chunk ends.
 */
struct fold_headers {
	size_t first_bytes;
	size_t nb;
};

FOLD_FN struct fold_headers fold_headers(const struct roost_icrc_mask *mask,
					 size_t len_bytes)
{
	size_t first_bytes = (len_bytes - 1) % FOLD_CHUNK + 1;

	return (struct fold_headers){
		.first_bytes = first_bytes,
		.nb = 1 + (mask->hdr_len_bytes - first_bytes + FOLD_CHUNK - 1) /
				  FOLD_CHUNK,
	};
}

/* Move all header chunks to the chunk that stands `away` chunks behind the last
 * of them.
 */
FOLD_FN __m128i fold_move_headers(const struct roost_icrc_mask *mask,
				  const uint8_t *l3, struct fold_headers h,
				  size_t away)
{
	size_t at = h.first_bytes;
	__m128i v = fold_shift_up(fold_masked(mask, l3, 0), FOLD_CHUNK - at);
	__m128i sum = fold_move(v, fold_constant(away + h.nb - 1));

	for (size_t i = h.nb - 1; i-- > 0; at += FOLD_CHUNK) {
		v = fold_masked(mask, l3, at);
		sum = _mm_xor_si128(
			sum, away + i == 0
				     ? v
				     : fold_move(v, fold_constant(away + i)));
	}
	return sum;
}

/* Each kernel's own function: nb chunks, one or more, moved into the last, and
 * copied if dst is not NULL. carry goes into the first.
 */
FOLD_FN __m128i fold_many(__m128i carry, uint8_t *dst, const uint8_t *src,
			  size_t nb, uint32_t *fault);

__attribute__((target(FOLD_TARGET))) static uint32_t
fold_icrc(const struct roost_icrc_mask *mask, const uint8_t *l3,
	  size_t len_bytes)
{
	struct fold_headers h = fold_headers(mask, len_bytes);
	size_t at = h.first_bytes + (h.nb - 1) * FOLD_CHUNK;
	size_t rest = (len_bytes - at) / FOLD_CHUNK;
	uint32_t none = 0;
	__m128i sum;

	if (rest >= FEW) {
		sum = fold_move_headers(mask, l3, h, 1);
		sum = fold_many(sum, NULL, l3 + at, rest, &none);
	} else {
		sum = fold_move_headers(mask, l3, h, rest);
		sum = _mm_xor_si128(sum,
				    fold_few(NULL, l3 + at, 0, rest, &none));
	}
	return ~fold_reduce(sum);
}

FOLD_FN uint32_t fold_and_copy(uint32_t crc, uint8_t *dst, const uint8_t *src,
			       size_t len_bytes, uint32_t *fault)
{
	__m128i start = _mm_cvtsi32_si128((int)~crc), v, carry;
	size_t first_bytes = len_bytes % FOLD_CHUNK;

	if (len_bytes < FOLD_CHUNK)
		return ~fold_copy_short(~crc, dst, src, len_bytes, fault);
	/* The rest of the register behind the first bytes goes into the next
	 * chunk.
	 */
	carry = fold_shift_down(start, first_bytes);
	if (first_bytes > 0) {
		v = fold_take(dst, src, 0, fault);
		v = fold_shift_up(_mm_xor_si128(v, start),
				  FOLD_CHUNK - first_bytes);
		carry = _mm_xor_si128(carry, fold_move(v, fold_constant(1)));
	}
	return ~fold_reduce(fold_many(carry, dst + first_bytes,
				      src + first_bytes, len_bytes / FOLD_CHUNK,
				      fault));
}

/* In a register: what is stored at dst could be *fault. */
__attribute__((target(FOLD_TARGET))) static uint32_t
fold_crc_copy(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t len_bytes,
	      uint32_t *fault)
{
	uint32_t any = 0;

	crc = fold_and_copy(crc, dst, src, len_bytes, &any);
	*fault |= any;
	return crc;
}

#endif
