/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ROOST_H
#define ROOST_ROOST_H

/*
 * libroost: RDMA devices on DPDK ports, for appliances.
 *
 * Opening a device starts EAL if the process has not started it, takes the DPDK
 * port that the configuration names, and runs a worker on the port as the
 * progress mode says. Objects and data path are those of the other headers, on
 * roost_device_dev(). A program with a loop of its own uses roost/loop.h
 * instead.
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

#ifdef __cplusplus
extern "C" {
#endif

struct roost_device;

/*
 * Open device number index, from 0, of the configuration
 * (roost_config_nb_devices()). config may be changed after the return. If this
 * process has the device open already, both openings share it, and a count of
 * openings is kept. On failure, one line on stderr has named the cause and the
 * fix. Returns 0; -ENODEV (no such port, wrong devargs, removed), -EBUSY (both
 * ends of a link are taken; or this process was forked from one in which DPDK
 * was started: the line is printed once), -EACCES/-EPERM, -ENOMEM, -EINVAL
 * (configuration).
 * Thread: any; blocks while EAL and the port start.
 */
int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device);
/* Close one opening. The last close stops the worker and gives the port back.
 * In a process that was forked from the one that opened the device, this
 * function does nothing.
 */
void roost_device_close(struct roost_device *device);

/* The engine's device, for the headers of objects and data path. Valid until
 * the device is closed.
 */
struct roost_dev *roost_device_dev(struct roost_device *device);

/*
 * For a thread that polls cq: take a worker's turn if the turn is free, and run
 * one iteration. Received frames are processed and completions are made on this
 * thread, without a hand-off to another core. Of several workers, those whose
 * QPs complete to cq are tried first. In dedicated mode this function does
 * nothing; without it, the worker's own thread does the work.
 * Returns true when an iteration ran and found work. Thread: any application
 * thread.
 */
bool roost_device_help_cq(struct roost_device *device,
			  const struct roost_cq *cq);

/*
 * End posting to a send queue, as roost_qp_send_end(), and help: if the turn is
 * free, this thread sends the requests itself and rings no doorbell. A small
 * request that is posted alone, to a QP with many packets in flight, may wait
 * to be sent together with the next ones: by roost_device_help_cq() or
 * roost_device_expect() of any thread, by the worker's thread after 0.8 ms at
 * the latest, or as doc/threads.md, "Doorbell batching", says.
 * Thread: any application thread.
 */
void roost_device_send_end(struct roost_device *device, struct roost_qp *qp);

/*
 * The caller is about to sleep until an event comes: it armed a CQ, or blocks
 * on a channel. The worker's own thread takes over the port at once, and posts
 * that wait are sent. Thread: any application thread.
 */
void roost_device_expect(struct roost_device *device);

#ifdef __cplusplus
}
#endif

#endif
