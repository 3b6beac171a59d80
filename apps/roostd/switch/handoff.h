/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_HANDOFF_H
#define ROOST_APPS_ROOSTD_SWITCH_HANDOFF_H

/*
 * Copies of frames for the port, on their way from a lane to the first one,
 * which alone has the queues: a ring with one writer and one reader. It keeps
 * the order. Hot: no allocation, system call, log or lock.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A power of two. */
#define ROOST_HANDOFF_LEN 256u

struct roost_handoff_entry {
	void *kept;
	uint32_t client;
	uint32_t len_bytes;
};

/* Zeros: empty. */
struct roost_handoff {
	_Alignas(64) _Atomic uint32_t head; /* taken; writer: the first lane */
	_Alignas(64) _Atomic uint32_t tail; /* put; writer: its lane */
	_Alignas(64) struct roost_handoff_entry entries[ROOST_HANDOFF_LEN];
};

/* Thread: its lane's. */
static inline bool roost_handoff_has_room(const struct roost_handoff *h)
{
	/* Pairs with the release of roost_handoff_take(): the entry was read.
	 */
	return atomic_load_explicit(&h->tail, memory_order_relaxed) -
		       atomic_load_explicit(&h->head, memory_order_acquire) <
	       ROOST_HANDOFF_LEN;
}

/* There is room. Thread: its lane's. */
static inline void roost_handoff_put(struct roost_handoff *h,
				     struct roost_handoff_entry entry)
{
	const uint32_t tail =
		atomic_load_explicit(&h->tail, memory_order_relaxed);

	h->entries[tail % ROOST_HANDOFF_LEN] = entry;
	/* Pairs with the acquire of roost_handoff_is_empty(). */
	atomic_store_explicit(&h->tail, tail + 1, memory_order_release);
}

/* Thread: the first lane's, or its own lane's. */
static inline bool roost_handoff_is_empty(const struct roost_handoff *h)
{
	return atomic_load_explicit(&h->head, memory_order_relaxed) ==
	       atomic_load_explicit(&h->tail, memory_order_acquire);
}

/* It is not empty. Thread: the first lane's. */
static inline struct roost_handoff_entry
roost_handoff_take(struct roost_handoff *h)
{
	const uint32_t head =
		atomic_load_explicit(&h->head, memory_order_relaxed);
	const struct roost_handoff_entry entry =
		h->entries[head % ROOST_HANDOFF_LEN];

	atomic_store_explicit(&h->head, head + 1, memory_order_release);
	return entry;
}

#endif
