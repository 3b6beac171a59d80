/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CC_REQ_TIMER_H
#define ROOST_ENGINE_CC_REQ_TIMER_H

/*
 * How long a requester waits for an answer. Thread: the holder of the turn.
 */

struct roost_qp;
struct roost_requester;
struct roost_worker;

/* rtt_psn was acknowledged. */
void roost_req_rtt_sample(struct roost_worker *w, struct roost_requester *req);
/* Set the timer for what is next: asking early, or the timeout. */
void roost_req_set_timer(struct roost_worker *w, struct roost_requester *req);
/* Set, or cancel, the retransmission timer after something changed. */
void roost_req_arm_timer(struct roost_worker *w, struct roost_qp *qp);

#endif
