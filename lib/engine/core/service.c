/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <unistd.h>

#include "lib/engine/core/conn_view.h"
#include "lib/engine/core/dev_priv.h"

#define FLUSH_TRIES 100 /* milliseconds */

void roost_dev_service_add(struct roost_dev *dev,
			   struct roost_dev_service *service)
{
	pthread_mutex_lock(&dev->service_lock);
	TAILQ_INSERT_TAIL(&dev->services, service, link);
	pthread_mutex_unlock(&dev->service_lock);
	roost_dev_service_wake(dev);
}

void roost_dev_service_remove(struct roost_dev *dev,
			      struct roost_dev_service *service)
{
	pthread_mutex_lock(&dev->service_lock);
	TAILQ_REMOVE(&dev->services, service, link);
	pthread_mutex_unlock(&dev->service_lock);
}

void roost_dev_service_wake(struct roost_dev *dev)
{
	struct roost_addr_io *io = &dev->ports[0].addr_io;

	if (io->wake)
		io->wake(io->ctx);
}

static _Thread_local bool is_attending;

void roost_dev_service_attend(bool attends)
{
	is_attending = attends;
}

void roost_dev_service_arrived(struct roost_dev *dev)
{
	if (!is_attending)
		roost_dev_service_wake(dev);
}

uint64_t roost_dev_service_run_all(struct roost_dev *dev, uint64_t now_ns)
{
	struct roost_dev_service *service;
	uint64_t next_ns = UINT64_MAX;

	pthread_mutex_lock(&dev->service_lock);
	TAILQ_FOREACH(service, &dev->services, link) {
		uint64_t due_ns = service->run(service->arg, now_ns);

		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	pthread_mutex_unlock(&dev->service_lock);
	return next_ns;
}

void roost_dev_service_flush(struct roost_dev *dev)
{
	struct roost_dev_service *service;

	for (int i = 0; pthread_mutex_trylock(&dev->service_lock) != 0; i++) {
		if (i == FLUSH_TRIES)
			return;
		usleep(1000);
	}
	TAILQ_FOREACH(service, &dev->services, link)
		if (service->flush)
			service->flush(service->arg);
	pthread_mutex_unlock(&dev->service_lock);
}

void roost_dev_view_conns(struct roost_dev *dev, uint64_t now_ns,
			  const struct roost_conn_viewer *viewer)
{
	struct roost_dev_service *service;

	pthread_mutex_lock(&dev->service_lock);
	TAILQ_FOREACH(service, &dev->services, link)
		if (service->view)
			service->view(service->arg, now_ns, viewer);
	pthread_mutex_unlock(&dev->service_lock);
}

/* ---- the resident -------------------------------------------------------- */

static const struct roost_dev_resident *the_resident;

void roost_dev_resident_set(const struct roost_dev_resident *resident)
{
	the_resident = resident;
}

int roost_dev_resident_begin(struct roost_dev *dev)
{
	return the_resident ? the_resident->begin(dev) : 0;
}

void roost_dev_resident_end(struct roost_dev *dev)
{
	if (the_resident)
		the_resident->end(dev);
}
