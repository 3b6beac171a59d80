/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: publish the completions of a worker, then its async events. */

#include "lib/engine/core/worker_base.h"

void roost_worker_publish_cqs(struct roost_worker *w)
{
	struct roost_cq_part *part;

	while ((part = TAILQ_FIRST(&w->dirty_cqs)) != NULL) {
		struct roost_cq *cq = part->cq;

		TAILQ_REMOVE(&w->dirty_cqs, part, dirty_link);
		roost_cq_publish(cq, part);
		if (cq->overrun && !cq->overrun_told)
			roost_overrun_tell(w->dev, cq);
	}
}

void roost_worker_publish(struct roost_worker *w)
{
	if (!TAILQ_EMPTY(&w->dirty_cqs))
		roost_worker_publish_cqs(w);
	if (!TAILQ_EMPTY(&w->held_events))
		roost_async_tell(w);
}

void roost_dev_publish(struct roost_dev *dev)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		roost_worker_publish_cqs(dev->workers[i]);
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		roost_async_tell(dev->workers[i]);
}
