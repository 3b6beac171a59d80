/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot while there are captures: copies of frames. No allocation, lock, log or
 * system call (the clock is the vDSO's).
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pmd_glue/dump/dump_priv.h"

#define NO_PLACE UINT64_MAX

struct roost_dump roost_dump_rings[ROOST_DUMPS_MAX];
_Atomic(struct roost_dump *) roost_dumps[ROOST_DUMPS_MAX];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct roost_dump_slot *slot_at(const struct roost_dump *d, uint64_t pos)
{
	return (void *)(d->base + ROOST_DUMP_HEAD_BYTES +
			(pos & (d->nb_slots - 1)) * d->slot_bytes);
}

/* Take a position. Returns NO_PLACE: the reader is too slow. Pairs with the
 * store of tail, after which the reader uses a slot no more.
 */
static uint64_t take(struct roost_dump *d)
{
	struct roost_dump_head *head = d->head;
	uint64_t pos = atomic_load_explicit(&head->head, memory_order_relaxed);

	do {
		if (pos - atomic_load_explicit(&d->tail,
					       memory_order_acquire) >=
		    d->nb_slots) {
			atomic_fetch_add_explicit(&head->lost, 1,
						  memory_order_relaxed);
			return NO_PLACE;
		}
	} while (!atomic_compare_exchange_weak_explicit(&head->head, &pos,
							pos + 1,
							memory_order_acq_rel,
							memory_order_relaxed));
	return pos;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint64_t record(struct roost_dump *d,
		       const struct roost_dump_frame *frame)
{
	const uint64_t pos = take(d);
	struct roost_dump_slot *slot;
	uint32_t rest;

	if (pos == NO_PLACE)
		return pos;
	slot = slot_at(d, pos);
	slot->time_ns = now_ns();
	slot->lost = atomic_load_explicit(&d->head->lost, memory_order_relaxed);
	slot->frame_bytes = frame->frame_bytes;
	slot->source = frame->source->places[frame->place];
	slot->way = (uint8_t)frame->way;
	slot->copied_bytes = min(frame->head_bytes, d->snaplen);
	memcpy(slot->bytes, frame->head, slot->copied_bytes);
	rest = min(frame->rest_bytes, d->snaplen - slot->copied_bytes);
	if (rest > 0 && slot->copied_bytes == frame->head_bytes) {
		memcpy(slot->bytes + slot->copied_bytes, frame->rest, rest);
		slot->copied_bytes += rest;
	}
	return pos;
}

static bool is_wanted(const struct roost_dump *d,
		      const struct roost_dump_frame *frame)
{
	return (d->all || strcmp(d->device, frame->source->device) == 0) &&
	       roost_dump_filter_takes(&d->filter, frame->head,
				       frame->head_bytes, frame->is_from,
				       frame->ctx);
}

void roost_dump_begin(const struct roost_dump_frame *frame,
		      struct roost_tap_mark *mark)
{
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++) {
		struct roost_dump *d =
			atomic_load_explicit(&roost_dumps[i],
					     memory_order_acquire);

		mark->place[i] =
			d && is_wanted(d, frame) ? record(d, frame) : NO_PLACE;
	}
}

static void publish(const struct roost_tap_mark *mark, const char *comment,
		    bool is_void)
{
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++) {
		const uint64_t pos = mark->place[i];
		struct roost_dump_slot *slot;

		/* A capture that ended meanwhile: its memory waits for us. */
		if (pos == NO_PLACE)
			continue;
		slot = slot_at(&roost_dump_rings[i], pos);
		slot->comment[0] = '\0';
		if (comment)
			snprintf(slot->comment, sizeof(slot->comment), "%s",
				 comment);
		if (is_void)
			slot->way = ROOST_DUMP_VOID;
		atomic_store_explicit(&slot->at, pos + 1, memory_order_release);
	}
}

void roost_dump_end(const struct roost_tap_mark *mark, const char *comment)
{
	publish(mark, comment, false);
}

void roost_dump_cancel(const struct roost_tap_mark *mark)
{
	publish(mark, NULL, true);
}
