/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_DIRECT_H
#define ROOST_PMD_GLUE_SHARE_DIRECT_H

/*
 * The peers of a client: other clients of the daemon, of the same user, to
 * which its frames go without the daemon. The daemon introduces them and parts
 * them (message.h); this file answers it, and says which frame goes where.
 *
 * A frame goes to a peer if it is for our own MAC, which all clients share, and
 * for a QPN that the peer leases, but not for QP1. All else goes to the daemon.
 *
 * Order. Frames to a peer go through the daemon until the peer receives from us
 * and the daemon has consumed all that we sent, so that they have arrived; what
 * the peer does, see "Order" in pmd_glue/channel/channel.h. If the daemon
 * always has some, frames to that peer wait for up to ROOST_DIRECT_HOLD_NS.
 * They go through the daemon again when the peer has consumed all that it got.
 *
 * Checks. Whoever has a channel to us can put any frame into it. The engine
 * asks roost_direct_may_send() about each such frame.
 *
 * Memory: a memory is read by all peers of its owner, so they have to be one
 * user's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/channel/channel.h"
#include "pmd_glue/share/message.h"
#include "pmd_glue/share/page.h"
#include "pmd_glue/share/session.h"

struct roost_direct;
struct roost_worker;
struct rte_mbuf;

/* How long a change-over may hold up frames, and when it tries again. A daemon
 * that has no processor consumes nothing meanwhile, so little is lost.
 */
#define ROOST_DIRECT_HOLD_NS 100000000u
#define ROOST_DIRECT_RETRY_NS 1000000000u
/* A peer that has consumed no ROOST_SHM_PROGRESS_PKTS frames in this time does
 * not read: longer than a time slice of a busy machine.
 */
#define ROOST_DIRECT_PATIENCE_NS 50000000u

struct roost_direct_conf {
	struct roost_shm_channel *channel;
	struct roost_share_session *session;
	const struct roost_share_page *page;
	const struct roost_share_attached *granted;
	uint32_t daemon_seat; /* ours for the daemon */
	uint64_t patience_ns; /* ROOST_DIRECT_PATIENCE_NS, or another */
};

/* What it names outlives it. Returns 0, -ENOMEM. */
int roost_direct_create(const struct roost_direct_conf *conf,
			struct roost_direct **direct);
/* The channel ends with the peers. NULL: nothing. */
void roost_direct_destroy(struct roost_direct *direct);

/* The worker that receives and sends from now on. kick: let it have a turn
 * soon. Thread: the control thread.
 */
void roost_direct_set_worker(struct roost_direct *direct,
			     struct roost_worker *worker,
			     void (*kick)(void *ctx), void *ctx);

/* The daemon is replaced by another one, with another page: end with all peers,
 * which the new one introduces again. The page before is not used any more when
 * the turn was taken once. Thread: the control thread.
 */
void roost_direct_restart(struct roost_direct *direct,
			  const struct roost_share_page *page, uint64_t now_ns);
/* Our seat for that daemon. Thread: holder of the turn. */
void roost_direct_set_seat(struct roost_direct *direct, uint32_t daemon_seat);

/* Does it send to peers directly? Thread: the control thread. */
bool roost_direct_has_peers(const struct roost_direct *direct);

/* Take the messages of the daemon about peers, and go on with partings. Returns
 * the time in ns of the next call; UINT64_MAX: after the next message. *fault:
 * if the daemon itself broke the rules of the channel, which; else
 * ROOST_SHM_OK. Takes the turn. Thread: the control thread.
 */
uint64_t roost_direct_run(struct roost_direct *direct, uint64_t now_ns,
			  enum roost_shm_fault *fault);

/* ---- frames: hot --------------------------------------------------------- */

/* As roost_shm_tx_burst(), each frame to where it goes. Thread: holder of the
 * turn.
 */
uint16_t roost_direct_tx_burst(struct roost_direct *direct,
			       struct rte_mbuf **pkts, uint16_t n);

/* May the client with that mark send from the QPN: does it lease it? Counts
 * those that may not. Thread: workers, several at a time.
 */
bool roost_direct_may_send(struct roost_direct *direct, uint32_t mark,
			   uint32_t qpn);

/* ---- for people ---------------------------------------------------------- */

struct roost_direct_view {
	unsigned int peers;   /* that frames go to */
	uint64_t forged_pkts; /* dropped: not the sender's QPN */
	uint64_t missed_pkts; /* dropped: a ring was full, here or there */
};

/* Thread: any, with slightly old values. */
void roost_direct_view(const struct roost_direct *direct,
		       struct roost_direct_view *view);

#endif
