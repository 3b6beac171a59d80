/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_INTR_GATE_H
#define ROOST_PMD_GLUE_INTR_GATE_H

/*
 * The interrupt gate: control channels of drivers that change their shared
 * memory under the data path's feet.
 *
 * net_memif maps and unmaps its rings in callbacks on EAL's interrupt thread,
 * when a peer comes or dies, with no lock against rx and tx bursts: a worker
 * that polls at this moment reads unmapped memory. It also leaves its listening
 * socket registered after the port is closed, with a pointer to freed memory,
 * and EAL panics over a control socket that died before its first message.
 *
 * So the callbacks of such ports never reach EAL: the gate stands in front of
 * rte_intr_callback_register() and its kin (this library defines them, and is
 * before librte_eal in the lookup order of the drivers), keeps what a gated
 * port registers in a list of its own, and the control thread waits for these
 * descriptors and calls the callbacks while it holds the turns of all workers
 * on gated ports. What anybody else registers goes on to EAL.
 *
 * Thread: all calls, and everything that opens, starts, stops and closes gated
 * ports, on the control thread. That makes the list need no lock.
 */

#include <poll.h>
#include <stdbool.h>
#include <sys/queue.h>

struct roost_worker;

#define ROOST_INTR_GATE_FDS_MAX 64u

/* A gated port. */
struct roost_intr_owner {
	struct roost_worker *worker; /* whose turn to take; NULL: none yet */
	char key[108]; /* ports of one key share what they registered */
	TAILQ_ENTRY(roost_intr_owner) link;
};

/*
 * Is the gate in the way of DPDK's drivers? Makes this library's symbols
 * global if it was loaded privately. Thread: the control thread, before EAL
 * loads drivers, and after.
 */
bool roost_intr_gate_stands(void);

void roost_intr_owner_open(struct roost_intr_owner *owner, const char *key);
/* The port is closed. Closes what the driver forgot. */
void roost_intr_owner_close(struct roost_intr_owner *owner);

/* Around calls into the driver of a gated port; what it registers between is
 * the gate's. Not nested.
 */
void roost_intr_gate_enter(struct roost_intr_owner *owner);
void roost_intr_gate_leave(void);

/* Has the port anything registered, as a memif client that is connected, or
 * connects, has its control socket?
 */
bool roost_intr_owner_is_busy(const struct roost_intr_owner *owner);

/* What to poll. Returns how many of fds it filled, at most
 * ROOST_INTR_GATE_FDS_MAX.
 */
unsigned int roost_intr_gate_pollfds(struct pollfd *fds);
/* After poll(2): call the callbacks of what is ready. */
void roost_intr_gate_dispatch(const struct pollfd *fds, unsigned int nb);

#endif
