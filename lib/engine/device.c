/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The creation of a device from its parts: objects, workers, and a transport
 * that both of them call.
 */

#include <errno.h>

#include "lib/engine/cc/cc.h"
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/sched/worker.h"
#include "lib/engine/transport/transport.h"

int roost_dev_create(const struct roost_dev_conf *conf, struct roost_dev **dev)
{
	struct roost_dev *d;
	int ret;

	ret = roost_dev_make(conf, &roost_transport, &roost_cc_loss, &d);
	if (ret)
		return ret;
	ret = roost_workers_create(d, conf->nb_workers);
	if (ret) {
		roost_dev_free(d);
		return ret;
	}
	for (unsigned int i = 0; i < d->nb_workers; i++)
		d->workers[i]->now_ns = conf->now_ns;
	roost_overruns_init(d);
	roost_async_init(d);
	*dev = d;
	return 0;
}

/* Is there a service of those above the engine, such as the CM? A device with
 * several workers has two of its own.
 */
static bool has_service(struct roost_dev *dev)
{
	const struct roost_dev_service *s;

	TAILQ_FOREACH(s, &dev->services, link)
		if (s != &dev->overruns.service && s != &dev->late.service)
			return true;
	return false;
}

int roost_dev_destroy(struct roost_dev *dev)
{
	if (!LIST_EMPTY(&dev->ctxs) || has_service(dev))
		return -EBUSY;
	roost_workers_destroy(dev);
	roost_dev_free(dev);
	return 0;
}
