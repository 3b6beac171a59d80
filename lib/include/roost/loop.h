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
 * path are those of the other headers, on roost_loop_dev(); the connection
 * manager is roost_cm_get() of that device.
 *
 * Received frames come in one of two ways, or in both:
 * - from a receive queue that the program leaves to the device. The program
 *   steers UDP port 4791 to it, and ARP and ICMPv6 if the device is to answer
 *   them (rte_flow);
 * - from the program, which hands over frames that it received itself.
 * A frame may be of any pool and in any number of segments. The device copies a
 * RoCEv2 frame of several segments; a frame in one segment is faster.
 *
 * A frame that is not RoCEv2, or not in the device's VLAN, comes back to the
 * program by punt(), in the order of arrival. A RoCEv2 frame in the device's
 * VLAN does not: one to an address that the device does not have is dropped and
 * counted (roost_dev_counters). So are RoCEv1 frames; a few of them come back.
 *
 * VLANs. A device is in one VLAN, or takes and sends frames without a tag. A
 * tag of VLAN 0 (a priority only) counts as no tag. The port may strip tags
 * (RTE_ETH_RX_OFFLOAD_VLAN_STRIP), but not two tags of one frame. For RDMA in
 * several VLANs, create one device for each: the program hands a frame to the
 * first device, and what punt() returns to the next one.
 *
 * Neighbours. The device resolves its neighbours by ARP and Neighbour
 * Discovery, and answers these and ping for its addresses. It takes the MAC of
 * the port at creation. No call waits for the network: a call that needs the
 * MAC of an unknown neighbour (roost_qp_modify to RTR with an address vector,
 * roost_ah_create) starts the resolution and returns -EAGAIN; the program goes
 * on with its loop and calls again. After three seconds without an answer the
 * call returns -ETIMEDOUT, for ten seconds or until the neighbour is heard.
 * roost_cm_resolve() reports the same by its events.
 *
 * Multicast. The device joins no group at the port and sends no IGMP or MLD:
 * the program makes the port receive the groups (rte_eth_dev_set_mc_addr_list()
 * or rte_eth_allmulticast_enable()), and reports the memberships. This holds
 * for roost_mcast_attach(), and for the solicited-node groups of the device's
 * IPv6 addresses, by which its neighbours find it (RFC 4861).
 *
 * Link. The device reads the link state, the speed and the MTU of the port four
 * times a second, and raises the events of a port that goes up or down
 * (rte_eth_link_get_nowait(); set intr_conf.lsc where this call is slow). It
 * drops what it has to send while the link is down. The port stays started
 * until the device is destroyed.
 *
 * Several cores. A device has one receive queue, one transmit queue and one
 * worker, which is the lcore that runs the loop. A program with more lcores
 * creates a device for each of them, with addresses and queues of its own, and
 * steers by destination address. Any number of devices may be on a port.
 *
 * Threads. roost_loop_run() is called by one thread at a time, an lcore or not.
 * Callbacks of the CM and punt() run inside of it; they do not call
 * roost_loop_run() or roost_loop_destroy(). Other calls: any thread, but a call
 * that waits for a callback or for events, as roost_channel_read() does, may
 * not be made by the thread that has to run the loop. Poll CQs and set channels
 * O_NONBLOCK. A call that changes objects (create, modify, destroy) waits for
 * the end of the present iteration, and holds up the next one while it works.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include <roost/dev.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_loop;
struct rte_mbuf;
struct rte_mempool;

/* rx_queue of a device without a receive queue: the program hands over all
 * frames.
 */
#define ROOST_LOOP_NO_QUEUE UINT16_MAX

/* Data room of the device's pool behind RTE_PKTMBUF_HEADROOM. */
#define ROOST_LOOP_DATA_ROOM_BYTES 4352u

struct roost_loop_conf {
	const char *name; /* name of the device; copied */
	/* Pool of the frames that the device sends, and of its copies of
	 * received frames. The room behind the headroom of an mbuf is at least
	 * ROOST_LOOP_DATA_ROOM_BYTES. Borrowed until destroy.
	 */
	struct rte_mempool *pool;
	uint16_t port_id;
	uint16_t rx_queue; /* or ROOST_LOOP_NO_QUEUE */
	/* The program may use this queue, too, on the thread that runs the
	 * loop. Frames that the queue does not take wait in the device.
	 */
	uint16_t tx_queue;
	uint16_t vlan_id; /* 1..4094; 0: none */
	/* Addresses of the device for its whole life; at least one. The
	 * link-local address that follows from the MAC is added.
	 */
	struct roost_prefixes addrs;
	struct roost_gateways gw;
	/* The program's own IP stack has these addresses as well, and answers
	 * ARP, Neighbour Discovery and ping for them. The device still sends
	 * questions for its neighbours, and needs to see the answers.
	 */
	bool silent;
	/* Takes a received frame that is not for the device, unchanged; the
	 * program owns it from here on. NULL: such frames are freed.
	 */
	void (*punt)(void *arg, struct rte_mbuf *frame);
	void *arg;
};

/*
 * Create a device on a started port. Returns 0; -EINVAL (no name; no such port,
 * queue, VLAN or pool; data room; no address, or one that no host can have);
 * -ENOMEM.
 * Thread: any.
 */
int roost_loop_create(const struct roost_loop_conf *conf,
		      struct roost_loop **loop);
/* Send what the CM has still to send, as far as the transmit queue takes it,
 * and destroy the device. Frames that it keeps are freed. Returns 0, or -EBUSY
 * while a context or a CM of the device is open. The port stays as it is.
 * Thread: the one that runs the loop; it may call punt().
 */
int roost_loop_destroy(struct roost_loop *loop);

/* The engine's device, for the other headers. Valid until destroy. Thread: any.
 */
struct roost_dev *roost_loop_dev(struct roost_loop *loop);

/*
 * Run one iteration: process the n frames and a burst of the receive queue,
 * send answers and posted requests, run timers and the CM. Takes all n frames,
 * in as many bursts as they need. frames may be NULL if n is 0.
 * now_ns: CLOCK_MONOTONIC, in ns.
 * Returns the amount of work done; 0: there was no work.
 */
unsigned int roost_loop_run(struct roost_loop *loop, struct rte_mbuf **frames,
			    uint16_t n, uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
