/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_TWIN_H
#define ROOST_PMD_GLUE_KERNEL_TWIN_H

/*
 * A twin: an interface of the kernel that stands for a port that DPDK owns
 * (exception path). The kernel sends and receives all traffic but RoCEv2 by the
 * twin, with the port's MAC address. So ping, TCP and other protocols of the
 * machine use the same NIC.
 *
 * The twin has a thread that moves the frames, because the kernel's TCP runs
 * inside the system calls that move them. The worker must not spend its time
 * there, and the control thread must not be late for the connection manager.
 * Two rings connect the thread and the worker: the twin's own, to the kernel;
 * and that of roost_worker_send_frame(), of which the twin fills a small part
 * only. When this part is full, the thread reads no more frames, and the
 * kernel's queue holds back its senders. Without traffic the thread sleeps.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;
struct roost_progress;
struct roost_twin;
struct roost_worker;

struct roost_twin_conf {
	const char *name;
	uint8_t mac[6];
	uint32_t ip_mtu_bytes; /* its MTU, and the largest one it may get */
	int socket_id;         /* NUMA node of the port's memory */
	/* Its frames come from this pool, whose mbufs hold a byte more than the
	 * longest frame; borrowed. NULL: from one of its own, in EAL's memory.
	 */
	struct rte_mempool *pool;
};

/*
 * Make the interface, down and without carrier. Its frames wait until
 * roost_twin_start(). Returns 0, -ENOMEM, or as roost_tap_open().
 */
int roost_twin_open(const struct roost_twin_conf *conf,
		    struct roost_twin **twin);
void roost_twin_set_carrier(struct roost_twin *twin, bool carrier);
/* Start the thread: from now on the worker sends the kernel's frames on port
 * port_num. progress: the worker's progress engine. Returns 0, -EAGAIN,
 * -EMFILE.
 */
int roost_twin_start(struct roost_twin *twin, struct roost_worker *worker,
		     uint8_t port_num, struct roost_progress *progress);
/* Stop the thread and delete the interface. To be called before the worker
 * stops. Before start it only deletes the interface; a second call does
 * nothing.
 */
void roost_twin_stop(struct roost_twin *twin);
/* Free the twin. All its packets are back in the pool. */
void roost_twin_free(struct roost_twin *twin);

/* Give a frame to the kernel. Takes the frame; drops it if the ring is full.
 * Never blocks. Thread: holders of the turn of any worker, several at a time.
 */
void roost_twin_take(struct roost_twin *twin, struct rte_mbuf *frame);

#endif
