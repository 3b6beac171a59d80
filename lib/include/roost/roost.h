/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ROOST_H
#define ROOST_ROOST_H

/*
 * libroost: RDMA devices on DPDK ports, for appliances and for the verbs shim.
 *
 * Opening a device starts EAL if nobody did, takes the DPDK port that the
 * configuration names, and turns a worker on it as the progress mode says.
 * Objects and data path are the engine's:
 * roost/{dev,mr,cq,srq,qp,ah,mcast}.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/ah.h>
#include <roost/config.h>
#include <roost/cq.h>
#include <roost/dev.h>
#include <roost/mcast.h>
#include <roost/mr.h>
#include <roost/qp.h>
#include <roost/srq.h>
#include <roost/wq.h>
#include <roost/channel.h>

struct roost_config;
struct roost_device;

/*
 * The node GUID of device number index (host order), opened or not: the same
 * for everybody in this process. Thread: any.
 */
uint64_t roost_device_guid(const struct roost_config *config,
			   unsigned int index);

/*
 * Open device number index of the configuration. A device that is open
 * already is shared and counted. On failure one line on stderr has said the
 * cause and the fix.
 * Returns 0; -ENODEV (no such port, wrong devargs, removed), -EBUSY (both ends
 * of a link are taken; or this process was forked from one in which DPDK was
 * started: the line is printed once), -EACCES/-EPERM, -ENOMEM, -EINVAL
 * (configuration).
 * Thread: any; blocks while EAL and the port start.
 */
int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device);
/* The last close stops the worker and gives the port back. In a process that
 * was forked from the one that opened it, it does nothing.
 */
void roost_device_close(struct roost_device *device);

/* The engine's side of it; valid until close. */
struct roost_dev *roost_device_dev(struct roost_device *device);

/*
 * Take the worker's turn if it is free and run one iteration: what posting
 * and empty polling do, so that a busy program needs no hand-off to another
 * core. In dedicated mode it does nothing. Returns true when it ran and found
 * work. Thread: any application thread.
 */
bool roost_device_help(struct roost_device *device);
/* The same for a thread that polls this CQ: of several workers, those
 * that complete there go first.
 */
bool roost_device_help_cq(struct roost_device *device,
			  const struct roost_cq *cq);

/*
 * End posting to a send queue, as roost_qp_send_end(), and help: where the turn
 * is free, what was posted goes out with no doorbell rung. A small request that
 * is posted alone, to a QP with many on their way, may wait for the next ones
 * (doc/threads.md, "Gathering"). Thread: as above.
 */
void roost_device_send_end(struct roost_device *device, struct roost_qp *qp);
/* Send the posts that wait in a batch, now. */
void roost_device_send_batched(struct roost_device *device);

/*
 * The caller is about to sleep until something happens (it armed a CQ, or
 * blocks on a channel): the worker's own thread should look after the port.
 */
void roost_device_expect(struct roost_device *device);

#endif
