/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_TWIN_H
#define ROOST_PMD_GLUE_KERNEL_TWIN_H

/*
 * A twin: an interface of the kernel that stands for a port that DPDK owns.
 * The kernel sends and receives through it whatever is not RoCEv2, with the
 * port's MAC address, and so the machine's ping, TCP and all else go through
 * the same NIC.
 *
 * A thread of its own carries the frames, because the kernel's TCP runs in the
 * system calls that move them: the worker has other things to do, and the
 * control thread must not be late for the connection manager. Between it and
 * the worker are rings: one of the twin's, to the kernel; and that of
 * roost_worker_send_frame(), of which it fills a small part only. As long as
 * that is full it reads nothing more, and the kernel's queue holds its senders
 * back. A twin without traffic costs nobody anything: the thread sleeps.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct roost_progress;
struct roost_twin;
struct roost_worker;

struct roost_twin_conf {
	const char *name;
	uint8_t mac[6];
	uint32_t ip_mtu_bytes; /* the most it can have later, too */
	int socket_id;         /* where the port has its memory */
};

/*
 * Make the interface, down and without carrier; frames wait until it is
 * started. Returns 0, -ENOMEM, or as roost_tap_open().
 */
int roost_twin_open(const struct roost_twin_conf *conf,
		    struct roost_twin **twin);
void roost_twin_set_carrier(struct roost_twin *twin, bool carrier);
/* From here on frames of the kernel go out of port_num of worker, which
 * progress engine turns. Returns 0, -EAGAIN, -EMFILE.
 */
int roost_twin_start(struct roost_twin *twin, struct roost_worker *worker,
		     uint8_t port_num, struct roost_progress *progress);
/* Before the worker stops: the interface is gone, and no frame is sent any
 * more. Does nothing the second time, or before start but close it.
 */
void roost_twin_stop(struct roost_twin *twin);
/* All packets are back. */
void roost_twin_free(struct roost_twin *twin);

/* A frame for the kernel. Takes it; one too many is dropped. Never blocks.
 * Thread: holders of the turn of a worker, several at a time.
 */
void roost_twin_take(struct roost_twin *twin, struct rte_mbuf *frame);

#endif
