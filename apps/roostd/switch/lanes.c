/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the port refuses nothing, what its queue holds leaves sooner. */
#define MOVE_NS 1000000u

int roost_lane_init(struct roost_switch *lane, uint64_t now_ns)
{
	int ret = roost_fair_init(&lane->fair, ROOST_CLIENTS_MAX + 1);

	if (ret)
		return ret;
	lane->fair.most_kept = lane->port.most_kept;
	ret = roost_fair_add(&lane->fair, ROOST_SWITCH_SELF, 1, 0, now_ns);
	if (ret)
		roost_fair_fini(&lane->fair);
	return ret;
}

void roost_lane_fini(struct roost_switch *lane)
{
	void *kept;

	for (uint32_t i = 0; i <= ROOST_SWITCH_SELF; i++)
		while ((kept = roost_fair_flush(&lane->fair, i)) != NULL)
			lane->ops->discard(lane->arg, kept);
	roost_fair_fini(&lane->fair);
}

static struct roost_switch_lanes *lanes_of(struct roost_switch *first)
{
	struct roost_switch_lanes *lanes = first->lanes;

	if (lanes)
		return lanes;
	lanes = aligned_alloc(_Alignof(struct roost_switch_lanes),
			      sizeof(*lanes));
	if (!lanes)
		return NULL;
	memset(lanes, 0, sizeof(*lanes));
	pthread_mutex_init(&lanes->turn, NULL);
	roost_step_join(&lanes->steps, &first->fair.step);
	first->lanes = lanes;
	return lanes;
}

int roost_switch_add_lane(struct roost_switch *first, void *arg,
			  struct roost_switch **lane)
{
	struct roost_switch_lanes *lanes = lanes_of(first);
	struct roost_switch *sw = calloc(1, sizeof(*sw));

	if (!lanes || !sw) {
		free(sw);
		return -ENOMEM;
	}
	sw->port = first->port;
	sw->lease = first->lease;
	sw->ops = first->ops;
	sw->arg = arg;
	sw->first = first;
	sw->lanes = lanes;
	if (roost_lane_init(sw, 0)) {
		free(sw);
		return -ENOMEM;
	}
	roost_step_join(&lanes->steps, &sw->fair.step);
	lanes->v[lanes->nb++] = sw;
	*lane = sw;
	return 0;
}

void roost_lanes_free(struct roost_switch_lanes *lanes)
{
	if (!lanes)
		return;
	for (uint32_t i = 0; i < lanes->nb; i++) {
		roost_lane_fini(lanes->v[i]);
		free(lanes->v[i]);
	}
	pthread_mutex_destroy(&lanes->turn);
	free(lanes);
}

struct roost_switch *roost_lane_of(struct roost_switch *first, uint32_t client)
{
	if (first->fair.queues[client])
		return first;
	for (uint32_t i = 0; first->lanes && i < first->lanes->nb; i++)
		if (first->lanes->v[i]->fair.queues[client])
			return first->lanes->v[i];
	return NULL;
}

void roost_switch_client_move(struct roost_switch *lane, uint16_t client,
			      uint64_t now_ns)
{
	struct roost_switch *from = roost_lane_of(lane->first, client);

	if (from && from != lane)
		roost_fair_move(&from->fair, &lane->fair, client,
				now_ns + MOVE_NS);
}

bool roost_switch_keeps(struct roost_switch *sw, uint16_t client)
{
	const struct roost_switch *lane = roost_lane_of(sw->first, client);

	return lane && lane->fair.queues[client]->nb > 0;
}
