/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/engine/core/arena.h"

#define LINE_BYTES 64u
/* A huge page; chunks begin at multiples of it. */
#define CHUNK_BYTES (2u << 20)
/* When so much of a chunk was used once, it becomes a huge page. */
#define HUGE_FROM_BYTES (CHUNK_BYTES / 2)

/* Of Linux 6.1, which Debian 12's headers of the C library do not have. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* AddressSanitizer tells of uses of what was freed, if each piece is its own
 * allocation.
 */
#if defined(__SANITIZE_ADDRESS__)
#define PIECES_APART true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PIECES_APART true
#endif
#endif
#ifndef PIECES_APART
#define PIECES_APART false
#endif

/* In the first line of the chunk. */
struct roost_arena_chunk {
	LIST_ENTRY(roost_arena_chunk) link; /* while it has room */
	void *freed;        /* pieces, each of which begins with the next */
	uint32_t new_bytes; /* the offset of pieces that were never used */
	uint32_t nb_used;
	bool is_huge;
};

static size_t lines_of(size_t bytes)
{
	return (bytes + LINE_BYTES - 1) / LINE_BYTES | 1;
}

static bool is_apart(const struct roost_arena *arena, size_t lines)
{
	return PIECES_APART || !arena || lines > ROOST_ARENA_LINES_MAX;
}

static bool has_room(const struct roost_arena_chunk *chunk, size_t lines)
{
	return chunk->freed ||
	       chunk->new_bytes + lines * LINE_BYTES <= CHUNK_BYTES;
}

void roost_arena_init(struct roost_arena *arena)
{
	pthread_mutex_init(&arena->lock, NULL);
	for (unsigned int i = 0; i < ROOST_ARENA_SIZES; i++) {
		LIST_INIT(&arena->sizes[i].roomy);
		arena->sizes[i].spare = NULL;
		arena->sizes[i].nb_chunks = 0;
	}
}

void roost_arena_fini(struct roost_arena *arena)
{
	struct roost_arena_chunk *chunk;

	for (unsigned int i = 0; i < ROOST_ARENA_SIZES; i++)
		if ((chunk = arena->sizes[i].spare) != NULL)
			munmap(chunk, CHUNK_BYTES);
	pthread_mutex_destroy(&arena->lock);
}

/* Without huge pages, all is as it was. */
static void make_huge(struct roost_arena_chunk *chunk)
{
	madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE);
	madvise(chunk, CHUNK_BYTES, MADV_COLLAPSE);
	chunk->is_huge = true;
}

static struct roost_arena_chunk *map_chunk(struct roost_arena *arena,
					   unsigned int size)
{
	const bool is_huge = arena->sizes[size].nb_chunks > 0;
	struct roost_arena_chunk *chunk;
	uint8_t *begin, *at;
	size_t before;

	begin = mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (begin == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)begin % CHUNK_BYTES;
	at = begin + before;
	if (before > 0)
		munmap(begin, before);
	munmap(at + CHUNK_BYTES, CHUNK_BYTES - before);
	chunk = (struct roost_arena_chunk *)(void *)at;
	/* Before its first page is there. */
	if (is_huge)
		madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE);
	*chunk = (struct roost_arena_chunk){
		.new_bytes = LINE_BYTES,
		.is_huge = is_huge,
	};
	arena->sizes[size].nb_chunks++;
	LIST_INSERT_HEAD(&arena->sizes[size].roomy, chunk, link);
	return chunk;
}

static struct roost_arena_chunk *use_spare(struct roost_arena *arena,
					   unsigned int size)
{
	struct roost_arena_chunk *chunk = arena->sizes[size].spare;

	if (chunk)
		LIST_INSERT_HEAD(&arena->sizes[size].roomy, chunk, link);
	arena->sizes[size].spare = NULL;
	return chunk;
}

static void *take_piece(struct roost_arena_chunk *chunk, size_t lines)
{
	uint8_t *piece = chunk->freed;

	if (piece) {
		chunk->freed = *(void **)(void *)piece;
	} else {
		piece = (uint8_t *)chunk + chunk->new_bytes;
		chunk->new_bytes += (uint32_t)(lines * LINE_BYTES);
		if (!chunk->is_huge && chunk->new_bytes >= HUGE_FROM_BYTES)
			make_huge(chunk);
	}
	chunk->nb_used++;
	return piece;
}

void *roost_arena_alloc(struct roost_arena *arena, size_t bytes)
{
	const size_t lines = lines_of(bytes);
	const unsigned int size = (unsigned int)(lines / 2);
	struct roost_arena_chunk *chunk;
	void *piece = NULL;

	if (is_apart(arena, lines))
		return aligned_alloc(LINE_BYTES, lines * LINE_BYTES);
	pthread_mutex_lock(&arena->lock);
	chunk = LIST_FIRST(&arena->sizes[size].roomy);
	if (!chunk)
		chunk = use_spare(arena, size);
	if (!chunk)
		chunk = map_chunk(arena, size);
	if (chunk) {
		piece = take_piece(chunk, lines);
		if (!has_room(chunk, lines))
			LIST_REMOVE(chunk, link);
	}
	pthread_mutex_unlock(&arena->lock);
	return piece;
}

/* One of each size stays. */
static void keep_or_unmap(struct roost_arena *arena, unsigned int size,
			  struct roost_arena_chunk *chunk)
{
	LIST_REMOVE(chunk, link);
	if (!arena->sizes[size].spare) {
		arena->sizes[size].spare = chunk;
		return;
	}
	arena->sizes[size].nb_chunks--;
	munmap(chunk, CHUNK_BYTES);
}

void roost_arena_free(struct roost_arena *arena, void *piece, size_t bytes)
{
	const size_t lines = lines_of(bytes);
	const unsigned int size = (unsigned int)(lines / 2);
	struct roost_arena_chunk *chunk;

	if (is_apart(arena, lines) || !piece) {
		free(piece);
		return;
	}
	chunk = (void *)((uintptr_t)piece & ~(uintptr_t)(CHUNK_BYTES - 1));
	pthread_mutex_lock(&arena->lock);
	if (!has_room(chunk, lines))
		LIST_INSERT_HEAD(&arena->sizes[size].roomy, chunk, link);
	*(void **)piece = chunk->freed;
	chunk->freed = piece;
	if (--chunk->nb_used == 0)
		keep_or_unmap(arena, size, chunk);
	pthread_mutex_unlock(&arena->lock);
}
