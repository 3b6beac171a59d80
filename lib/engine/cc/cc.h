/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CC_CC_H
#define ROOST_ENGINE_CC_CC_H

/*
 * Congestion control: how many packets may be in flight.
 *
 * The transport reports what happened to packets, and an algorithm changes a
 * congestion window, struct roost_cwnd, between ROOST_CWND_MIN_PKTS and its
 * max_pkts. A device has one algorithm for all windows (roost_dev_make()): that
 * of each requester, and that of all requesters with one peer
 * (lib/engine/transport/share_priv.h). What an algorithm knows is in the window
 * and in the estimate of the requester's round-trip time (rtt.h).
 *
 * Thread: the holder of the turn of the QP's worker. Hot: no allocation, system
 * call, log or lock.
 */

#include <stdint.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/qp_priv.h"

struct roost_cc {
	const char *name;
	/* Nothing was sent. */
	void (*reset)(struct roost_cwnd *cwnd, uint32_t first_pkts,
		      uint32_t max_pkts);
	/* acked_pkts more of this requester were acknowledged, 1 or more. May
	 * not be called while the window is max_pkts. grows: the window was
	 * what held packets back.
	 */
	void (*on_acked)(struct roost_cwnd *cwnd,
			 const struct roost_requester *req, uint32_t acked_pkts,
			 bool grows);
	/* The peer misses a packet, or a response of the peer is missing:
	 * packets behind it arrived. flight_pkts: in flight when it was lost,
	 * itself included.
	 */
	void (*on_lost)(struct roost_cwnd *cwnd,
			const struct roost_requester *req,
			uint32_t flight_pkts);
	/* The peer got a packet with the mark of a switch: a CNP came. */
	void (*on_marked)(struct roost_cwnd *cwnd);
	/* Nothing was acknowledged within the probe timeout (PTO): packets are
	 * sent again before the peer's timeout has run out.
	 */
	void (*on_probe)(struct roost_cwnd *cwnd);
	/* Nothing was acknowledged within the timeout of the QP: persistent
	 * congestion.
	 */
	void (*on_timeout)(struct roost_cwnd *cwnd);
};

/* Losses decide, and the round-trip time says whether a queue was their cause;
 * doc/protocol.md, "Requester".
 */
extern const struct roost_cc roost_cc_loss;

#endif
