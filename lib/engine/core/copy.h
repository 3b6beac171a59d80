/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_COPY_H
#define ROOST_ENGINE_CORE_COPY_H

/*
 * Copy into memory that a program polls.
 *
 * Stores go up in address order, and the last bytes are stored last: a program
 * that sees the last byte of a WRITE sees all the others. memcpy gives no such
 * promise, and does store a tail before the rest. Programs also poll a flag of
 * two, four or eight bytes there, so the last word, as wide as the alignment of
 * its address allows, is one store and never seen in half.
 *
 * The compiler is kept from merging or moving the stores; the processor is
 * kept from it by TSO on x86, and elsewhere by the release of the last one.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/wire/kernel.h"

#define ROOST_COPY_CHUNK 16u
/* From this length on, a function call to use the widest stores of the
 * processor pays.
 */
#define ROOST_COPY_LONG 256u

struct roost_copy_chunk {
	uint64_t v __attribute__((vector_size(ROOST_COPY_CHUNK)));
};

static inline void roost_copy_chunk(uint8_t *to, const uint8_t *from)
{
	struct roost_copy_chunk chunk;

	memcpy(&chunk.v, from, sizeof(chunk.v));
	memcpy(to, &chunk.v, sizeof(chunk.v));
	__asm__ volatile("" ::: "memory");
}

/* Copy less than a chunk. Where two stores overlap, they store the same bytes.
 */
static inline void roost_copy_few(uint8_t *to, const uint8_t *from,
				  size_t len_bytes)
{
	uint64_t low8, high8;
	uint32_t low4, high4;

	if (len_bytes >= sizeof(low8)) {
		memcpy(&low8, from, sizeof(low8));
		memcpy(&high8, from + len_bytes - sizeof(low8), sizeof(low8));
		memcpy(to, &low8, sizeof(low8));
		memcpy(to + len_bytes - sizeof(low8), &high8, sizeof(low8));
	} else if (len_bytes >= sizeof(low4)) {
		memcpy(&low4, from, sizeof(low4));
		memcpy(&high4, from + len_bytes - sizeof(low4), sizeof(low4));
		memcpy(to, &low4, sizeof(low4));
		memcpy(to + len_bytes - sizeof(low4), &high4, sizeof(low4));
	} else if (len_bytes > 0) {
		to[0] = from[0];
		to[len_bytes / 2] = from[len_bytes / 2];
		to[len_bytes - 1] = from[len_bytes - 1];
	}
}

static inline void roost_copy_chunks(uint8_t *to, const uint8_t *from,
				     size_t len_bytes)
{
	size_t at = 0;

	if (len_bytes < ROOST_COPY_CHUNK) {
		roost_copy_few(to, from, len_bytes);
		return;
	}
	for (; at + ROOST_COPY_CHUNK <= len_bytes; at += ROOST_COPY_CHUNK)
		roost_copy_chunk(to + at, from + at);
	if (at < len_bytes)
		roost_copy_chunk(to + len_bytes - ROOST_COPY_CHUNK,
				 from + len_bytes - ROOST_COPY_CHUNK);
}

/* All but the last word. */
static inline void roost_copy_body(uint8_t *to, const uint8_t *from,
				   size_t len_bytes)
{
	size_t head = -(uintptr_t)to % ROOST_KERNEL_BLOCK, blocks;

	if (len_bytes >= ROOST_COPY_LONG) {
		blocks = (len_bytes - head) / ROOST_KERNEL_BLOCK;
		roost_copy_chunks(to, from, head);
		roost_kernel->copy_up(to + head, from + head, blocks);
		head += blocks * ROOST_KERNEL_BLOCK;
		to += head;
		from += head;
		len_bytes -= head;
	}
	roost_copy_chunks(to, from, len_bytes);
}

/* How long the last word is: 8, 4, 2 or 1. */
static inline size_t roost_copy_last_bytes(const uint8_t *end, size_t len_bytes)
{
	uintptr_t at = (uintptr_t)end | sizeof(uint64_t);
	size_t word = at & -at;

	while (word > len_bytes)
		word /= 2;
	return word;
}

#define ROOST_COPY_LAST(type, to, from)                                        \
	do {                                                                   \
		type word_;                                                    \
                                                                               \
		memcpy(&word_, from, sizeof(word_));                           \
		__atomic_store_n((type *)(to), word_, __ATOMIC_RELEASE);       \
	} while (0)

static inline void roost_copy_ascending(uint8_t *to, const uint8_t *from,
					size_t len_bytes)
{
	size_t last, at;

	if (len_bytes == 0)
		return;
	last = roost_copy_last_bytes(to + len_bytes, len_bytes);
	at = len_bytes - last;
	roost_copy_body(to, from, at);
	if (last == sizeof(uint64_t))
		ROOST_COPY_LAST(uint64_t, to + at, from + at);
	else if (last == sizeof(uint32_t))
		ROOST_COPY_LAST(uint32_t, to + at, from + at);
	else if (last == sizeof(uint16_t))
		ROOST_COPY_LAST(uint16_t, to + at, from + at);
	else
		ROOST_COPY_LAST(uint8_t, to + at, from + at);
}

#endif
