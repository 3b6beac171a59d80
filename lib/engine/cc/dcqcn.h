/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CC_DCQCN_H
#define ROOST_ENGINE_CC_DCQCN_H

/*
 * DCQCN, the reaction point: CNPs bound the rate of a QP (Zhu et al., SIGCOMM
 * 2015), with ConnectX's parameters (roost/ecn.h). doc/congestion.md has the
 * equations. It works beside the congestion window (cc.h).
 *
 * There is no timer: what time does to alpha and to the rate is computed when a
 * CNP comes and when a packet goes. A QP without CNPs is not limited
 * (rate_kbps is 0), and calls nothing here.
 *
 * Thread: the holder of the turn of the QP's worker. Hot while a QP is limited:
 * no allocation, system call, log or lock.
 */

#include <stddef.h>

#include <roost/ecn.h>
#include "lib/engine/core/qp_priv.h"

/* The QP is not limited. */
void roost_dcqcn_reset(struct roost_dcqcn *rp);
/* A CNP has come. line_mbps: the speed of the port; 0: not known. */
void roost_dcqcn_on_cnp(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
			uint32_t line_mbps, uint64_t now_ns);
/* A packet goes; the QP is limited. It may be so no more afterwards. */
void roost_dcqcn_on_sent(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
			 uint32_t line_mbps, size_t len_bytes, uint64_t now_ns);

#endif
