/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_UNMAP_H
#define ROOST_ENGINE_CORE_UNMAP_H

/*
 * Memory that the program unmaps. What is mapped there later is none of the
 * regions that were registered before. So the library that `roost run` preloads
 * (lib/preload/unmap.c) tells of each range that a call is about to unmap. Its
 * pages are dead in all regions but on-demand ones, until these are registered
 * again (place.h): reads give zeros, writes are discarded.
 *
 * For lib/engine only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roost_mr;

/* From add to remove, the region learns what is unmapped. Meanwhile its address
 * and length do not change. The caller holds no turn: remove waits for threads
 * that wait for turns. Thread: any.
 */
void roost_unmap_add(struct roost_mr *mr);
void roost_unmap_remove(struct roost_mr *mr);
/* Forget which pages are dead. No worker finds the region, and it is not added.
 */
void roost_unmap_forget(struct roost_mr *mr);

/* Is any page of this part dead? Thread: the holder of a turn. */
bool roost_unmap_has_dead(const struct roost_mr *mr, const uint8_t *host,
			  size_t len_bytes);

/*
 * [begin, begin + len_bytes), whole pages, is about to be unmapped: the pages
 * are dead in every region, and no worker that began before still accesses
 * them. It waits for workers, a second at most: the thread may hold a turn, if
 * this is a signal handler, or a lock of the program's allocator that a worker
 * needs. Thread: any. No allocation. errno stays.
 */
void roost_unmap_note(uintptr_t begin, size_t len_bytes);
/* The call failed, and nothing was unmapped: what it had made dead is as
 * before, unless more has died in that region meanwhile. Thread: any. No
 * allocation. errno stays.
 */
void roost_unmap_undo(uintptr_t begin, size_t len_bytes);

#endif
