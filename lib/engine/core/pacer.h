/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_PACER_H
#define ROOST_ENGINE_CORE_PACER_H

/*
 * What a QP with a rate has besides: from the store of the QP's worker, when
 * the program sets a rate limit or the first CNP comes, until the QP is
 * destroyed. Without memory the program's modify fails with ENOMEM, and CNPs
 * change no rate, as if they had been lost.
 */

#include <stdint.h>

#include "lib/engine/core/timer.h"

struct roost_qp;

/* The rate that CNPs leave a QP (lib/engine/cc/dcqcn.h), in the terms of its
 * paper. Holder of the turn.
 */
struct roost_dcqcn {
	uint32_t rate_kbps;   /* RC; 0: not limited, and all below is undefined
			       */
	uint32_t target_kbps; /* RT */
	uint32_t alpha;       /* 2^20: 1.0; as of alpha_ns */
	uint32_t nb_time_stages; /* ended since the last reduction */
	uint32_t nb_byte_stages;
	uint32_t stage_bytes;   /* sent since the last stage of bytes ended */
	uint32_t counted_bytes; /* sent since counted_ns */
	uint64_t stage_at_ns;   /* the present stage of the timer began */
	uint64_t alpha_ns;      /* the last reduction */
	uint64_t counted_ns;
};

/* Holder of the turn. */
struct roost_pacer {
	struct roost_timer timer;
	struct roost_qp *qp;
	uint64_t pace_ns; /* the program's rate limit: none goes before this */
	uint64_t cc_pace_ns; /* nothing that dcqcn limits goes before this */
	struct roost_dcqcn dcqcn;
};

#endif
