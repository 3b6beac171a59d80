/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot while a QP is limited: no allocation, system call, log or lock. */

#include "lib/engine/cc/dcqcn.h"

#include <rte_common.h>

/* Of a port that does not know its speed. CNPs bring the rate down from any
 * value within a few intervals.
 */
#define SPEED_UNKNOWN_MBPS 100000u
/* Stages of the timer that one packet or CNP makes up for, so that a QP that
 * was silent for long costs little; the next packet makes up for more.
 */
#define STAGES_MAX 64u
/* What a QP sends is counted for so long, or it says nothing of its rate: a
 * burst, or a silence.
 */
#define COUNT_NS 100000ull
#define COUNT_MAX_NS 2000000ull
#define COUNT_BYTES 32768u

/* Fixed point: alpha and dce_tcp_g, and powers of the latter. */
#define ALPHA_SHIFT 20u
#define PARAM_SHIFT 10u
#define POWER_SHIFT 30u

static uint32_t line_kbps(const struct roost_ecn *ecn, uint32_t line_mbps)
{
	uint32_t mbps = ecn->rpg_max_rate != 0 ? ecn->rpg_max_rate
			: line_mbps != 0       ? line_mbps
					       : SPEED_UNKNOWN_MBPS;

	return (uint32_t)RTE_MIN(mbps * 1000ull, (uint64_t)UINT32_MAX);
}

void roost_dcqcn_reset(struct roost_dcqcn *rp)
{
	rp->rate_kbps = 0;
}

/* ---- alpha ------------------------------------------------------------ */

/* (g / 1024)^n */
static uint64_t power(uint32_t g, uint64_t n)
{
	uint64_t base = (uint64_t)g << (POWER_SHIFT - PARAM_SHIFT);
	uint64_t result = 1ull << POWER_SHIFT;

	for (; n != 0 && result != 0; n >>= 1) {
		if (n & 1)
			result = result * base >> POWER_SHIFT;
		base = base * base >> POWER_SHIFT;
	}
	return result;
}

/* The periods since the last CNP had none. */
static void decay_alpha(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
			uint64_t now_ns)
{
	uint64_t n = (now_ns - rp->alpha_ns) / (ecn->dce_tcp_rtt * 1000ull);

	if (n != 0)
		rp->alpha = (uint32_t)(rp->alpha * power(ecn->dce_tcp_g, n) >>
				       POWER_SHIFT);
}

static void raise_alpha(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
			uint64_t now_ns)
{
	const uint32_t one = 1u << PARAM_SHIFT;

	rp->alpha = (uint32_t)((uint64_t)rp->alpha * ecn->dce_tcp_g >>
			       PARAM_SHIFT) +
		    ((one - ecn->dce_tcp_g) << (ALPHA_SHIFT - PARAM_SHIFT));
	rp->alpha_ns = now_ns;
}

/* ---- increase --------------------------------------------------------- */

static void increase(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
		     uint32_t most_kbps)
{
	uint32_t most = RTE_MAX(rp->nb_time_stages, rp->nb_byte_stages);
	uint32_t least = RTE_MIN(rp->nb_time_stages, rp->nb_byte_stages);
	uint64_t target_kbps = rp->target_kbps;

	if (least > ecn->rpg_threshold)
		target_kbps += ecn->rpg_hai_rate * 1000ull;
	else if (most > ecn->rpg_threshold)
		target_kbps += ecn->rpg_ai_rate * 1000ull;
	target_kbps = RTE_MIN(target_kbps, (uint64_t)most_kbps);
	rp->target_kbps = (uint32_t)target_kbps;
	rp->rate_kbps = (uint32_t)((rp->rate_kbps + target_kbps + 1) / 2);
	/* The QP is not limited any more. */
	if (rp->rate_kbps >= most_kbps)
		rp->rate_kbps = 0;
}

static void run_timer(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
		      uint32_t most_kbps, uint64_t now_ns)
{
	const uint64_t stage_ns = ecn->rpg_time_reset * 1000ull;

	for (unsigned int i = 0; i < STAGES_MAX && rp->rate_kbps != 0 &&
				 now_ns - rp->stage_at_ns >= stage_ns;
	     i++) {
		rp->stage_at_ns += stage_ns;
		rp->nb_time_stages++;
		increase(rp, ecn, most_kbps);
	}
}

