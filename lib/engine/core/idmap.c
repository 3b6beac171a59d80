/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/core/idmap.h"

#define NONE UINT32_MAX
#define PAGE_SLOTS (1u << ROOST_IDMAP_PAGE_SHIFT)
#define FREE_MIN (PAGE_SLOTS / 2)
/* Other numbers before one is given again: 50,000 QPs a second come and go in
 * 2.6 s, and timewait is 2.1 s. An eighth more, because it begins with less.
 */
#define OTHERS_MIN (9u << 14)
/* Slots for each that was deleted, until there are enough: who deletes none
 * needs few.
 */
#define FREE_GROWTH 16u

/* splitmix64: expands the seed into round keys. */
static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint32_t nb_pages(const struct roost_idmap *map)
{
	return 1u << (map->index_bits - ROOST_IDMAP_PAGE_SHIFT);
}

int roost_idmap_init(struct roost_idmap *map, unsigned int bits,
		     unsigned int index_bits, const uint64_t seed[2],
		     bool (*reserved)(uint32_t id))
{
	uint64_t a = seed[0], b = seed[1];

	*map = (struct roost_idmap){
		.half_bits = bits / 2,
		.index_bits = index_bits,
		.reserved = reserved,
		.lock = ROOST_SPIN_INIT,
		.first_free = NONE,
		.last_free = NONE,
	};
	for (int i = 0; i < ROOST_IDMAP_ROUNDS; i++)
		map->round_key[i] = splitmix(&a) ^ splitmix(&b);
	map->pages = calloc(nb_pages(map), sizeof(map->pages[0]));
	map->memo = calloc(ROOST_IDMAP_MEMO_LEN, sizeof(map->memo[0]));
	if (!map->pages || !map->memo) {
		free(map->pages);
		free(map->memo);
		map->pages = NULL;
		return -ENOMEM;
	}
	/* An entry that no number finds: 0 is not known yet either. */
	atomic_init(&map->memo[0], 1);
	return 0;
}

void roost_idmap_fini(struct roost_idmap *map)
{
	if (!map->pages)
		return;
	for (uint32_t i = 0; i < nb_pages(map); i++)
		free(atomic_load(&map->pages[i]));
	free(map->pages);
	free(map->memo);
	map->pages = NULL;
}

void roost_idmap_set_prefix(struct roost_idmap *map, unsigned int prefix_bits,
			    uint32_t prefix)
{
	map->prefix_bits = prefix_bits;
	map->prefix = prefix_bits == 0
			      ? 0
			      : prefix << (2 * map->half_bits - prefix_bits);
}

void roost_idmap_set_source(struct roost_idmap *map,
			    const struct roost_idmap_source *source)
{
	map->source = *source;
}

/* Round function of the Feistel network: half_bits bits out of 64 mixed. */
static uint32_t round_mix(const struct roost_idmap *map, uint32_t half, int i)
{
	uint64_t x = (half ^ map->round_key[i]) * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
	return (uint32_t)(x >> (64 - map->half_bits));
}

uint32_t roost_idmap_permute(const struct roost_idmap *map, uint32_t value)
{
	uint32_t mask = (1u << map->half_bits) - 1;
	uint32_t left = value >> map->half_bits, right = value & mask;

	for (int i = 0; i < ROOST_IDMAP_ROUNDS; i++) {
		uint32_t next = left ^ round_mix(map, right, i);

		left = right;
		right = next;
	}
	return left << map->half_bits | right;
}

uint32_t roost_idmap_invert(const struct roost_idmap *map, uint32_t id)
{
	uint32_t mask = (1u << map->half_bits) - 1;
	uint32_t left = id >> map->half_bits & mask, right = id & mask;

	for (int i = ROOST_IDMAP_ROUNDS - 1; i >= 0; i--) {
		uint32_t previous = right ^ round_mix(map, left, i);

		right = left;
		left = previous;
	}
	return left << map->half_bits | right;
}

static struct roost_idmap_slot *slot_at(struct roost_idmap *map, uint32_t index)
{
	return &atomic_load_explicit(
		&map->pages[index >> ROOST_IDMAP_PAGE_SHIFT],
		memory_order_relaxed)[index & (PAGE_SLOTS - 1)];
}

static void free_push(struct roost_idmap *map, uint32_t index)
{
	slot_at(map, index)->next_free = NONE;
	if (map->last_free == NONE)
		map->first_free = index;
	else
		slot_at(map, map->last_free)->next_free = index;
	map->last_free = index;
}

static uint32_t free_pop(struct roost_idmap *map)
{
	uint32_t index = map->first_free;

	map->first_free = slot_at(map, index)->next_free;
	if (map->first_free == NONE)
		map->last_free = NONE;
	return index;
}

