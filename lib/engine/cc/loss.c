/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: no allocation, system call, log or lock. */

#include <rte_common.h>

#include "lib/engine/cc/cc.h"

/* Congestion avoidance adds this part of cwnd for each cwnd acknowledged, and
 * to a smaller window one packet for each CWND_GROWTH_PART: many QPs that share
 * a queue have small windows, and must not fill it in one round trip.
 */
#define CWND_GROWTH_PART 16u
#define SLOW_GROWTH 4u
/* Until so many cwnd, and packets, are acknowledged without a mark, cwnd grows
 * by one packet for MARKED_GROWTH cwnd: QPs with windows of any size gain the
 * same in a round trip, and lose a part of what they have, so that they become
 * equal.
 */
#define MARKED_CWNDS 16u
#define MARKED_PKTS 256u
#define MARKED_GROWTH 8u
/* In flight before anything is known of the path. 64 senders that begin at once
 * fit in a queue of 1,024 packets, and so do all QPs of a worker, that begin
 * with half of it together, or one packet each.
 */
#define CWND_INITIAL_PKTS 16u
#define CWND_TOGETHER_PKTS 512u
/* A mark reduces cwnd by this part, once for each cwnd acknowledged. */
#define MARK_PART 4u
/* This many losses in a row, each with less than a cwnd acknowledged since the
 * one before, are not by chance.
 */
#define CLOSE_LOSSES_MAX 3u

/* The bandwidth-delay product and an eighth: what is in flight, by the share
 * that the shortest round-trip time has of the last one. The rest stands in
 * queues. 0: no round-trip time is known.
 */
static uint32_t bdp_pkts(const struct roost_requester *req)
{
	uint32_t flight_pkts =
		(uint32_t)roost_psn_diff(req->next_psn,
					 req->oldest_unacked_psn);

	if (req->pto_ns == 0)
		return 0;
	return (uint32_t)(flight_pkts * 9ull * req->rtt_min_ns /
			  (req->rtt_last_ns * 8ull));
}

static uint32_t half_cwnd(const struct roost_requester *req)
{
	return RTE_MAX(req->cwnd_pkts / 2, (uint32_t)ROOST_CWND_MIN_PKTS);
}

static void reset(struct roost_requester *req, uint32_t nb_qps)
{
	uint32_t part_pkts = CWND_TOGETHER_PKTS / RTE_MAX(nb_qps, 1u);

	req->cwnd_pkts = RTE_MAX(RTE_MIN(part_pkts, CWND_INITIAL_PKTS),
				 (uint32_t)ROOST_CWND_MIN_PKTS);
	req->ssthresh_pkts = ROOST_CWND_MAX_PKTS;
	req->acked_pkts = 0;
	req->since_loss_pkts = ROOST_CWND_MAX_PKTS;
	req->since_mark_pkts = UINT16_MAX;
	req->nb_close_losses = 0;
}

static bool is_marked(const struct roost_requester *req)
{
	return req->since_mark_pkts <
	       RTE_MAX(MARKED_CWNDS * req->cwnd_pkts, MARKED_PKTS);
}

/* So many packets acknowledged let cwnd grow by a part: more where answers take
 * twice as long as the fastest did, or where losses come close to one another.
 * A queue stands on the path then, and to grow further ends in the next loss.
 */
static uint32_t growth_pkts(const struct roost_requester *req)
{
	uint32_t pkts = RTE_MAX(req->cwnd_pkts, CWND_GROWTH_PART);
	bool queue =
		req->pto_ns != 0 && req->rtt_last_ns > 2ull * req->rtt_min_ns;

	if (is_marked(req))
		return MARKED_GROWTH * req->cwnd_pkts;
	return queue || req->nb_close_losses >= CLOSE_LOSSES_MAX
		       ? SLOW_GROWTH * pkts
		       : pkts;
}

static uint16_t add_up(uint16_t since_pkts, uint32_t acked_pkts)
{
	return (uint16_t)RTE_MIN(since_pkts + acked_pkts, (uint32_t)UINT16_MAX);
}

/* Below ssthresh: slow start. */
static void on_acked(struct roost_requester *req, uint32_t acked_pkts)
{
	req->since_loss_pkts = add_up(req->since_loss_pkts, acked_pkts);
	req->since_mark_pkts = add_up(req->since_mark_pkts, acked_pkts);
	if (req->cwnd_pkts < req->ssthresh_pkts) {
		req->cwnd_pkts = RTE_MIN(req->cwnd_pkts + acked_pkts,
					 req->ssthresh_pkts);
		return;
	}
	req->acked_pkts = add_up(req->acked_pkts, acked_pkts);
	if (req->acked_pkts < growth_pkts(req))
		return;
	req->acked_pkts = 0;
	req->cwnd_pkts +=
		is_marked(req) ? 1
			       : RTE_MAX(req->cwnd_pkts / CWND_GROWTH_PART, 1u);
	req->cwnd_pkts = RTE_MIN(req->cwnd_pkts, (uint32_t)ROOST_CWND_MAX_PKTS);
}

/* cwnd is less than ROOST_CWND_MAX_PKTS afterwards: on_acked() is called again.
 */
static void on_lost(struct roost_requester *req)
{
	bool close = req->since_loss_pkts < req->cwnd_pkts;
	uint32_t most_pkts = RTE_MIN(req->cwnd_pkts, ROOST_CWND_MAX_PKTS - 1u);
	uint32_t half_pkts = half_cwnd(req);
	uint32_t fit_pkts =
		RTE_MAX(RTE_MIN(bdp_pkts(req), most_pkts), half_pkts);

	if (!close)
		req->nb_close_losses = 0;
	else if (req->nb_close_losses < CLOSE_LOSSES_MAX)
		req->nb_close_losses++;
	req->cwnd_pkts = close ? half_pkts : fit_pkts;
	req->ssthresh_pkts =
		req->nb_close_losses < CLOSE_LOSSES_MAX ? fit_pkts : half_pkts;
	req->acked_pkts = 0;
	req->since_loss_pkts = 0;
}

/* A queue on the path is as long as its switch lets it become. */
static void on_marked(struct roost_requester *req)
{
	if (req->since_mark_pkts < req->cwnd_pkts)
		return;
	req->cwnd_pkts -= (req->cwnd_pkts + MARK_PART - 1) / MARK_PART;
	req->cwnd_pkts = RTE_MAX(req->cwnd_pkts, (uint32_t)ROOST_CWND_MIN_PKTS);
	req->ssthresh_pkts = req->cwnd_pkts;
	req->acked_pkts = 0;
	req->since_mark_pkts = 0;
}

/* If no packet was lost, the ACK of the packets that arrived restores cwnd. */
static void on_probe(struct roost_requester *req)
{
	req->ssthresh_pkts = RTE_MAX(req->ssthresh_pkts, req->cwnd_pkts);
	req->cwnd_pkts = ROOST_CWND_MIN_PKTS;
	req->acked_pkts = 0;
}

static void on_timeout(struct roost_requester *req)
{
	req->ssthresh_pkts = half_cwnd(req);
	req->cwnd_pkts = ROOST_CWND_MIN_PKTS;
	req->acked_pkts = 0;
	req->since_loss_pkts = 0;
	req->nb_close_losses = CLOSE_LOSSES_MAX;
}

const struct roost_cc roost_cc_loss = {
	.name = "loss",
	.reset = reset,
	.on_acked = on_acked,
	.on_lost = on_lost,
	.on_marked = on_marked,
	.on_probe = on_probe,
	.on_timeout = on_timeout,
};
