/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_SHARE_PRIV_H
#define ROOST_ENGINE_TRANSPORT_SHARE_PRIV_H

/*
 * What the QPs of a worker have in flight together.
 *
 * The window of a QP cannot be less than one packet, so many QPs fill any
 * queue. From ROOST_SHARE_MIN_QPS on, QPs share windows beside their own. Those
 * to one address, of the same port and DSCP, share one for their requests
 * (ROOST_SHARE_SENDS). Those of the same port and DSCP, whatever their peers
 * are, share one for answers to READs (ROOST_SHARE_READS): a requester decides
 * how much it asks for, and the queue is the one before its own port. A QP
 * whose next new packet, or part of a READ, finds no room in its share waits,
 * and those that wait have turns in the order of their coming. What is sent
 * again had room before and does not wait. While QPs wait, the common window is
 * what grows, and their own ones do not; when a packet is lost or marked, both
 * become smaller, and the common one also when none waits but the QP has a
 * window of one packet.
 *
 * A packet that is not acknowledged counts for as long as it can be on its way:
 * a silent peer's would take the room of all others. Time is cut in rounds of
 * several round-trip times, and what its QP has not counted anew in this round
 * or in the one before counts no more.
 *
 * Thread: the holder of the worker's turn. Hot: no allocation but from the
 * worker's store, no system call, log or lock.
 */

#include <rte_branch_prediction.h>

#include "lib/engine/cc/cc.h"
#include "lib/engine/core/share.h"
#include "lib/engine/transport/req_priv.h"

/* The QP begins to send on its path; nothing is in flight. */
void roost_share_join(struct roost_worker *w, struct roost_qp *qp);
/* It has another path, and joins the share of that if it sends. */
void roost_share_rejoin(struct roost_worker *w, struct roost_qp *qp);
/* It sends no more, or is about to change its path. */
void roost_share_leave(struct roost_worker *w, struct roost_qp *qp);

/* The share that the QP has to respect; NULL: none. */
static inline struct roost_share *roost_share_of(const struct roost_qp *qp,
						 enum roost_share_kind kind)
{
	struct roost_share *share = qp->shares[kind].share;

	return share && unlikely(share->nb_qps >= ROOST_SHARE_MIN_QPS) ? share
								       : NULL;
}

/* The share of the next packet of the WQE. */
static inline enum roost_share_kind
roost_share_kind_of(const struct roost_send_wqe *wqe)
{
	return wqe->opcode == ROOST_WR_READ ? ROOST_SHARE_READS
					    : ROOST_SHARE_SENDS;
}

/* The next new packet has to wait: the QP waits for its turn then. */
bool roost_share_wait(struct roost_worker *w, struct roost_qp *qp,
		      struct roost_share *share);
static inline bool roost_share_stops(struct roost_worker *w,
				     struct roost_qp *qp,
				     enum roost_share_kind kind)
{
	struct roost_share *share = roost_share_of(qp, kind);

	return share && roost_share_wait(w, qp, share);
}

/* How many new requests may go, after roost_share_stops() let one go. */
uint32_t roost_share_room_of(const struct roost_qp *qp,
			     const struct roost_share *share);
static inline uint32_t roost_share_room(const struct roost_qp *qp)
{
	const struct roost_share *share = roost_share_of(qp, ROOST_SHARE_SENDS);

	return share ? roost_share_room_of(qp, share) : UINT32_MAX;
}

/* The QP may have to wait behind its next packet. ends_burst: another QP sends
 * then.
 */
bool roost_share_is_last(const struct roost_qp *qp,
			 const struct roost_share *share);
static inline bool roost_share_may_stop(const struct roost_qp *qp,
					bool ends_burst)
{
	const struct roost_share *share = roost_share_of(qp, ROOST_SHARE_SENDS);

	return share && (ends_burst || roost_share_is_last(qp, share));
}

/* QPs wait to ask for answers. */
bool roost_share_reads_wait(const struct roost_qp *qp);

/* Packets of the QP were sent, or acknowledged; done: its turn is over. */
void roost_share_count_all(struct roost_worker *w, struct roost_qp *qp,
			   struct roost_share *share, bool done);
static inline void roost_share_count(struct roost_worker *w,
				     struct roost_qp *qp, bool done)
{
	struct roost_share *share = roost_share_of(qp, ROOST_SHARE_SENDS);

	if (share)
		roost_share_count_all(w, qp, share, done);
	share = roost_share_of(qp, ROOST_SHARE_READS);
	/* Who waits has to be let go on, by whoever sees that there is room. */
	if (share &&
	    (qp->asked_pkts != 0 || qp->shares[ROOST_SHARE_READS].pkts != 0 ||
	     share->turn == qp || !TAILQ_EMPTY(&share->waiting)))
		roost_share_count_all(w, qp, share, done);
}

/* A round may be over. */
void roost_share_timer(struct roost_worker *w, struct roost_share *share);

/* ---- what becomes of packets, for all windows that they count in ------ */

void roost_share_acked(struct roost_qp *qp, struct roost_share *share,
		       uint32_t acked_pkts);
static inline void roost_window_acked(struct roost_qp *qp,
				      enum roost_share_kind kind,
				      uint32_t acked_pkts)
{
	struct roost_share *share = roost_share_of(qp, kind);

	if (share)
		roost_share_acked(qp, share, acked_pkts);
	else if (qp->req.cwnd.pkts < ROOST_CWND_MAX_PKTS)
		qp->dev->cc->on_acked(&qp->req.cwnd, &qp->req, acked_pkts,
				      true);
}

/* Called before the requester goes back, so next_psn and oldest_unacked_psn
 * still give the packets in flight.
 */
void roost_window_lost(struct roost_qp *qp, enum roost_share_kind kind);
void roost_window_marked(struct roost_qp *qp, enum roost_share_kind kind);

#endif
