/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_GID_H
#define ROOST_WIRE_GID_H

/*
 * A GID as RoCEv2 uses it: an IPv6 address, or an IPv4 address mapped into
 * ::ffff:0:0/96 (IBTA Annex A17). Bytes are in network order. Pure.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct roost_gid {
	uint8_t b[16];
};

static inline bool roost_gid_eq(const struct roost_gid *a,
				const struct roost_gid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static inline bool roost_gid_is_v4(const struct roost_gid *g)
{
	static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(g->b, v4_prefix, sizeof(v4_prefix)) == 0;
}

static inline bool roost_gid_is_zero(const struct roost_gid *g)
{
	static const struct roost_gid zero;

	return roost_gid_eq(g, &zero);
}

static inline bool roost_gid_is_link_local(const struct roost_gid *g)
{
	return g->b[0] == 0xfe && (g->b[1] & 0xc0) == 0x80;
}

/* addr: the four address bytes in network order. */
static inline struct roost_gid roost_gid_from_v4(const uint8_t addr[4])
{
	struct roost_gid g = { .b = { [10] = 0xff, [11] = 0xff } };

	memcpy(&g.b[12], addr, 4);
	return g;
}

#endif
