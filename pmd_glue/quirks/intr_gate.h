/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_INTR_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_INTR_GATE_H

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
 * So the callbacks of such ports never reach EAL: the gate stands between the
 * driver and rte_intr_callback_register() and its kin
 * (pmd_glue/quirks/import.h), keeps what a gated port registers in a list of
 * its own, and the control thread waits for these descriptors and calls the
 * callbacks while it holds the turns of all workers on gated ports. What the
 * driver registers for anybody else, as a memif port of the application's own,
 * goes on to EAL.
 *
 * net_virtio_user (over vhost-user) watches its control socket in the same way,
 * and what it does when that hangs up it puts off to an alarm, which may find
 * the port closed and its memory free. Its alarms run on the control thread,
 * too, when the call into the driver is over. And a server of it waits for its
 * first peer: no longer than ten seconds.
 *
 * Both connect and accept through the gate, which hangs up on peers that are
 * not to be believed (pmd_glue/process/peer_trust.h) before the driver sees
 * them: a server goes on to the next one, so that no stranger takes a peer's
 * place. To connect waits a tenth of a second for a server whose queue is full.
 *
 * Thread: all calls, and everything that opens, starts, stops and closes gated
 * ports, on the control thread. But a port may be plugged in and started on
 * another one (roost_control_aside()): what belongs to a port whose driver a
 * thread is inside of is no other thread's, and a lock guards the lists.
 */

#include <poll.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "pmd_glue/process/control.h"

struct roost_peer_trust;
struct roost_worker;

#define ROOST_INTR_GATE_FDS_MAX ROOST_CONTROL_WATCHED_MAX

/* A gated port. */
struct roost_intr_owner {
	struct roost_worker *worker; /* whose turn to take; NULL: none yet */
	char key[108]; /* ports of one key share what they registered */
	/* Who may be at the other end of its sockets; NULL: anybody. Ports of
	 * one key have to agree.
	 */
	struct roost_peer_trust *trust;
	bool is_inside; /* a thread is inside its driver; the gate's */
	TAILQ_ENTRY(roost_intr_owner) link;
};

/*
 * Put the gate before a driver, by the name of its library. EAL has loaded it.
 * Returns 0; -ENOENT (it is not loaded, or registers nothing), -EACCES.
 */
int roost_intr_gate_put(const char *library);

void roost_intr_owner_open(struct roost_intr_owner *owner, const char *key,
			   struct roost_peer_trust *trust);
/* The port is closed. Closes what the driver forgot. */
void roost_intr_owner_close(struct roost_intr_owner *owner);

/* Hang up on its peer, which sees what it would see if we died, and give it
 * some time to take in what we have sent.
 */
void roost_intr_owner_hang_up(const struct roost_intr_owner *owner);

/* Around calls into the driver of a gated port; what it registers between is
 * the gate's. Not nested.
 */
void roost_intr_gate_enter(struct roost_intr_owner *owner);
void roost_intr_gate_leave(void);

/* Has the port anything registered, as a memif client that is connected, or
 * connects, has its control socket?
 */
bool roost_intr_owner_is_busy(const struct roost_intr_owner *owner);

/* The control thread's watch (struct roost_control_watch), once a gate was put.
 * What to poll. Returns how many of fds it filled, at most
 * ROOST_INTR_GATE_FDS_MAX.
 */
unsigned int roost_intr_gate_pollfds(struct pollfd *fds);
/* After poll(2): call the callbacks of what is ready. */
void roost_intr_gate_dispatch(const struct pollfd *fds, unsigned int nb);

#endif