/* Under the lock. */
static int add_slots(struct roost_idmap *map, uint32_t first, uint32_t nb)
{
	const uint32_t last = first + nb - 1;

	if (nb == 0 || last < first || last >> map->index_bits != 0)
		return -EINVAL;
	for (uint32_t i = first >> ROOST_IDMAP_PAGE_SHIFT;
	     i <= last >> ROOST_IDMAP_PAGE_SHIFT; i++) {
		struct roost_idmap_slot *page = atomic_load(&map->pages[i]);

		if (!page)
			page = calloc(PAGE_SLOTS, sizeof(*page));
		if (!page)
			return -ENOMEM;
		atomic_store_explicit(&map->pages[i], page,
				      memory_order_release);
	}
	map->nb_slots += nb;
	for (uint32_t i = first; i <= last; i++)
		free_push(map, i);
	return 0;
}

static uint32_t nb_generations(const struct roost_idmap *map)
{
	return 1u << (2 * map->half_bits - map->index_bits - map->prefix_bits);
}

/* A source's slots are few, and others want them. */
static uint32_t free_min(const struct roost_idmap *map)
{
	const uint32_t least = OTHERS_MIN / nb_generations(map);
	const uint32_t grown = FREE_MIN + FREE_GROWTH * map->nb_deleted;

	if (map->source.lease || least <= FREE_MIN)
		return FREE_MIN;
	return least < grown ? least : grown;
}

/* With few free slots, the same slots, and soon their numbers, would be reused
 * too early. Under the lock, which is released during a lease.
 */
static int refill(struct roost_idmap *map)
{
	const struct roost_idmap_source *source = &map->source;
	uint32_t first, nb;
	int ret;

	if (map->nb_slots - map->nb_used - map->nb_void >= free_min(map))
		return 0;
	if (!source->lease)
		return map->nb_slots >> map->index_bits != 0
			       ? -ENOSPC
			       : add_slots(map, map->nb_slots, PAGE_SLOTS);
	/* A source that has no more is asked again when it has to be. */
	if (map->dry && map->first_free != NONE)
		return 0;
	roost_spin_unlock(&map->lock);
	ret = source->lease(source->ctx, &first, &nb);
	roost_spin_lock(&map->lock);
	if (!ret)
		ret = add_slots(map, first, nb);
	map->dry = ret != 0;
	return ret;
}

/* Give the slot its next number. Returns false: each one is reserved. Under the
 * lock.
 */
static bool number_slot(struct roost_idmap *map, uint32_t index, uint32_t *id)
{
	const uint32_t generations = nb_generations(map);
	struct roost_idmap_slot *slot = slot_at(map, index);

	for (uint32_t i = 0; i < generations; i++) {
		slot->generation = (slot->generation + 1) & (generations - 1);
		*id = roost_idmap_permute(
			map, map->prefix | slot->generation << map->index_bits |
				     index);
		if (!map->reserved(*id))
			return true;
	}
	return false;
}

int roost_idmap_add(struct roost_idmap *map, void *object, uint32_t *id)
{
	struct roost_idmap_slot *slot;
	uint32_t index;
	int ret;

	roost_spin_lock(&map->lock);
	ret = refill(map);
	for (;;) {
		if (map->first_free == NONE) {
			ret = ret ? ret : -ENOSPC;
			break;
		}
		index = free_pop(map);
		if (!number_slot(map, index, id)) {
			map->nb_void++;
			continue;
		}
		slot = slot_at(map, index);
		atomic_store_explicit(&slot->id, *id, memory_order_relaxed);
		map->nb_used++;
		atomic_store_explicit(&slot->object, object,
				      memory_order_release);
		ret = 0;
		break;
	}
	roost_spin_unlock(&map->lock);
	return ret;
}

static uint32_t index_of(const struct roost_idmap *map, uint32_t id)
{
	return roost_idmap_invert(map, id) & ((1u << map->index_bits) - 1);
}

void roost_idmap_set(struct roost_idmap *map, uint32_t id, void *object)
{
	atomic_store_explicit(&slot_at(map, index_of(map, id))->object, object,
			      memory_order_release);
}

void roost_idmap_del(struct roost_idmap *map, uint32_t id)
{
	uint32_t index = index_of(map, id);

	roost_spin_lock(&map->lock);
	atomic_store_explicit(&slot_at(map, index)->object, NULL,
			      memory_order_release);
	map->nb_used--;
	if (map->nb_deleted < OTHERS_MIN)
		map->nb_deleted++;
	free_push(map, index);
	roost_spin_unlock(&map->lock);
}
