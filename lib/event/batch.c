/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Batches of held events. */

#include <stddef.h>
#include <string.h>

#include "lib/event/source.h"

static void raise_held(struct roost_event_source *source)
{
	for (unsigned int i = 0; i < source->nb_held; i++)
		roost_event_raise(source, source->held[i]);
	source->nb_held = 0;
	source->nb_due = 0;
}

void roost_event_hold(struct roost_event_batch *batch,
		      struct roost_event_source *source, uint32_t type)
{
	if (source->nb_held == 0)
		TAILQ_INSERT_TAIL(batch, source, held_link);
	if (source->nb_held == ROOST_EVENT_HELD_MAX)
		raise_held(source);
	source->held[source->nb_held++] = (uint8_t)type;
}

void roost_event_batch_raise(struct roost_event_batch *batch)
{
	struct roost_event_source *source;

	while ((source = TAILQ_FIRST(batch)) != NULL) {
		TAILQ_REMOVE(batch, source, held_link);
		raise_held(source);
	}
}

void roost_event_batch_close(struct roost_event_batch *batch,
			     struct roost_event_source *mark)
{
	struct roost_event_source *source;

	TAILQ_FOREACH(source, batch, held_link)
		source->nb_due = source->nb_held;
	TAILQ_INSERT_TAIL(batch, mark, held_link);
}

bool roost_event_batch_raise_due(struct roost_event_batch *batch,
				 const struct roost_event_source *mark)
{
	struct roost_event_source *source = TAILQ_FIRST(batch);

	TAILQ_REMOVE(batch, source, held_link);
	if (source == mark)
		return false;
	for (unsigned int i = 0; i < source->nb_due; i++)
		roost_event_raise(source, source->held[i]);
	source->nb_held -= source->nb_due;
	memmove(source->held, source->held + source->nb_due, source->nb_held);
	source->nb_due = 0;
	if (source->nb_held != 0)
		TAILQ_INSERT_TAIL(batch, source, held_link);
	return true;
}
