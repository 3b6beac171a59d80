/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_ARENA_H
#define ROOST_ENGINE_CORE_ARENA_H

/*
 * Memory of the queue pairs of a device and of their queues: pieces of one size
 * close to each other, and in huge pages where there are many. Of thousands of
 * QPs a message meets several that are in no cache, and with small pages each
 * of their lines costs a walk of the page tables, too.
 *
 * Chunks of 2 MiB have pieces of one size each. The first chunk of a size is in
 * small pages until half of it is used, so a program with few QPs has no
 * more memory than it needs; it becomes a huge page then, if the kernel has one
 * (transparent huge pages), and further chunks are from the beginning. A chunk
 * of which nothing is used goes back to the kernel, but for one of each size:
 * pieces that come and go where a chunk is full do not map it each time.
 *
 * Thread: any.
 */

#include <pthread.h>
#include <stddef.h>
#include <sys/queue.h>

/* Larger pieces are the C library's. In cache lines; always an odd number of
 * them, so that the same line of many pieces is not always in the same set of
 * a cache.
 */
#define ROOST_ARENA_LINES_MAX 257u
#define ROOST_ARENA_SIZES (ROOST_ARENA_LINES_MAX / 2 + 1)

struct roost_arena_chunk;

struct roost_arena {
	pthread_mutex_t lock;
	/* Under lock. */
	struct {
		/* Chunks with room of which something is used. */
		LIST_HEAD(, roost_arena_chunk) roomy;
		struct roost_arena_chunk *spare; /* nothing is; or NULL */
		unsigned int nb_chunks;
	} sizes[ROOST_ARENA_SIZES];
};

void roost_arena_init(struct roost_arena *arena);
/* All pieces were freed. */
void roost_arena_fini(struct roost_arena *arena);

/* bytes, at the begin of a cache line, with any contents. arena NULL: of the C
 * library. Returns NULL: no memory. Owns: to be freed with the same arena and
 * number of bytes.
 */
void *roost_arena_alloc(struct roost_arena *arena, size_t bytes);
/* piece may be NULL. */
void roost_arena_free(struct roost_arena *arena, void *piece, size_t bytes);

#endif
