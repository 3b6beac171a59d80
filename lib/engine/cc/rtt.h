/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CC_RTT_H
#define ROOST_ENGINE_CC_RTT_H

/*
 * The round-trip time of a requester's path, and the probe timeout (PTO) that
 * follows from it: RFC 6298, from packets that were sent once only.
 *
 * Thread: the holder of the turn of the QP's worker. Hot.
 */

#include "lib/engine/core/qp_priv.h"

/* Forget the estimate and the measurement in progress. */
void roost_rtt_reset(struct roost_requester *req);
/* The packet that was measured, sent at req->rtt_sent_ns, was acknowledged. */
void roost_rtt_sample(struct roost_requester *req, uint64_t now_ns);

#endif
