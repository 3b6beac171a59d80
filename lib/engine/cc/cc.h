/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CC_CC_H
#define ROOST_ENGINE_CC_CC_H

/*
 * Congestion control: how many packets a requester may have in flight.
 *
 * The transport reports what happened to the packets of a requester, and an
 * algorithm changes the congestion window, roost_requester.cwnd_pkts, between
 * ROOST_CWND_MIN_PKTS and ROOST_CWND_MAX_PKTS. A device has one algorithm for
 * all of its QPs (roost_dev_make()). What an algorithm knows of a requester is
 * in struct roost_requester: cwnd_pkts, ssthresh_pkts, acked_pkts,
 * since_loss_pkts, since_mark_pkts, nb_close_losses, and the estimate of the
 * round-trip time (rtt.h).
 *
 * Thread: the holder of the turn of the QP's worker. Hot: no allocation, system
 * call, log or lock.
 */

#include <stdint.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/qp_priv.h"

struct roost_cc {
	const char *name;
	/* The QP goes to RTS: nothing was sent. nb_qps: of its worker, itself
	 * included.
	 */
	void (*reset)(struct roost_requester *req, uint32_t nb_qps);
	/* acked_pkts more were acknowledged, 1 or more. Called while cwnd_pkts
	 * is less than ROOST_CWND_MAX_PKTS.
	 */
	void (*on_acked)(struct roost_requester *req, uint32_t acked_pkts);
	/* The peer misses a packet, or a response of the peer is missing:
	 * packets behind it arrived. Called before the requester goes back, so
	 * next_psn and oldest_unacked_psn still give the packets in flight.
	 */
	void (*on_lost)(struct roost_requester *req);
	/* The peer got a packet with the mark of a switch: a CNP came. */
	void (*on_marked)(struct roost_requester *req);
	/* Nothing was acknowledged within the probe timeout (PTO): packets are
	 * sent again before the peer's timeout has run out.
	 */
	void (*on_probe)(struct roost_requester *req);
	/* Nothing was acknowledged within the timeout of the QP: persistent
	 * congestion.
	 */
	void (*on_timeout)(struct roost_requester *req);
};

/* Losses decide, and the round-trip time says whether a queue was their cause;
 * doc/protocol.md, "Requester".
 */
extern const struct roost_cc roost_cc_loss;

static inline void roost_cc_on_acked(const struct roost_dev *dev,
				     struct roost_requester *req,
				     uint32_t acked_pkts)
{
	if (req->cwnd_pkts < ROOST_CWND_MAX_PKTS)
		dev->cc->on_acked(req, acked_pkts);
}

#endif
