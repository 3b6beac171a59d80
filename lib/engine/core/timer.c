/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/engine/core/timer.h"

/* Cancelled timers that are dropped at a time. */
#define DROPS_MAX 8u

static uint32_t slot_of(uint64_t tick)
{
	return (uint32_t)(tick & (ROOST_TIMER_SLOTS - 1));
}

void roost_timer_wheel_init(struct roost_timer_wheel *wheel, uint64_t now_ns)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->tick = now_ns >> ROOST_TIMER_TICK_SHIFT;
	wheel->idle_until_tick = UINT64_MAX;
	for (uint32_t i = 0; i < ROOST_TIMER_SLOTS; i++)
		LIST_INIT(&wheel->slots[i]);
}

/* The tick in which a deadline has surely passed: rounded up. */
static uint64_t tick_of(uint64_t deadline_ns)
{
	uint64_t mask = (1u << ROOST_TIMER_TICK_SHIFT) - 1;

	return (deadline_ns >> ROOST_TIMER_TICK_SHIFT) +
	       ((deadline_ns & mask) != 0);
}

static void insert(struct roost_timer_wheel *wheel, struct roost_timer *timer)
{
	uint64_t tick = tick_of(timer->deadline_ns);
	uint32_t slot;

	if (tick < wheel->tick)
		tick = wheel->tick;
	if (tick - wheel->tick >= ROOST_TIMER_SLOTS)
		tick = wheel->tick + ROOST_TIMER_SLOTS - 1;
	slot = slot_of(tick);
	LIST_INSERT_HEAD(&wheel->slots[slot], timer, link);
	wheel->used[slot / 64] |= 1ull << slot % 64;
	wheel->count++;
	if (tick < wheel->idle_until_tick)
		wheel->idle_until_tick = tick;
	timer->slot_tick = tick & ROOST_TIMER_TICK_MASK;
	timer->in_wheel = true;
}

void roost_timer_remove(struct roost_timer_wheel *wheel,
			struct roost_timer *timer)
{
	uint32_t slot = slot_of(timer->slot_tick);

	if (!timer->in_wheel)
		return;
	LIST_REMOVE(timer, link);
	if (LIST_EMPTY(&wheel->slots[slot]))
		wheel->used[slot / 64] &= ~(1ull << slot % 64);
	wheel->count--;
	timer->in_wheel = false;
}

void roost_timer_set(struct roost_timer_wheel *wheel, struct roost_timer *timer,
		     uint64_t deadline_ns)
{
	timer->deadline_ns = deadline_ns;
	if (timer->in_wheel) {
		if (tick_of(deadline_ns) >= timer->slot_tick)
			return;
		roost_timer_remove(wheel, timer);
	}
	insert(wheel, timer);
}

void roost_timer_cancel(struct roost_timer *timer)
{
	timer->deadline_ns = UINT64_MAX;
}

/* First slot in use at or after the wheel's tick, as a tick. */
static uint64_t next_used_tick(const struct roost_timer_wheel *wheel)
{
	uint32_t start = slot_of(wheel->tick);
	uint32_t words = ROOST_TIMER_SLOTS / 64;

	for (uint32_t i = 0; i <= words; i++) {
		uint32_t word = (start / 64 + i) % words;
		uint64_t bits = wheel->used[word];

		if (i == 0)
			bits &= ~0ull << start % 64;
		else if (i == words)
			bits &= ~(~0ull << start % 64);
		if (bits != 0) {
			uint32_t slot =
				word * 64 + (uint32_t)__builtin_ctzll(bits);

			return wheel->tick +
			       ((slot - start) & (ROOST_TIMER_SLOTS - 1));
		}
	}
	return UINT64_MAX;
}

struct roost_timer *roost_timer_wheel_expired(struct roost_timer_wheel *wheel,
					      uint64_t now_ns,
					      unsigned int *left)
{
	uint64_t now_tick = now_ns >> ROOST_TIMER_TICK_SHIFT;

	while (wheel->idle_until_tick <= now_tick) {
		uint64_t tick = next_used_tick(wheel);
		struct roost_timer *timer;

		wheel->idle_until_tick = tick;
		if (tick > now_tick)
			break;
		wheel->tick = tick;
		if (*left == 0)
			return NULL;
		--*left;
		timer = LIST_FIRST(&wheel->slots[slot_of(tick)]);
		roost_timer_remove(wheel, timer);
		if (timer->deadline_ns <= now_ns)
			return timer;
		/* The timer was set to a later time, or is more than one round
		 * away. Its deadline is later than now, so it goes into a later
		 * slot.
		 */
		if (timer->deadline_ns != UINT64_MAX)
			insert(wheel, timer);
	}
	if (now_tick > wheel->tick)
		wheel->tick = now_tick;
	return NULL;
}

void roost_timer_wheel_drop_cancelled(struct roost_timer_wheel *wheel,
				      uint64_t until_ns)
{
	for (unsigned int i = 0; i < DROPS_MAX; i++) {
		struct roost_timer *timer;
		uint64_t tick;

		if (roost_timer_wheel_next_ns(wheel) >= until_ns)
			return;
		tick = next_used_tick(wheel);
		timer = LIST_FIRST(&wheel->slots[slot_of(tick)]);
		if (timer->deadline_ns != UINT64_MAX)
			return;
		roost_timer_remove(wheel, timer);
	}
}

uint64_t roost_timer_wheel_next_ns(const struct roost_timer_wheel *wheel)
{
	if (wheel->count == 0)
		return UINT64_MAX;
	return next_used_tick(wheel) << ROOST_TIMER_TICK_SHIFT;
}
