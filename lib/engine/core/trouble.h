/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TROUBLE_H
#define ROOST_ENGINE_CORE_TROUBLE_H

/*
 * What went wrong at a QP. Most QPs never need one, so it is apart from them:
 * from the store of the QP's worker, when the first error, recovery or event is
 * recorded, until the QP is destroyed.
 */

#include "lib/engine/core/flight.h"
#include "lib/engine/core/qp_stats.h"

struct roost_trouble {
	struct roost_qp_error error;
	struct roost_qp_counters counters;
	struct roost_flight_entry events[ROOST_FLIGHT_EVENTS];
	uint64_t cnp_at_ns; /* no CNP is sent before this */
};

/* The one of the QP, which has it from now on. Never NULL: without memory, and
 * for a dying QP that packets still find, one that is not the QP's, of which
 * only cnp_at_ns is read. Holder of the turn.
 */
struct roost_trouble *roost_qp_trouble(struct roost_qp *qp)
	__attribute__((cold));
/* Give it back; the QP is dying. Holder of the turn. */
void roost_qp_trouble_end(struct roost_qp *qp);

#endif
