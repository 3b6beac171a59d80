/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SHARE_H
#define ROOST_ENGINE_CORE_SHARE_H

/*
 * What the QPs of a worker have in flight together: the data. The rules are in
 * lib/engine/transport/share_priv.h. For lib/engine only.
 *
 * Thread: the holder of the worker's turn.
 */

#include <stdint.h>
#include <sys/queue.h>

#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/timer.h"

/* Fewer QPs than this have their own windows alone. */
#define ROOST_SHARE_MIN_QPS 9u

struct roost_share {
	uint32_t nb_qps;        /* that have it */
	struct roost_cwnd cwnd; /* of all of them */
	uint32_t flight_pkts;   /* what they count in flight */
	uint32_t old_pkts;      /* of these: as of the round before */
	uint32_t round;
	uint32_t reduced_pkts; /* in flight when a loss reduced cwnd last */
	/* The smoothed round-trip time of the QP that was acknowledged last, 0:
	 * there was no sample; the shortest of all.
	 */
	uint32_t srtt_ns, rtt_min_ns;
	struct roost_qp *turn; /* was the first of waiting; NULL: none */
	TAILQ_HEAD(, roost_qp) waiting; /* oldest first */
	/* The next round may begin. The timer is set while QPs wait. */
	uint64_t round_at_ns;
	struct roost_timer timer;

	LIST_ENTRY(roost_share) link; /* roost_worker.shares */
	struct roost_gid dgid;        /* ROOST_SHARE_READS: zeros */
	uint8_t kind;                 /* enum roost_share_kind */
	uint8_t port_index;
	uint8_t dscp; /* a switch may have a queue for each */
};

#endif
