/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file. The words are numbers and publish nothing else: relaxed will do.
 */
#include "apps/roostd/switch/step.h"

#define WAITS 1u

static uint64_t heard(const struct roost_step *step, uint32_t lane)
{
	return atomic_load_explicit(&step->all->lanes[lane].word,
				    memory_order_relaxed);
}

static void say(struct roost_step *step)
{
	const uint64_t word = step->round << 1 | (step->waits ? WAITS : 0);

	if (heard(step, step->number) != word)
		atomic_store_explicit(&step->all->lanes[step->number].word,
				      word, memory_order_relaxed);
}

void roost_step_join(struct roost_steps *all, struct roost_step *step)
{
	step->all = all;
	step->number = all->nb++;
	step->round = 1;
	say(step);
}

void roost_step_begin(struct roost_step *step)
{
	if (step->waits)
		return;
	for (uint32_t i = 0; i < step->all->nb; i++) {
		const uint64_t round = heard(step, i) >> 1;

		if (round > step->round)
			step->round = round;
	}
}

void roost_step_end(struct roost_step *step, bool waits)
{
	step->waits = waits || step->is_held;
	step->is_held = false;
	say(step);
}

/* A lane is behind: has it stood still for too long? */
static bool is_patient(struct roost_step *step, uint32_t lane, uint64_t word,
		       uint64_t now_ns)
{
	if (step->seen[lane].word != word) {
		step->seen[lane].word = word;
		step->seen[lane].since_ns = now_ns;
	}
	return now_ns < step->seen[lane].since_ns + ROOST_STEP_PATIENCE_NS;
}

/* Who stood still does not catch up: it would have the port alone meanwhile. */
bool roost_step_next(struct roost_step *step, uint64_t now_ns)
{
	uint64_t next = step->round + 1;

	for (uint32_t i = 0; i < step->all->nb; i++) {
		const uint64_t word = heard(step, i);
		const uint64_t round = word >> 1;

		if (i == step->number || !(word & WAITS))
			continue;
		if (round > next + ROOST_STEP_AHEAD)
			next = round - ROOST_STEP_AHEAD;
		else if (round + ROOST_STEP_AHEAD < next &&
			 is_patient(step, i, word, now_ns))
			step->is_held = true;
	}
	if (step->is_held)
		return false;
	step->round = next;
	say(step);
	return true;
}
