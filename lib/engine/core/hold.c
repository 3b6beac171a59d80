/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot while packets are lost. */

#include "lib/engine/core/hold.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/engine/core/pacer.h"
#include "lib/engine/core/share.h"
#include "lib/engine/core/trouble.h"

#define STEP_BYTES (64u << 10)

struct roost_pile_step {
	struct roost_pile_step *older; /* NULL: none */
	uint8_t objects[] __attribute__((aligned(64)));
};

static bool grow(struct roost_pile *pile)
{
	struct roost_pile_step *step =
		mmap(NULL, STEP_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (step == MAP_FAILED)
		return false;
	step->older = pile->steps;
	pile->steps = step;
	return true;
}

static void *get(struct roost_pile *pile, size_t bytes, uint32_t max)
{
	const size_t in_step =
		(STEP_BYTES - sizeof(struct roost_pile_step)) / bytes;
	void *object = pile->free;
	size_t index;

	if (object) {
		memcpy(&pile->free, object, sizeof(pile->free));
		return object;
	}
	index = pile->nb_used % in_step;
	if (pile->nb_used == max || (index == 0 && !grow(pile)))
		return NULL;
	pile->nb_used++;
	return pile->steps->objects + bytes * index;
}

static void *get_zeroed(struct roost_pile *pile, size_t bytes, uint32_t max)
{
	void *object = get(pile, bytes, max);

	if (object)
		memset(object, 0, bytes);
	return object;
}

static void put(struct roost_pile *pile, void *object)
{
	memcpy(object, &pile->free, sizeof(pile->free));
	pile->free = object;
}

static void fini(struct roost_pile *pile)
{
	struct roost_pile_step *step;

	while ((step = pile->steps) != NULL) {
		pile->steps = step->older;
		munmap(step, STEP_BYTES);
	}
	*pile = (struct roost_pile){ 0 };
}

void roost_store_fini(struct roost_store *store)
{
	fini(&store->held);
	fini(&store->shelves);
	fini(&store->scores);
	fini(&store->answers);
	fini(&store->shares);
	fini(&store->troubles);
	fini(&store->pacers);
}

struct roost_held *roost_held_get(struct roost_store *store)
{
	return get(&store->held, sizeof(struct roost_held), ROOST_HELD_MAX);
}

void roost_held_put(struct roost_store *store, struct roost_held *held)
{
	put(&store->held, held);
}

struct roost_shelf *roost_shelf_get(struct roost_store *store)
{
	return get_zeroed(&store->shelves, sizeof(struct roost_shelf),
			  ROOST_SHELVES_MAX);
}

void roost_shelf_put(struct roost_store *store, struct roost_shelf *shelf)
{
	put(&store->shelves, shelf);
}

/* again_psn needs no zeros: its bit in again says what is valid. */
struct roost_score *roost_score_get(struct roost_store *store)
{
	struct roost_score *score =
		get(&store->scores, sizeof(*score), ROOST_SCORES_MAX);

	if (score)
		memset(score, 0, offsetof(struct roost_score, again_psn));
	return score;
}

void roost_score_put(struct roost_store *store, struct roost_score *score)
{
	put(&store->scores, score);
}

struct roost_answers *roost_answers_get(struct roost_store *store)
{
	struct roost_answers *answers =
		get(&store->answers, sizeof(*answers), ROOST_ANSWERS_MAX);

	if (!answers)
		return NULL;
	memset(&answers->score, 0, offsetof(struct roost_score, again_psn));
	memset(answers->held, 0, sizeof(answers->held));
	return answers;
}

void roost_answers_put(struct roost_store *store, struct roost_answers *answers)
{
	put(&store->answers, answers);
}

struct roost_share *roost_share_get(struct roost_store *store)
{
	return get_zeroed(&store->shares, sizeof(struct roost_share),
			  ROOST_SHARES_MAX);
}

void roost_share_put(struct roost_store *store, struct roost_share *share)
{
	put(&store->shares, share);
}

struct roost_trouble *roost_trouble_get(struct roost_store *store)
{
	return get_zeroed(&store->troubles, sizeof(struct roost_trouble),
			  ROOST_TROUBLES_MAX);
}

void roost_trouble_put(struct roost_store *store, struct roost_trouble *trouble)
{
	put(&store->troubles, trouble);
}

struct roost_pacer *roost_pacer_get(struct roost_store *store)
{
	return get_zeroed(&store->pacers, sizeof(struct roost_pacer),
			  ROOST_PACERS_MAX);
}

void roost_pacer_put(struct roost_store *store, struct roost_pacer *pacer)
{
	put(&store->pacers, pacer);
}
