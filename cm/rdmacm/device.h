/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_DEVICE_H
#define ROOST_CM_RDMACM_DEVICE_H

/*
 * The devices of the process for the connection manager: one verbs context
 * each, shared by all ids as in rdma-core's librdmacm, and the CM of the
 * engine's device.
 *
 * The number in the verbs device's name finds the engine's device:
 * roost_device_open() counts openings and returns the device that
 * libibverbs.so.1 has open. So this library needs no private symbol of
 * libibverbs.
 *
 * A device is opened at first use and stays open until the process ends, even
 * after it was removed.
 * Thread: any; one lock, which is held while a device opens.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include <roost/cm.h>
#include <roost/roost.h>
#include "cm/watch.h"

struct roost_rdmacm_device {
	struct ibv_device *ibv;
	struct ibv_context *verbs; /* NULL: not opened; else constant, as are
				    * the members up to refs */
	struct roost_device *device;
	struct roost_dev *dev;
	struct roost_cm *cm;
	uint8_t max_initiator_depth;
	uint8_t max_responder_resources;
	/* Under the lock. */
	unsigned int refs;     /* ids and lists of rdma_get_devices() */
	struct ibv_pd *pd;     /* exists while refs > 0 and an id has asked for
				* it */
	struct ibv_xrcd *xrcd; /* likewise */
	/* watch.c */
	struct roost_cm_watch watch;
	pthread_mutex_t ids_lock;
	bool gone;                           /* under ids_lock */
	LIST_HEAD(, roost_rdmacm_place) ids; /* under ids_lock */
};

/* Check that the configuration has a device. Returns 0, -ENODEV. */
int roost_rdmacm_init(void);

/*
 * Open all devices that can be opened; for the others, a line on stderr has the
 * reason. Returns 0, -ENODEV (no device can be opened); -EMFILE, -ENFILE,
 * -ENOMEM if that is the reason.
 */
int roost_rdmacm_open_all(void);

/* The devices that are open, number 0 first; NULL behind the last. */
struct roost_rdmacm_device *roost_rdmacm_device_nr(unsigned int nr);

/* True if this port of the device has the address. */
bool roost_rdmacm_device_has(struct roost_rdmacm_device *d, uint8_t port_num,
			     const struct roost_gid *gid, uint8_t *sgid_index);

/* The open device that has the address and was not removed; NULL: none. */
struct roost_rdmacm_device *roost_rdmacm_device_of(const struct roost_gid *gid,
						   uint8_t *port_num,
						   uint8_t *sgid_index);

/* A global address of the family (AF_INET, AF_INET6; link-local if there is no
 * other) that the device has. Returns false: none.
 */
bool roost_rdmacm_device_addr(struct roost_rdmacm_device *d, int family,
			      struct roost_gid *gid);

/* Add a user, and create the PD that users share. Returns 0, -ENOMEM. */
int roost_rdmacm_device_hold(struct roost_rdmacm_device *d);
void roost_rdmacm_device_put(struct roost_rdmacm_device *d);
/* The XRC domain that users share; NULL and errno on error. The caller holds
 * the device.
 */
struct ibv_xrcd *roost_rdmacm_device_xrcd(struct roost_rdmacm_device *d);

/* The caller is about to sleep until an event of the CM comes: receive, and do
 * what the CM has to do, on this thread.
 */
void roost_rdmacm_serve(void);
/* There was none: others will receive. */
void roost_rdmacm_expect(void);

#endif
