/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_PSN_H
#define ROOST_WIRE_PSN_H

/*
 * Packet sequence numbers: 24-bit, compared in a circle (IBTA 9.7.2).
 *
 * Pure value type. A PSN never mixes with a byte count or a QPN: the compiler
 * refuses it. Names of variables say which PSN they hold: next_psn,
 * oldest_unacked_psn, expected_psn.
 */

#include <stdbool.h>
#include <stdint.h>

#define ROOST_PSN_MASK 0xFFFFFFu

struct roost_psn {
	uint32_t v; /* always <= ROOST_PSN_MASK */
};

static inline struct roost_psn roost_psn(uint32_t v)
{
	return (struct roost_psn){ v & ROOST_PSN_MASK };
}

static inline struct roost_psn roost_psn_add(struct roost_psn p, uint32_t n)
{
	return roost_psn(p.v + n);
}

static inline struct roost_psn roost_psn_sub(struct roost_psn p, uint32_t n)
{
	return roost_psn(p.v - n);
}

static inline bool roost_psn_eq(struct roost_psn a, struct roost_psn b)
{
	return a.v == b.v;
}

/*
 * How far a is ahead of b on the circle, in packets: -2^23 .. 2^23 - 1.
 * Negative when a is behind (a duplicate, seen from an expected b).
 */
static inline int32_t roost_psn_diff(struct roost_psn a, struct roost_psn b)
{
	return (int32_t)((a.v - b.v) << 8) >> 8;
}

#endif
