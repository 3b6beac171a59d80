/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_PLACE_H
#define ROOST_ENGINE_CORE_PLACE_H

/*
 * Accesses of memory that the program has unmapped, or may have. A page of a
 * region is dead if Roost was told before (unmap.h); whatever is there now, it
 * is not touched. A region is suspect if an access has faulted: each access is
 * a system call, which raises no signal, so a peer cannot make the process
 * handle one for each packet. Both until the region is registered again; never
 * in on-demand regions. roost_mr_access() and roost_mr_remote() return NULL,
 * and the caller looks here.
 *
 * For lib/engine only. Thread: the holder of a turn. Slow.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roost_dev;
struct roost_mr;
struct roost_pd;
struct roost_worker;

/* The longest part that is read at once: the payload of a packet. */
#define ROOST_PLACE_MAX_BYTES 4096u

/* Memory of a region with such pages. */
struct roost_place {
	struct roost_mr *mr;
	uint8_t *host;
};

/* An access faulted that key allowed: count it, and suspect the region. As with
 * pinned memory, the packet is as good as any. A window of that key is locked
 * as the access needs it.
 */
void roost_place_faulted(struct roost_dev *dev, uint32_t key, bool written);

/* As roost_mr_access(). Returns false: it is no such region, or may not be
 * accessed so.
 */
bool roost_place_find(struct roost_dev *dev, const struct roost_pd *pd,
		      uint32_t key, uint64_t va, uint64_t len_bytes,
		      uint32_t access, struct roost_place *place);
/* As roost_mr_remote(), until roost_mr_remote_done(). */
bool roost_place_remote(struct roost_worker *w, const struct roost_pd *pd,
			uint32_t qpn, uint32_t key, uint64_t va,
			uint64_t len_bytes, uint32_t access,
			struct roost_place *place);

/* A copy of the memory, with zeros for what is gone; up to
 * ROOST_PLACE_MAX_BYTES. It is this thread's until its next call.
 */
const uint8_t *roost_place_get(const struct roost_place *place,
			       size_t len_bytes);
/* Copy into the memory what is not gone, the last word last. */
void roost_place_put(const struct roost_place *place, const uint8_t *from,
		     size_t len_bytes);
/* Is a word to be changed there, by an access as to any memory? */
bool roost_place_has_word(const struct roost_place *place);

#endif
