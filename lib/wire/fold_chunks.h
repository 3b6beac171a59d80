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

/* A packet that is no longer than the mask, which all of its chunks can then
 * have. One step for each chunk and no loop: most packets are that short, and
 * what a loop and its arithmetic cost is more than a chunk does.
 */
FOLD_FN uint32_t fold_short(const struct roost_icrc_mask *mask,
			    const uint8_t *l3, size_t len_bytes)
{
	size_t at = (len_bytes - 1) % FOLD_CHUNK + 1;
	size_t left = (len_bytes - 1) / FOLD_CHUNK;
	const uint64_t(*by)[2] = &fold_by[FOLD_MAX - 1 - left];
	__m128i v = fold_shift_up(fold_masked(mask, l3, 0), FOLD_CHUNK - at);
	__m128i sum = _mm_setzero_si128();

#define STEP                                                                   \
	sum = _mm_xor_si128(sum, fold_move(v, fold_load(*by++)));              \
	v = fold_masked(mask, l3, at);                                         \
	at += FOLD_CHUNK

	switch (left) {
	case 7:
		STEP; /* fallthrough */
	case 6:
		STEP; /* fallthrough */
	case 5:
		STEP; /* fallthrough */
	case 4:
		STEP; /* fallthrough */
	case 3:
		STEP; /* fallthrough */
	case 2:
		STEP; /* fallthrough */
	default:
		STEP;
	}
#undef STEP
	return fold_reduce(_mm_xor_si128(sum, v));
}

__attribute__((target(FOLD_TARGET))) static uint32_t
fold_icrc(const struct roost_icrc_mask *mask, const uint8_t *l3,
	  size_t len_bytes)
{
	struct fold_headers h;
	uint32_t none = 0;
	__m128i sum;
	size_t at;

	if (len_bytes <= ROOST_KERNEL_MASK)
		return ~fold_short(mask, l3, len_bytes);
	h = fold_headers(mask, len_bytes);
	at = h.first_bytes + (h.nb - 1) * FOLD_CHUNK;
	sum = fold_move_headers(mask, l3, h, 1);
	return ~fold_reduce(fold_many(sum, NULL, l3 + at,
				      (len_bytes - at) / FOLD_CHUNK, &none));
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
