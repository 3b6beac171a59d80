/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_GID_H
#define ROOST_GID_H

/*
 * A GID as RoCEv2 uses it: an IPv6 address, or an IPv4 address mapped into
 * ::ffff:0:0/96 (IBTA Annex A17). Bytes are in network order. Pure.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

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
	static const uint8_t v4_prefix[12] = { 0, 0, 0, 0, 0,    0,
					       0, 0, 0, 0, 0xff, 0xff };

	return memcmp(g->b, v4_prefix, sizeof(v4_prefix)) == 0;
}

static inline bool roost_gid_is_zero(const struct roost_gid *g)
{
	static const struct roost_gid zero = { { 0 } };

	return roost_gid_eq(g, &zero);
}

static inline bool roost_gid_is_link_local(const struct roost_gid *g)
{
	return g->b[0] == 0xfe && (g->b[1] & 0xc0) == 0x80;
}

static inline bool roost_gid_is_multicast(const struct roost_gid *g)
{
	return roost_gid_is_v4(g) ? (g->b[12] & 0xf0) == 0xe0 : g->b[0] == 0xff;
}

/* True for an address that a host can have: no multicast group, broadcast,
 * loopback or unspecified address (RFC 1122, 3.2.1.3).
 */
static inline bool roost_v4_is_unicast(const uint8_t addr[4])
{
	return addr[0] != 0 && addr[0] != 127 && (addr[0] & 0xf0) != 0xe0 &&
	       (addr[0] & addr[1] & addr[2] & addr[3]) != 0xff;
}

/* The same test for any GID (RFC 4291, 2.5.2, 2.5.3). */
static inline bool roost_gid_is_unicast(const struct roost_gid *g)
{
	static const struct roost_gid loopback = { { 0, 0, 0, 0, 0, 0, 0, 0, 0,
						     0, 0, 0, 0, 0, 0, 1 } };

	if (roost_gid_is_v4(g))
		return roost_v4_is_unicast(&g->b[12]);
	return g->b[0] != 0xff && !roost_gid_is_zero(g) &&
	       !roost_gid_eq(g, &loopback);
}

/* The MAC of a group: 23 bits of IPv4 (RFC 1112), 32 of IPv6 (RFC 2464). */
static inline void roost_gid_multicast_mac(const struct roost_gid *g,
					   uint8_t mac[6])
{
	if (roost_gid_is_v4(g)) {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = g->b[13] & 0x7f;
		mac[4] = g->b[14];
		mac[5] = g->b[15];
	} else {
		mac[0] = 0x33;
		mac[1] = 0x33;
		memcpy(mac + 2, &g->b[12], 4);
	}
}

/* addr: the four address bytes in network order. */
static inline struct roost_gid roost_gid_from_v4(const uint8_t addr[4])
{
	struct roost_gid g = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0,
				 0, 0 } };

	memcpy(&g.b[12], addr, 4);
	return g;
}

#ifdef __cplusplus
}
#endif

#endif
