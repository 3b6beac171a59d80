/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The ids on each device, and the events of the device for them:
 * DEVICE_REMOVAL, and ADDR_CHANGE when the port loses the address of an id, or
 * has another hardware address.
 *
 * As in the Linux kernel's rdma_cm, every id that has a device gets
 * DEVICE_REMOVAL. An id that listens at the wildcard has no device and gets no
 * event; it listens on, on the remaining devices. A request that was not
 * accepted yet gets no event, either: the accept fails.
 */

#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/rdmacm.h"

static struct roost_rdmacm_id *id_at(struct roost_rdmacm_place *place)
{
	return (struct roost_rdmacm_id *)((char *)place -
					  offsetof(struct roost_rdmacm_id,
						   place));
}

/*
 * Set state REMOVED. Returns false when the id gets no DEVICE_REMOVAL: it has
 * got one, or it is bound to the wildcard and its next hop is not known, so
 * that it has no device yet and the CM raises ADDR_ERROR.
 */
static bool become_removed(struct roost_rdmacm_id *id)
{
	bool is_new;

	pthread_mutex_lock(&id->lock);
	is_new = id->state != ROOST_RDMACM_REMOVED &&
		 !(id->claim.any && (id->state == ROOST_RDMACM_ADDR_QUERY ||
				     id->state == ROOST_RDMACM_BOUND));
	if (is_new)
		id->state = ROOST_RDMACM_REMOVED;
	pthread_mutex_unlock(&id->lock);
	return is_new;
}

/* Under ids_lock. */
static void tell_removal(struct roost_rdmacm_device *d)
{
	struct roost_rdmacm_place *place;

	d->gone = true;
	LIST_FOREACH(place, &d->ids, link)
		if (become_removed(id_at(place)))
			roost_rdmacm_tell(id_at(place),
					  RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
}

/* Returns true once for each new MAC. Under ids_lock. */
static bool has_moved(const struct roost_rdmacm_device *d,
		      struct roost_rdmacm_place *place)
{
	uint8_t before[6];

	memcpy(before, place->mac, sizeof(before));
	roost_port_query_mac(d->dev, place->port_num, place->mac);
	return memcmp(before, place->mac, sizeof(before)) != 0;
}

/* Under ids_lock. */
static void tell_lost(struct roost_rdmacm_device *d)
{
	struct roost_rdmacm_place *place;
	uint8_t sgid_index;
	bool lost, moved;

	LIST_FOREACH(place, &d->ids, link) {
		lost = !roost_rdmacm_device_has(d, place->port_num,
						&place->addr, &sgid_index);
		moved = has_moved(d, place);
		if ((lost && !place->lost) || moved)
			roost_rdmacm_tell(id_at(place),
					  RDMA_CM_EVENT_ADDR_CHANGE, 0);
		place->lost = lost;
	}
}

static void told(void *arg, enum roost_cm_news news)
{
	struct roost_rdmacm_device *d = arg;

	pthread_mutex_lock(&d->ids_lock);
	switch (news) {
	case ROOST_CM_NEWS_REMOVED:
		tell_removal(d);
		break;
	case ROOST_CM_NEWS_ADDRS:
		tell_lost(d);
		break;
	}
	pthread_mutex_unlock(&d->ids_lock);
}

void roost_rdmacm_watch(struct roost_rdmacm_device *d)
{
	pthread_mutex_init(&d->ids_lock, NULL);
	LIST_INIT(&d->ids);
	d->watch.told = told;
	d->watch.arg = d;
	roost_cm_watch_add(d->cm, &d->watch);
}

int roost_rdmacm_place_take(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_device *d, uint8_t port_num,
			    const struct roost_gid *addr)
{
	int ret = -ENODEV;

	roost_rdmacm_place_drop(id);
	pthread_mutex_lock(&d->ids_lock);
	if (!d->gone) {
		id->place.device = d;
		id->place.port_num = port_num;
		id->place.addr = *addr;
		id->place.lost = false;
		roost_port_query_mac(d->dev, port_num, id->place.mac);
		LIST_INSERT_HEAD(&d->ids, &id->place, link);
		ret = 0;
	}
	pthread_mutex_unlock(&d->ids_lock);
	return ret;
}

void roost_rdmacm_place_drop(struct roost_rdmacm_id *id)
{
	struct roost_rdmacm_device *d = id->place.device;

	if (!d)
		return;
	pthread_mutex_lock(&d->ids_lock);
	LIST_REMOVE(&id->place, link);
	pthread_mutex_unlock(&d->ids_lock);
	id->place.device = NULL;
}
