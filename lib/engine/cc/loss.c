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
/* A mark reduces cwnd by this part, once for each cwnd acknowledged. */
#define MARK_PART 4u
/* This many losses in a row, each with less than a cwnd acknowledged since the
 * one before, are not by chance.
 */
#define CLOSE_LOSSES_MAX 3u
/* One loss of so many packets in flight says little of the path. */
#define MANY_PKTS 128u

/* The bandwidth-delay product and an eighth: what is in flight, by the share
 * that the shortest round-trip time has of the last one. The rest stands in
 * queues. 0: no round-trip time is known.
 */
static uint32_t bdp_pkts(const struct roost_requester *req,
			 uint32_t flight_pkts)
{
	if (req->pto_ns == 0)
		return 0;
	return (uint32_t)(flight_pkts * 9ull * req->rtt_min_ns /
			  (req->rtt_last_ns * 8ull));
}

static uint16_t half_of(const struct roost_cwnd *cwnd)
{
	return (uint16_t)RTE_MAX(cwnd->pkts / 2, ROOST_CWND_MIN_PKTS);
}

static void reset(struct roost_cwnd *cwnd, uint32_t first_pkts,
		  uint32_t max_pkts)
{
	*cwnd = (struct roost_cwnd){
		.pkts = (uint16_t)first_pkts,
		.max_pkts = (uint16_t)max_pkts,
		.ssthresh_pkts = (uint16_t)max_pkts,
		.since_loss_pkts = (uint16_t)max_pkts,
		.since_mark_pkts = UINT16_MAX,
	};
}

static bool is_marked(const struct roost_cwnd *cwnd)
{
	uint32_t long_ago = RTE_MAX(MARKED_CWNDS * cwnd->pkts, MARKED_PKTS);

	return cwnd->since_mark_pkts < RTE_MIN(long_ago, (uint32_t)UINT16_MAX);
}

/* So many packets acknowledged let cwnd grow by a part: more where answers take
 * twice as long as the fastest did, or where losses come close to one another.
 * A queue stands on the path then, and to grow further ends in the next loss.
 */
static uint32_t growth_pkts(const struct roost_cwnd *cwnd,
			    const struct roost_requester *req)
{
	uint32_t pkts = RTE_MAX(cwnd->pkts, CWND_GROWTH_PART);
	bool queue =
		req->pto_ns != 0 && req->rtt_last_ns > 2ull * req->rtt_min_ns;

	if (is_marked(cwnd))
		pkts = MARKED_GROWTH * cwnd->pkts;
	else if (queue || cwnd->nb_close_losses >= CLOSE_LOSSES_MAX)
		pkts *= SLOW_GROWTH;
	return RTE_MIN(pkts, (uint32_t)UINT16_MAX);
}

static uint16_t add_up(uint16_t since_pkts, uint32_t acked_pkts)
{
	return (uint16_t)RTE_MIN(since_pkts + acked_pkts, (uint32_t)UINT16_MAX);
}

/* Below ssthresh: slow start. */
static void grow(struct roost_cwnd *cwnd, const struct roost_requester *req,
		 uint32_t acked_pkts)
{
	uint32_t more_pkts = 1;

	if (cwnd->pkts < cwnd->ssthresh_pkts) {
		cwnd->pkts = (uint16_t)RTE_MIN(cwnd->pkts + acked_pkts,
					       cwnd->ssthresh_pkts);
		return;
	}
	cwnd->acked_pkts = add_up(cwnd->acked_pkts, acked_pkts);
	if (cwnd->acked_pkts < growth_pkts(cwnd, req))
		return;
	cwnd->acked_pkts = 0;
	if (!is_marked(cwnd))
		more_pkts = RTE_MAX(cwnd->pkts / CWND_GROWTH_PART, 1u);
	cwnd->pkts = (uint16_t)RTE_MIN(cwnd->pkts + more_pkts, cwnd->max_pkts);
	/* A whole cwnd was acknowledged, less the packets that it grows by. */
	if (cwnd->pkts == cwnd->max_pkts)
		cwnd->since_loss_pkts = UINT16_MAX;
}

