/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Watches every event that an engine of the world raises: programs for which
 * --wrap=roost_event_raise was said are linked with this.
 */

#include "lib/engine/core/cq_priv.h"
#include "tests/sim/world.h"

void __real_roost_event_raise(struct roost_event_source *source, uint32_t type);
void __wrap_roost_event_raise(struct roost_event_source *source, uint32_t type);

static void check_published(struct roost_cq *cq)
{
	assert_int_equal(atomic_load(&cq->published), cq->produced);
}

/* An async event follows the completions of before it, of any QP. */
static void check_async(struct sim *sim, const struct sim_end *end)
{
	check_published(end->cq);
	for (unsigned int i = 0; i < sim->nb_qps; i++)
		if (sim->qps[i] != NULL && sim->qps[i]->end == end &&
		    sim->qps[i]->conf.cq != NULL)
			check_published(sim->qps[i]->conf.cq);
}

void __wrap_roost_event_raise(struct roost_event_source *source, uint32_t type)
{
	for (int side = 0; sim_world != NULL && side < 2; side++) {
		struct sim_end *end = &sim_world->ends[side];

		if (end->cq != NULL &&
		    source->channel == roost_ctx_async_channel(end->ctx))
			check_async(sim_world, end);
	}
	__real_roost_event_raise(source, type);
}
