/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file. The words are numbers and publish nothing else: relaxed will do.
 */
#include "apps/roostd/switch/step.h"

/* A word: whether the port refuses, the number of the pass, the round. */
#define REFUSED 1u
#define PASS_SHIFT 1u
#define PASS_MASK 0x7fffu
#define ROUND_SHIFT 16u

static uint64_t heard(const struct roost_step *step, uint32_t lane)
{
	return atomic_load_explicit(&step->all->lanes[lane].word,
				    memory_order_relaxed);
}

static void say(struct roost_step *step)
{
	const uint64_t word = step->round << ROUND_SHIFT |
			      (uint64_t)(step->pass & PASS_MASK) << PASS_SHIFT |
			      (step->is_refused ? REFUSED : 0);

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
	if (step->has_more)
		return;
	for (uint32_t i = 0; i < step->all->nb; i++) {
		const uint64_t round = heard(step, i) >> ROUND_SHIFT;

		if (round > step->round)
			step->round = round;
	}
}

bool roost_step_end(struct roost_step *step, bool is_refused, bool has_more)
{
	const bool was_held = step->is_held;

	step->is_refused = is_refused;
	step->has_more = has_more;
	step->is_held = false;
	step->pass += is_refused;
	say(step);
	return was_held;
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

/* Who stood still does not catch up with all: it would have the port alone
 * meanwhile.
 */
bool roost_step_next(struct roost_step *step, uint64_t now_ns)
{
	uint64_t next = step->round + 1;

	for (uint32_t i = 0; i < step->all->nb; i++) {
		const uint64_t word = heard(step, i);
		const uint64_t round = word >> ROUND_SHIFT;

		if (i == step->number || !(word & REFUSED))
			continue;
		if (round > next + ROOST_STEP_BEHIND)
			next = round - ROOST_STEP_BEHIND;
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
