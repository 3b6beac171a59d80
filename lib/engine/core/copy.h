/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_COPY_H
#define ROOST_ENGINE_CORE_COPY_H

/*
 * Copy into an application's memory (lib/wire/guard.h), which a program polls.
 *
 * Stores go up in address order, and the last bytes are stored last: a program
 * that sees the last byte of a WRITE sees all the others. memcpy gives no such
 * promise, and does store a tail before the rest. Programs also poll a flag of
 * two, four or eight bytes there, so the last word, as wide as the alignment of
 * its address allows, is one store and never seen in half.
 *
 * The compiler is kept from merging or moving the stores; the processor is
 * kept from it by TSO on x86, and elsewhere by a fence before the last one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/wire/guard.h"
#include "lib/wire/kernel.h"

#define ROOST_COPY_CHUNK 16u
/* From this length on, a function call to use the widest stores of the
 * processor pays.
 */
#define ROOST_COPY_LONG 256u

static inline void roost_copy_chunk(uint8_t *to, const uint8_t *from,
				    uint32_t *fault)
{
	roost_guard_v16 chunk;

	memcpy(&chunk, from, sizeof(chunk));
	roost_guard_store16(to, chunk, fault);
}

/* Copy less than a chunk. Where two stores overlap, they store the same bytes.
 */
static inline void roost_copy_few(uint8_t *to, const uint8_t *from,
				  size_t len_bytes, uint32_t *fault)
{
	uint64_t low8, high8;
	uint32_t low4, high4;

	if (len_bytes >= sizeof(low8)) {
		memcpy(&low8, from, sizeof(low8));
		memcpy(&high8, from + len_bytes - sizeof(low8), sizeof(low8));
		roost_guard_store8(to, low8, fault);
		roost_guard_store8(to + len_bytes - sizeof(low8), high8, fault);
	} else if (len_bytes >= sizeof(low4)) {
		memcpy(&low4, from, sizeof(low4));
		memcpy(&high4, from + len_bytes - sizeof(low4), sizeof(low4));
		roost_guard_store4(to, low4, fault);
		roost_guard_store4(to + len_bytes - sizeof(low4), high4, fault);
	} else if (len_bytes > 0) {
		roost_guard_store1(to, from[0], fault);
		roost_guard_store1(to + len_bytes / 2, from[len_bytes / 2],
				   fault);
		roost_guard_store1(to + len_bytes - 1, from[len_bytes - 1],
				   fault);
	}
}

static inline void roost_copy_chunks(uint8_t *to, const uint8_t *from,
				     size_t len_bytes, uint32_t *fault)
{
	size_t at = 0;

	if (len_bytes < ROOST_COPY_CHUNK) {
		roost_copy_few(to, from, len_bytes, fault);
		return;
	}
	for (; at + ROOST_COPY_CHUNK <= len_bytes; at += ROOST_COPY_CHUNK)
		roost_copy_chunk(to + at, from + at, fault);
	if (at < len_bytes)
		roost_copy_chunk(to + len_bytes - ROOST_COPY_CHUNK,
				 from + len_bytes - ROOST_COPY_CHUNK, fault);
}

/* Up to any byte: all but the last word, or all. */
static inline void roost_copy_body(uint8_t *to, const uint8_t *from,
				   size_t len_bytes, uint32_t *fault)
{
	size_t head = -(uintptr_t)to % ROOST_KERNEL_BLOCK, blocks;
	uint32_t rest = 0;

	if (len_bytes >= ROOST_COPY_LONG) {
		blocks = (len_bytes - head) / ROOST_KERNEL_BLOCK;
		roost_copy_chunks(to, from, head, fault);
		roost_kernel->copy_up(to + head, from + head, blocks, &rest);
		*fault |= rest;
		head += blocks * ROOST_KERNEL_BLOCK;
		to += head;
		from += head;
		len_bytes -= head;
	}
	roost_copy_chunks(to, from, len_bytes, fault);
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

static inline void roost_copy_last(uint8_t *to, const uint8_t *from,
				   size_t len_bytes, uint32_t *fault)
{
	uint64_t word8;
	uint32_t word4;
	uint16_t word2;

	if (len_bytes == sizeof(word8)) {
		memcpy(&word8, from, sizeof(word8));
		roost_guard_store8(to, word8, fault);
	} else if (len_bytes == sizeof(word4)) {
		memcpy(&word4, from, sizeof(word4));
		roost_guard_store4(to, word4, fault);
	} else if (len_bytes == sizeof(word2)) {
		memcpy(&word2, from, sizeof(word2));
		roost_guard_store2(to, word2, fault);
	} else {
		roost_guard_store1(to, *from, fault);
	}
}

/* Copy in any order. Returns whether some of the memory is gone; what is there
 * has its bytes.
 */
static inline bool roost_copy(uint8_t *to, const uint8_t *from,
			      size_t len_bytes)
{
	uint32_t fault = 0;

	/* Small messages; the two chunks may overlap. */
	if (len_bytes >= ROOST_COPY_CHUNK &&
	    len_bytes <= 2 * ROOST_COPY_CHUNK) {
		roost_copy_chunk(to, from, &fault);
		roost_copy_chunk(to + len_bytes - ROOST_COPY_CHUNK,
				 from + len_bytes - ROOST_COPY_CHUNK, &fault);
	} else {
		roost_copy_body(to, from, len_bytes, &fault);
	}
	if (__builtin_expect(fault != 0, 0))
		roost_guard_put(to, from, len_bytes);
	return fault != 0;
}

/* Returns as roost_copy(). */
static inline bool roost_copy_ascending(uint8_t *to, const uint8_t *from,
					size_t len_bytes)
{
	uint32_t fault = 0;
	size_t last, at;

	if (len_bytes == 0)
		return false;
	last = roost_copy_last_bytes(to + len_bytes, len_bytes);
	at = len_bytes - last;
	roost_copy_body(to, from, at, &fault);
	/* The last word's release. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	roost_copy_last(to + at, from + at, last, &fault);
	if (__builtin_expect(fault != 0, 0))
		roost_guard_put(to, from, len_bytes);
	return fault != 0;
}

#endif
