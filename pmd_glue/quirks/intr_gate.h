/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_INTR_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_INTR_GATE_H

/*
 * The interrupt gate: for drivers whose interrupt callbacks change the rings
 * without a lock against the bursts.
 *
 * net_memif maps and unmaps its rings in callbacks on EAL's interrupt thread,
 * when a peer connects or dies, with no lock against the bursts: a worker that
 * polls at this moment reads unmapped memory. net_memif also leaves its
 * listening socket registered after the port is closed, with a pointer to freed
 * memory. And EAL panics over a control socket that died before its first
 * message.
 *
 * So the callbacks of such ports never reach EAL. The gate replaces
 * rte_intr_callback_register() and the like for the driver
 * (pmd_glue/quirks/import.h), and keeps the callbacks of gated ports in its own
 * list. The control thread waits for their descriptors, and calls the callbacks
 * while it holds the turns of all workers on gated ports. Callbacks of other
 * ports of the driver, such as a memif port of the application, go on to EAL.
 *
 * net_virtio_user (over vhost-user) watches its control socket in the same way.
 * When the socket hangs up, the driver defers work to an alarm, which may run
 * after the port was closed and its memory freed. The gate runs its alarms on
 * the control thread, right after the call into the driver. A server of
 * net_virtio_user waits for its first peer; the gate limits this wait to ten
 * seconds.
 *
 * Both drivers connect and accept through the gate. It closes connections of
 * untrusted peers (pmd_glue/process/peer_trust.h) before the driver sees them.
 * A server then accepts the next one, so that an untrusted process does not
 * take the place of the peer. connect(2) waits up to a tenth of a second for a
 * server whose accept queue is full.
 *
 * Thread: the control thread, for all calls and for open, start, stop and close
 * of gated ports. A port may be plugged in and started on another thread
 * (roost_control_aside()): while a thread is inside the driver of a port, no
 * other thread touches this port's entries. A lock guards the lists.
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
	struct roost_worker *worker; /* take its turn; NULL: none yet */
	char key[108]; /* ports with the same key share registrations */
	/* Trusted peers of its sockets; NULL: any peer. A peer must be trusted
	 * by all ports of the key.
	 */
	struct roost_peer_trust *trust;
	bool is_inside; /* a thread is inside its driver; writer: the gate */
	TAILQ_ENTRY(roost_intr_owner) link;
};

/*
 * Put the gate before a driver, after EAL has loaded it. library: the name of
 * its library. Returns 0; -ENOENT (not loaded, or it does not import these
 * functions), -EACCES.
 */
int roost_intr_gate_put(const char *library);

void roost_intr_owner_open(struct roost_intr_owner *owner, const char *key,
			   struct roost_peer_trust *trust);
/* After the driver closed the port: drop and close what the driver left. */
void roost_intr_owner_close(struct roost_intr_owner *owner);

/* Shut the connection to its peer down, as if this process had died, and give
 * the peer some time to read the frames in the rings.
 */
void roost_intr_owner_hang_up(const struct roost_intr_owner *owner);

/* Around calls into the driver of a gated port: callbacks that it registers in
 * between go to the gate. Not nested.
 */
void roost_intr_gate_enter(struct roost_intr_owner *owner);
void roost_intr_gate_leave(void);

/* Has the port a callback registered? A memif client has one for its control
 * socket while it is connected or connecting.
 */
bool roost_intr_owner_is_busy(const struct roost_intr_owner *owner);

/* For the control thread's watch (struct roost_control_watch), once a gate was
 * put. Fill fds with the descriptors to poll. Returns their number, at most
 * ROOST_INTR_GATE_FDS_MAX.
 */
unsigned int roost_intr_gate_pollfds(struct pollfd *fds);
/* After poll(2): call the callbacks of the descriptors that are ready. */
void roost_intr_gate_dispatch(const struct pollfd *fds, unsigned int nb);

#endif
