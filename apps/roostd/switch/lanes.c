/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file, but for add and free: no allocation, system call, log or lock.
 */
#include "apps/roostd/switch/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* free() frees it. NULL: no memory. */
static void *aligned_zeros(size_t align, size_t size)
{
	void *p = aligned_alloc(align, size);

	return p ? memset(p, 0, size) : NULL;
}

static struct roost_switch_lanes *lanes_of(struct roost_switch *first)
{
	struct roost_switch_lanes *lanes = first->lanes;

	if (lanes)
		return lanes;
	lanes = aligned_zeros(_Alignof(struct roost_switch_lanes),
			      sizeof(*lanes));
	if (!lanes)
		return NULL;
	pthread_mutex_init(&lanes->turn, NULL);
	atomic_store(&lanes->room, ROOST_FAIR_QUEUE_LEN);
	first->lanes = lanes;
	return lanes;
}

int roost_switch_add_lane(struct roost_switch *first, void *arg,
			  struct roost_switch **lane)
{
	struct roost_switch_lanes *lanes = lanes_of(first);
	struct roost_switch *sw = calloc(1, sizeof(*sw));
	void *handoff = aligned_zeros(_Alignof(struct roost_handoff),
				      sizeof(struct roost_handoff));

	if (!lanes || !sw || !handoff) {
		free(handoff);
		free(sw);
		return -ENOMEM;
	}
	sw->port = first->port;
	sw->lease = first->lease;
	sw->ops = first->ops;
	sw->arg = arg;
	sw->first = first;
	sw->lanes = lanes;
	sw->handoff = handoff;
	lanes->v[lanes->nb++] = sw;
	*lane = sw;
	return 0;
}

bool roost_switch_is_handed(const struct roost_switch *sw)
{
	for (uint32_t i = 0; sw->lanes && i < sw->lanes->nb; i++)
		if (!roost_handoff_is_empty(sw->lanes->v[i]->handoff))
			return true;
	return false;
}

/* A lane leaves room for what a client has on the way; the daemon's own
 * messages come by several lanes.
 */
static void take_over(struct roost_switch *sw,
		      const struct roost_handoff_entry *e)
{
	if (sw->fair.queues[e->client]->nb < ROOST_FAIR_QUEUE_LEN) {
		roost_fair_push(&sw->fair, e->client, e->kept, e->len_bytes);
		return;
	}
	sw->counters[e->client].drops[ROOST_SW_PORT_FULL]++;
	sw->ops->discard(sw->arg, e->kept);
	roost_lanes_has_sent(sw->lanes, e->client);
}

void roost_switch_gather(struct roost_switch *sw)
{
	for (uint32_t i = 0; sw->lanes && i < sw->lanes->nb; i++) {
		struct roost_handoff *h = sw->lanes->v[i]->handoff;

		while (!roost_handoff_is_empty(h)) {
			const struct roost_handoff_entry e =
				roost_handoff_take(h);

			take_over(sw, &e);
		}
	}
}

void roost_lanes_free(struct roost_switch_lanes *lanes)
{
	if (!lanes)
		return;
	for (uint32_t i = 0; i < lanes->nb; i++) {
		free(lanes->v[i]->handoff);
		free(lanes->v[i]);
	}
	pthread_mutex_destroy(&lanes->turn);
	free(lanes);
}

void roost_lanes_tell_room(struct roost_switch *sw)
{
	const struct roost_fair *fair = &sw->fair;
	uint32_t room = ROOST_FAIR_QUEUE_LEN;

	if (fair->most_kept > 0 && fair->nb_kept >= fair->most_kept)
		room = fair->most_kept / fair->nb_busy;
	if (room < ROOST_FAIR_SHARE_MIN)
		room = ROOST_FAIR_SHARE_MIN;
	if (room > ROOST_FAIR_QUEUE_LEN)
		room = ROOST_FAIR_QUEUE_LEN;
	atomic_store_explicit(&sw->lanes->room, room, memory_order_relaxed);
}