static void on_acked(struct roost_cwnd *cwnd, const struct roost_requester *req,
		     uint32_t acked_pkts, bool grows)
{
	cwnd->since_loss_pkts = add_up(cwnd->since_loss_pkts, acked_pkts);
	cwnd->since_mark_pkts = add_up(cwnd->since_mark_pkts, acked_pkts);
	if (grows)
		grow(cwnd, req, acked_pkts);
}

/* In slow start: one of many, while answers come as fast as ever. A path of
 * many packets would else be filled by congestion avoidance, in hundreds of
 * round trips. Where no queue is long enough to be seen, a few rounds end it.
 */
static bool is_by_chance(const struct roost_cwnd *cwnd,
			 const struct roost_requester *req,
			 uint32_t flight_pkts)
{
	return cwnd->pkts < cwnd->ssthresh_pkts && flight_pkts >= MANY_PKTS &&
	       cwnd->nb_close_losses < CLOSE_LOSSES_MAX &&
	       bdp_pkts(req, flight_pkts) >= flight_pkts;
}

/* cwnd is less than its maximum afterwards: on_acked() is called again. */
static void on_lost(struct roost_cwnd *cwnd, const struct roost_requester *req,
		    uint32_t flight_pkts)
{
	bool close = cwnd->since_loss_pkts < cwnd->pkts;
	uint32_t most_pkts = RTE_MIN(cwnd->pkts, cwnd->max_pkts - 1u);
	uint16_t half_pkts = half_of(cwnd);
	uint16_t fit_pkts =
		(uint16_t)RTE_MAX(RTE_MIN(bdp_pkts(req, flight_pkts),
					  most_pkts),
				  (uint32_t)half_pkts);

	if (!close)
		cwnd->nb_close_losses = 0;
	else if (cwnd->nb_close_losses < CLOSE_LOSSES_MAX)
		cwnd->nb_close_losses++;
	if (is_by_chance(cwnd, req, flight_pkts)) {
		/* The last step to the maximum, where since_loss_pkts stands
		 * still, takes a whole cwnd.
		 */
		cwnd->ssthresh_pkts = (uint16_t)RTE_MIN(cwnd->ssthresh_pkts,
							cwnd->max_pkts - 1);
		cwnd->since_loss_pkts = 0;
		return;
	}
	cwnd->pkts = close ? half_pkts : fit_pkts;
	cwnd->ssthresh_pkts =
		cwnd->nb_close_losses < CLOSE_LOSSES_MAX ? fit_pkts : half_pkts;
	cwnd->acked_pkts = 0;
	cwnd->since_loss_pkts = 0;
}

/* A queue on the path is as long as its switch lets it become. */
static void on_marked(struct roost_cwnd *cwnd)
{
	uint32_t less_pkts;

	if (cwnd->since_mark_pkts < cwnd->pkts)
		return;
	less_pkts = cwnd->pkts - (cwnd->pkts + MARK_PART - 1) / MARK_PART;
	cwnd->pkts =
		(uint16_t)RTE_MAX(less_pkts, (uint32_t)ROOST_CWND_MIN_PKTS);
	cwnd->ssthresh_pkts = cwnd->pkts;
	cwnd->acked_pkts = 0;
	cwnd->since_mark_pkts = 0;
}

/* If no packet was lost, the ACK of the packets that arrived restores cwnd. */
static void on_probe(struct roost_cwnd *cwnd)
{
	if (cwnd->ssthresh_pkts < cwnd->pkts)
		cwnd->ssthresh_pkts = cwnd->pkts;
	cwnd->pkts = ROOST_CWND_MIN_PKTS;
	cwnd->acked_pkts = 0;
}

static void on_timeout(struct roost_cwnd *cwnd)
{
	cwnd->ssthresh_pkts = half_of(cwnd);
	cwnd->pkts = ROOST_CWND_MIN_PKTS;
	cwnd->acked_pkts = 0;
	cwnd->since_loss_pkts = 0;
	cwnd->nb_close_losses = CLOSE_LOSSES_MAX;
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
