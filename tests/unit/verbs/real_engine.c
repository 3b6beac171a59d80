/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stddef.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "real_engine.h"

#include "lib/engine/core/dev.h"
#include "lib/engine/core/port.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "tests/no_burst.h"

struct roost_device {
	struct roost_dev *dev;
	unsigned int opens;
};

static struct roost_device devices[2];
unsigned int real_engine_next;

static void punt_none(void *ctx, struct rte_mbuf *pkt)
{
	(void)ctx;
	(void)pkt;
}

uint64_t roost_device_guid(const struct roost_config *config,
			   unsigned int index)
{
	(void)config;
	return 0x0200000000000001u + index;
}

int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device)
{
	const struct roost_gid gid = REAL_ENGINE_GID;
	const struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.frame_io = { {
			.rx_burst = no_burst,
			.tx_burst = no_burst,
			.punt = punt_none,
		} },
		.seed = { 1, 2 },
	};
	struct roost_device *d = &devices[real_engine_next];
	int rc;

	(void)config;
	(void)index;
	*device = d;
	if (d->opens++ > 0)
		return 0;
	rc = roost_dev_create(&conf, &d->dev);
	if (rc)
		return rc;
	roost_port_set_gid(d->dev, 1, 0, &gid);
	roost_port_set_link(d->dev, 1, ROOST_PORT_ACTIVE, 4200, 1000);
	return 0;
}

void roost_device_close(struct roost_device *device)
{
	/* Its last context is closed: it cannot be busy. */
	if (--device->opens == 0 && roost_dev_destroy(device->dev))
		abort();
}

struct roost_dev *roost_device_dev(struct roost_device *device)
{
	return device->dev;
}

int roost_watch_new(int fd, void (*ready)(void *arg), void *arg,
		    struct roost_watch **watch)
{
	(void)fd;
	(void)ready;
	(void)arg;
	*watch = NULL;
	return 0;
}

void roost_watch_free(struct roost_watch *watch)
{
	(void)watch;
}

void roost_device_send_end(struct roost_device *device, struct roost_qp *qp)
{
	(void)device;
	roost_qp_send_end(qp);
}

bool roost_device_help_cq(struct roost_device *device,
			  const struct roost_cq *cq)
{
	(void)device;
	(void)cq;
	return false;
}

void roost_device_push(struct roost_device *device, const struct roost_qp *qp)
{
	(void)device;
	(void)qp;
}

void roost_device_send_batched(struct roost_device *device)
{
	(void)device;
}

void roost_device_expect(struct roost_device *device)
{
	(void)device;
}

void real_engine_turn(void)
{
	struct roost_worker *w = roost_dev_worker(devices[0].dev);

	roost_worker_turn_take(w);
	roost_worker_iterate(w, 1);
	roost_worker_turn_release(w);
}
