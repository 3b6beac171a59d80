/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/engine/core/copy.h"
#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/place.h"
#include "lib/engine/core/unmap.h"
#include "lib/engine/core/worker_base.h"

static void count(struct roost_dev *dev, bool written)
{
	atomic_fetch_add_explicit(written ? &dev->gone_writes
					  : &dev->gone_reads,
				  1, memory_order_relaxed);
}

void roost_place_faulted(struct roost_dev *dev, uint32_t key, bool written)
{
	struct roost_mr *mr = roost_mr_find(dev, key);

	if (!mr)
		mr = roost_mw_region(dev, key);
	if (mr && !(roost_mr_rights(mr) & ROOST_ACCESS_ON_DEMAND))
		atomic_fetch_or_explicit(&mr->access, ROOST_ACCESS_SUSPECT,
					 memory_order_relaxed);
	count(dev, written);
}

bool roost_place_find(struct roost_dev *dev, const struct roost_pd *pd,
		      uint32_t key, uint64_t va, uint64_t len_bytes,
		      uint32_t access, struct roost_place *place)
{
	struct roost_mr *mr = roost_mr_find(dev, key);
	uint32_t rights = mr ? roost_mr_rights(mr) : 0;

	if (!(rights & ROOST_ACCESS_BAD) ||
	    !roost_mr_allows(mr, rights, pd, va, len_bytes, access))
		return false;
	*place = (struct roost_place){ mr, roost_mr_at(mr, va) };
	return true;
}

static struct roost_dev *dev_of(const struct roost_place *place)
{
	return place->mr->pd->ctx->dev;
}

const uint8_t *roost_place_get(const struct roost_place *place,
			       size_t len_bytes)
{
	static _Thread_local uint8_t copy[ROOST_PLACE_MAX_BYTES];
	bool gone = false;
	size_t n;

	for (size_t at = 0; at < len_bytes; at += n) {
		const uint8_t *from = place->host + at;

		n = roost_guard_part(from, len_bytes - at);
		if (roost_unmap_has_dead(place->mr, from, n)) {
			memset(copy + at, 0, n);
			gone = true;
		} else if (roost_guard_get(copy + at, from, n)) {
			gone = true;
		}
	}
	if (gone)
		count(dev_of(place), false);
	return copy;
}

/* The bytes at from + at, which are in this place at at. Returns whether any
 * memory is gone.
 */
static bool put(const struct roost_place *place, size_t at, const uint8_t *from,
		size_t len_bytes)
{
	size_t end = at + len_bytes, n;
	bool gone = false;

	for (; at < end; at += n) {
		uint8_t *to = place->host + at;

		n = roost_guard_part(to, end - at);
		if (roost_unmap_has_dead(place->mr, to, n) ||
		    roost_guard_put(to, from + at, n))
			gone = true;
	}
	return gone;
}

void roost_place_put(const struct roost_place *place, const uint8_t *from,
		     size_t len_bytes)
{
	size_t last = roost_copy_last_bytes(place->host + len_bytes, len_bytes);
	size_t body = len_bytes - last;
	bool body_gone = put(place, 0, from, body);
	bool last_gone = put(place, body, from, last);

	if (body_gone || last_gone)
		count(dev_of(place), true);
}

bool roost_place_has_word(const struct roost_place *place)
{
	uint64_t word;

	if (!roost_unmap_has_dead(place->mr, place->host, sizeof(word)) &&
	    !roost_guard_get(&word, place->host, sizeof(word)))
		return true;
	count(dev_of(place), true);
	return false;
}
