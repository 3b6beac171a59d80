/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_COPY_H
#define ROOST_ENGINE_COPY_H

/*
 * Copy into memory that a program polls.
 *
 * Stores go up in order, the last bytes last: a program that sees the last
 * byte of a WRITE sees all the others. memcpy gives no such promise, and does
 * store a tail before the rest. The compiler is kept from merging or moving
 * the stores; the processor is kept from it by TSO on x86, and elsewhere by
 * a release barrier before the end.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROOST_COPY_CHUNK 16u

struct roost_copy_chunk {
	uint64_t v __attribute__((vector_size(ROOST_COPY_CHUNK)));
};

static inline void roost_copy_ascending(uint8_t *to, const uint8_t *from,
					size_t len_bytes)
{
	struct roost_copy_chunk chunk;

	while (len_bytes > ROOST_COPY_CHUNK) {
		memcpy(&chunk.v, from, sizeof(chunk.v));
		memcpy(to, &chunk.v, sizeof(chunk.v));
		__asm__ volatile("" ::: "memory");
		to += ROOST_COPY_CHUNK;
		from += ROOST_COPY_CHUNK;
		len_bytes -= ROOST_COPY_CHUNK;
	}
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (; len_bytes > 0; len_bytes--) {
		*(volatile uint8_t *)to = *from;
		to++;
		from++;
	}
}

#endif
