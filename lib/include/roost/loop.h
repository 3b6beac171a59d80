/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_LOOP_H
#define ROOST_LOOP_H

/*
 * An RDMA device in the loop of a DPDK program.
 *
 * The program has started EAL, and has opened, configured and started the port.
 * It calls roost_loop_run() again and again. libroost starts no thread, uses
 * the queues that it is given, and sets nothing at the port. Objects and data
 * path are those of the other headers, on roost_loop_dev().
 *
 * Received frames come in one of two ways, or in both:
 * - from a receive queue that the program leaves to the device. The program
 *   steers UDP port 4791 to it, and ARP and ICMPv6 if the device is to answer
 *   them (rte_flow);
 * - from the program, which hands over frames that it received itself.
 * A frame that is not RoCEv2 comes back to the program by punt(). A RoCEv2
 * frame does not: one to an address that the device does not have is dropped
 * and counted (roost_dev_counters).
 *
 * Neighbours. The device resolves its neighbours by ARP and Neighbour
 * Discovery, and answers these and ping for its addresses. No call waits for
 * the network: a call that needs the MAC of an unknown neighbour
 * (roost_qp_modify to RTR with an address vector, roost_ah_create)
 * starts the resolution and returns -EAGAIN; the program goes
 * on with its loop and calls again. After four seconds without an answer the
 * call returns -ETIMEDOUT. roost_cm_resolve() reports the same by its events.
 *
 * Threads. roost_loop_run() is called by one lcore at a time. Callbacks of the
 * CM and punt() run inside of it. Other calls: any thread, but a call that
 * waits for a callback or for events, as roost_channel_read() does, may not be
 * made by the lcore that has to run the loop. Poll CQs and set channels
 * O_NONBLOCK.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include <roost/dev.h>

struct roost_loop;
struct rte_mbuf;
struct rte_mempool;

/* rx_queue of a device without a receive queue: the program hands over all
 * frames.
 */
#define ROOST_LOOP_NO_QUEUE UINT16_MAX

struct roost_loop_conf {
	const char *name; /* name of the device; copied */
	/* Pool of the frames that the device sends. Data room behind the
	 * headroom at least 4352 bytes. Borrowed until destroy.
	 */
	struct rte_mempool *pool;
	uint16_t port_id;
	uint16_t rx_queue; /* or ROOST_LOOP_NO_QUEUE */
	/* The program may use this queue, too, on the lcore that runs the loop.
	 */
	uint16_t tx_queue;
	struct roost_prefixes addrs; /* addresses of the device; at least one */
	struct roost_gateways gw;
	/* The program's own IP stack has these addresses as well, and answers
	 * ARP, Neighbour Discovery and ping for them.
	 */
	bool silent;
	/* Takes a received frame that is not RoCEv2, unchanged; the program
	 * owns it from here on. NULL: such frames are freed.
	 */
	void (*punt)(void *arg, struct rte_mbuf *frame);
	void *arg;
};

/*
 * Create a device on a started port. Returns 0; -EINVAL (no such port or pool,
 * data room, no address), -ENOMEM.
 * Thread: any.
 */
int roost_loop_create(const struct roost_loop_conf *conf,
		      struct roost_loop **loop);
/* Destroy the device. Returns 0, or -EBUSY while a context is open. The port
 * stays as it is.
 * Thread: the one that runs the loop.
 */
int roost_loop_destroy(struct roost_loop *loop);

/* The engine's device, for the other headers. Valid until destroy. Thread: any.
 */
struct roost_dev *roost_loop_dev(struct roost_loop *loop);

/*
 * Run one iteration: process the n frames and a burst of the receive queue,
 * send answers and posted requests, run timers and the CM. Takes all n frames.
 * now_ns: CLOCK_MONOTONIC, in ns.
 * Returns the amount of work done; 0: there was no work.
 */
unsigned int roost_loop_run(struct roost_loop *loop, struct rte_mbuf **frames,
			    uint16_t n, uint64_t now_ns);

#endif
