/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Ports that stand still: nothing passes, and nobody is to blame for it. */

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"

static bool all_still(const struct roost_dev *dev)
{
	for (unsigned int i = 0; i < dev->nb_ports; i++)
		if (!dev->ports[i].is_still && !dev->ports[i].removed)
			return false;
	return true;
}

/* Within a change. */
static void count_still(struct roost_dev *dev, uint64_t now_ns)
{
	bool is_still = all_still(dev);

	pthread_mutex_lock(&dev->lock);
	if (is_still && !dev->is_still)
		dev->still_since_ns = now_ns;
	else if (!is_still && dev->is_still)
		dev->still_ns += now_ns - dev->still_since_ns;
	dev->is_still = is_still;
	pthread_mutex_unlock(&dev->lock);
}

/* Within a change, under all.lock. */
static void go_on(struct roost_dev *dev, uint8_t port_num, uint64_t now_ns)
{
	struct roost_qp *qp;

	for (unsigned int i = 0; i < dev->nb_workers; i++)
		dev->workers[i]->now_ns = now_ns;
	LIST_FOREACH(qp, &dev->all.qps, all_link)
		if (!qp->dying && qp->path.valid && !qp->path.loopback &&
		    qp->path.port_index == port_num - 1u)
			dev->transport->go_on(qp);
}

static void kick_all(struct roost_dev *dev, const struct roost_port *port)
{
	const struct roost_frame_io *io = &port->frame_io;

	for (unsigned int i = 0; io->kick && i < dev->nb_workers; i++)
		io->kick(io->ctx, i);
}

void roost_port_set_still(struct roost_dev *dev, uint8_t port_num,
			  bool is_still, uint64_t now_ns)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port || port->is_still == is_still)
		return;
	pthread_mutex_lock(&dev->all.lock);
	roost_dev_turns_take(dev);
	port->is_still = is_still;
	count_still(dev, now_ns);
	if (!is_still)
		go_on(dev, port_num, now_ns);
	roost_dev_turns_release(dev);
	pthread_mutex_unlock(&dev->all.lock);
	if (!is_still)
		kick_all(dev, port);
	roost_dev_service_wake(dev);
}

bool roost_dev_is_still(const struct roost_dev *dev)
{
	return dev->is_still;
}

uint64_t roost_dev_still_ns(struct roost_dev *dev, uint64_t now_ns)
{
	uint64_t ns;

	pthread_mutex_lock(&dev->lock);
	ns = dev->still_ns;
	if (dev->is_still)
		ns += now_ns - dev->still_since_ns;
	pthread_mutex_unlock(&dev->lock);
	return ns;
}
