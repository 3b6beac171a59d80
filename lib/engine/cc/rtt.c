/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/engine/cc/rtt.h"

#include <rte_common.h>

/* PTO is no less: threads that share a core make each other wait. */
#define PTO_MIN_NS 100000u
#define RTT_MAX_NS (1u << 29)

void roost_rtt_reset(struct roost_requester *req)
{
	req->rtt_sent_ns = 0;
	req->pto_ns = 0;
	req->nb_probes = 0;
}

void roost_rtt_sample(struct roost_requester *req, uint64_t now_ns)
{
	uint32_t rtt_ns = (uint32_t)RTE_MIN(now_ns - req->rtt_sent_ns + 1,
					    (uint64_t)RTT_MAX_NS);
	uint32_t off_ns;

	req->rtt_sent_ns = 0;
	req->nb_probes = 0;
	if (req->pto_ns == 0) {
		req->srtt_ns = rtt_ns;
		req->rttvar_ns = rtt_ns / 2;
		req->rtt_min_ns = rtt_ns;
	} else {
		off_ns = rtt_ns > req->srtt_ns ? rtt_ns - req->srtt_ns
					       : req->srtt_ns - rtt_ns;
		req->rttvar_ns += off_ns / 4 - req->rttvar_ns / 4;
		req->srtt_ns += rtt_ns / 8 - req->srtt_ns / 8;
	}
	req->rtt_last_ns = rtt_ns;
	req->rtt_min_ns = RTE_MIN(req->rtt_min_ns, rtt_ns);
	req->pto_ns = RTE_MAX(req->srtt_ns + 4 * req->rttvar_ns, PTO_MIN_NS);
}
