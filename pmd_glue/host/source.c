/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/source.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define V4_BITS 96u /* of ::ffff:0:0 before an IPv4 address */

/* RFC 4291, 2.7. */
#define SCOPE_LINK 0x2u
#define SCOPE_SITE 0x5u
#define SCOPE_GLOBAL 0xeu

/* The first row that matches counts: longer prefixes come first. */
static const struct {
	struct roost_gid prefix;
	uint8_t len_bits;
	uint8_t label;
} policies[] = {
	{ { { [15] = 1 } }, 128, 0 },
	{ { { [10] = 0xff, [11] = 0xff } }, V4_BITS, 4 },
	{ { { 0 } }, 96, 3 },
	{ { { 0x20, 0x01 } }, 32, 5 },
	{ { { 0x20, 0x02 } }, 16, 2 },
	{ { { 0x3f, 0xfe } }, 16, 12 },
	{ { { 0xfe, 0xc0 } }, 10, 11 },
	{ { { 0xfc } }, 7, 13 },
	{ { { 0 } }, 0, 1 },
};

static unsigned int common_bits(const struct roost_gid *a,
				const struct roost_gid *b)
{
	for (unsigned int i = 0; i < sizeof(a->b); i++) {
		unsigned int differ = a->b[i] ^ b->b[i];

		if (differ)
			return 8 * i + (unsigned int)__builtin_clz(differ) - 24;
	}
	return 128;
}

static unsigned int label_of(const struct roost_gid *gid)
{
	size_t i = 0;

	while (common_bits(&policies[i].prefix, gid) < policies[i].len_bits)
		i++;
	return policies[i].label;
}

static unsigned int scope_of(const struct roost_gid *gid)
{
	if (roost_gid_is_v4(gid))
		return gid->b[12] == 127 ||
				       (gid->b[12] == 169 && gid->b[13] == 254)
			       ? SCOPE_LINK
			       : SCOPE_GLOBAL;
	if (roost_gid_is_multicast(gid))
		return gid->b[1] & 0xfu;
	if (roost_gid_is_link_local(gid))
		return SCOPE_LINK;
	return gid->b[0] == 0xfe && (gid->b[1] & 0xc0) == 0xc0 ? SCOPE_SITE
							       : SCOPE_GLOBAL;
}

/* A candidate address, and its prefix length in bits of an IPv6 address. */
struct candidate {
	const struct roost_gid *gid;
	unsigned int len_bits;
};

static unsigned int matching_bits(const struct candidate *c,
				  const struct roost_gid *to)
{
	unsigned int bits = common_bits(c->gid, to);

	return bits < c->len_bits ? bits : c->len_bits;
}

/* Rule 2. Returns above 0: a is better; below: b. */
static int compare_scopes(unsigned int a, unsigned int b, unsigned int d)
{
	if (a == b)
		return 0;
	if (a < b)
		return a < d ? -1 : 1;
	return b < d ? 1 : -1;
}

/* near: the address that the subnet should contain. */
static bool is_better(const struct candidate *a, const struct candidate *b,
		      const struct roost_gid *dgid,
		      const struct roost_gid *near)
{
	unsigned int label = label_of(dgid);
	int scopes;

	if (roost_gid_eq(b->gid, dgid) || roost_gid_eq(a->gid, dgid))
		return !roost_gid_eq(b->gid, dgid);
	scopes = compare_scopes(scope_of(a->gid), scope_of(b->gid),
				scope_of(dgid));
	if (scopes)
		return scopes > 0;
	if ((label_of(a->gid) == label) != (label_of(b->gid) == label))
		return label_of(a->gid) == label;
	if (roost_gid_is_v4(dgid))
		return matching_bits(a, near) == a->len_bits &&
		       matching_bits(b, near) < b->len_bits;
	return matching_bits(a, near) > matching_bits(b, near);
}

/* For IPv4, the next hop to dgid if there is one; otherwise dgid. */
static const struct roost_gid *neighbour(const struct roost_routes *routes,
					 const struct roost_gid *dgid,
					 struct roost_gid *hop)
{
	if (roost_gid_is_v4(dgid) &&
	    roost_route_next_hop(routes, dgid, dgid, hop) == 0)
		return hop;
	return dgid;
}

bool roost_source_select(const struct roost_routes *routes,
			 const struct roost_gid *link_local,
			 const struct roost_gid *dgid, struct roost_gid *sgid)
{
	const struct roost_prefixes *own = &routes->on_link;
	bool v4 = roost_gid_is_v4(dgid);
	struct candidate best = { .gid = NULL }, c;
	const struct roost_gid *near;
	struct roost_gid hop;

	near = neighbour(routes, dgid, &hop);
	for (unsigned int i = 0; i < own->nb + !v4; i++) {
		if (i == own->nb)
			c = (struct candidate){ link_local, 64 };
		else
			c = (struct candidate){
				&own->v[i].gid,
				own->v[i].len_bits + (v4 ? V4_BITS : 0),
			};
		if (roost_gid_is_v4(c.gid) == v4 &&
		    (!best.gid || is_better(&c, &best, dgid, near)))
			best = c;
	}
	if (best.gid)
		*sgid = *best.gid;
	return best.gid != NULL;
}
