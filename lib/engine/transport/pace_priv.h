/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_PACE_PRIV_H
#define ROOST_ENGINE_TRANSPORT_PACE_PRIV_H

/*
 * The rates of a QP: the program's limit (ROOST_QP_RATE_LIMIT), which holds for
 * requests, and that of DCQCN, which holds for responses to READs and for what
 * requests have no window, together. Each has a time of its own before which
 * nothing goes that it limits. A QP without a limit costs one test. Holder of
 * the turn.
 */

#include <rte_branch_prediction.h>

#include "lib/engine/core/qp_priv.h"

/* The one of the QP, which has it from now on; NULL: no memory. */
struct roost_pacer *roost_qp_pacer(struct roost_qp *qp) __attribute__((cold));
/* Give it back; the QP is dying, and the timer is in no wheel. */
void roost_qp_pacer_end(struct roost_qp *qp);
/* One of the two limits has changed. */
void roost_pace_set(struct roost_qp *qp);
/* Nothing was sent yet, and no CNP has come. */
void roost_pace_reset(struct roost_qp *qp);
/* A QP with a limit; see below. */
bool roost_pace_hold(struct roost_worker *w, struct roost_qp *qp);
bool roost_pace_hold_answer(struct roost_worker *w, struct roost_qp *qp);
bool roost_pace_is_last(const struct roost_qp *qp);
void roost_pace_note(struct roost_worker *w, struct roost_qp *qp,
		     size_t len_bytes, bool is_answer);

/* True if the rate does not allow the next request packet yet; the pace timer
 * is set then.
 */
static inline bool roost_pace_is_early(struct roost_worker *w,
				       struct roost_qp *qp)
{
	return unlikely(qp->req_limited) && roost_pace_hold(w, qp);
}

/* A request packet goes: when may the next one? */
static inline void roost_pace_sent(struct roost_worker *w, struct roost_qp *qp,
				   size_t len_bytes)
{
	if (unlikely(qp->req_limited))
		roost_pace_note(w, qp, len_bytes, false);
}

/* True if the request packet that is being made is followed by none yet, so
 * that it asks for an acknowledgement: the probe timeout must not take the
 * pause for a loss.
 */
static inline bool roost_pace_will_hold(const struct roost_qp *qp)
{
	return unlikely(qp->req_limited) && roost_pace_is_last(qp);
}

/* True if DCQCN does not allow the next packet of a response yet; the pace
 * timer lists the QP again. Never true for answers that must go now, because
 * the QP will owe none again.
 */
static inline bool roost_pace_holds_answer(struct roost_worker *w,
					   struct roost_qp *qp)
{
	return unlikely(qp->cc_limited) && roost_pace_hold_answer(w, qp);
}

static inline void roost_pace_answered(struct roost_worker *w,
				       struct roost_qp *qp, size_t len_bytes)
{
	if (unlikely(qp->cc_limited))
		roost_pace_note(w, qp, len_bytes, true);
}

#endif