void roost_dcqcn_on_sent(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
			 uint32_t line_mbps, size_t len_bytes, uint64_t now_ns)
{
	uint32_t most_kbps = line_kbps(ecn, line_mbps);

	run_timer(rp, ecn, most_kbps, now_ns);
	rp->counted_bytes += (uint32_t)len_bytes;
	if (rp->rate_kbps == 0 || ecn->rpg_byte_reset == 0)
		return;
	rp->stage_bytes += (uint32_t)len_bytes;
	if (rp->stage_bytes < ecn->rpg_byte_reset)
		return;
	rp->stage_bytes %= ecn->rpg_byte_reset;
	rp->nb_byte_stages++;
	increase(rp, ecn, most_kbps);
}

/* ---- decrease --------------------------------------------------------- */

static void begin_stages(struct roost_dcqcn *rp, uint64_t now_ns)
{
	rp->nb_time_stages = 0;
	rp->nb_byte_stages = 0;
	rp->stage_bytes = 0;
	rp->stage_at_ns = now_ns;
}

static void reduce(struct roost_dcqcn *rp, const struct roost_ecn *ecn)
{
	uint32_t before_kbps = rp->rate_kbps;
	uint32_t cut_kbps =
		(uint32_t)((uint64_t)before_kbps * rp->alpha >>
			   (ALPHA_SHIFT + ecn->rpg_gd - PARAM_SHIFT));
	uint32_t part_kbps =
		(uint32_t)((uint64_t)before_kbps * ecn->rpg_min_dec_fac / 100);
	uint32_t min_kbps = RTE_MIN(ecn->rpg_min_rate * 1000, before_kbps);

	rp->rate_kbps =
		RTE_MAX(RTE_MAX(before_kbps - cut_kbps, part_kbps), min_kbps);
}

static void begin(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
		  uint32_t most_kbps, uint64_t now_ns)
{
	rp->rate_kbps = most_kbps;
	rp->target_kbps = most_kbps;
	rp->counted_bytes = 0;
	rp->counted_ns = now_ns;
	rp->alpha = ecn->initial_alpha_value << (ALPHA_SHIFT - PARAM_SHIFT);
	if (ecn->rate_to_set_on_first_cnp != 0) {
		rp->rate_kbps = RTE_MIN(ecn->rate_to_set_on_first_cnp * 1000,
					most_kbps);
		rp->target_kbps = rp->rate_kbps;
	} else {
		reduce(rp, ecn);
	}
}

/* A rate far above what the QP sends limits nothing, however often it is cut:
 * a port that is shared by many leaves each of them less. What was sent since
 * the last look is the rate then.
 */
static void validate(struct roost_dcqcn *rp, uint64_t now_ns)
{
	uint64_t time_ns = now_ns - rp->counted_ns, sent_kbps;

	if (time_ns < COUNT_NS ||
	    (rp->counted_bytes < COUNT_BYTES && time_ns < COUNT_MAX_NS))
		return;
	sent_kbps = rp->counted_bytes * 8000000ull / time_ns;
	if (time_ns < COUNT_MAX_NS &&
	    rp->rate_kbps > sent_kbps + sent_kbps / 2) {
		rp->rate_kbps = (uint32_t)sent_kbps;
		rp->target_kbps = rp->rate_kbps;
	}
	rp->counted_bytes = 0;
	rp->counted_ns = now_ns;
}

/* Does this CNP set the target to the rate before it? */
static bool clamps(const struct roost_dcqcn *rp, const struct roost_ecn *ecn)
{
	return ecn->clamp_tgt_rate != 0 || rp->nb_byte_stages != 0 ||
	       (ecn->clamp_tgt_rate_after_time_inc != 0 &&
		rp->nb_time_stages != 0);
}

void roost_dcqcn_on_cnp(struct roost_dcqcn *rp, const struct roost_ecn *ecn,
			uint32_t line_mbps, uint64_t now_ns)
{
	uint32_t most_kbps = line_kbps(ecn, line_mbps);

	if (rp->rate_kbps != 0)
		run_timer(rp, ecn, most_kbps, now_ns);
	if (rp->rate_kbps == 0) {
		begin(rp, ecn, most_kbps, now_ns);
	} else {
		if (now_ns - rp->alpha_ns <
		    ecn->rate_reduce_monitor_period * 1000ull)
			return;
		validate(rp, now_ns);
		if (clamps(rp, ecn))
			rp->target_kbps = rp->rate_kbps;
		decay_alpha(rp, ecn, now_ns);
		reduce(rp, ecn);
	}
	raise_alpha(rp, ecn, now_ns);
	begin_stages(rp, now_ns);
}
