/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ND_H
#define ROOST_PMD_GLUE_HOST_ND_H

/*
 * Neighbour Discovery (RFC 4861): encodes and decodes neighbour solicitations
 * and advertisements. Pure; pmd_glue/host/host.c decides when to ask and to
 * answer.
 */

#include <netinet/icmp6.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

/* Most bytes that roost_nd_build() writes: with a link-layer address option. */
#define ROOST_ND_FRAME_MAX 86u

enum roost_nd_type {
	ROOST_ND_SOLICIT = ND_NEIGHBOR_SOLICIT,
	ROOST_ND_ADVERT = ND_NEIGHBOR_ADVERT,
};

struct roost_nd {
	enum roost_nd_type type;
	struct roost_gid src; /* zero: duplicate address detection */
	struct roost_gid dst;
	struct roost_gid target;
	bool has_mac;   /* link-layer address option: of the source in a */
	uint8_t mac[6]; /* solicitation, of the target in an advertisement */
	bool router;    /* the rest: advertisements only */
	bool solicited;
	bool override;
};

/*
 * Decode a frame that starts with its Ethernet header, with all checks of RFC
 * 4861 (7.1.1, 7.1.2): hop limit, checksum, code, lengths, options.
 * Reads only inside the frame. Returns 0, or -EINVAL.
 */
int roost_nd_parse(const uint8_t *frame, size_t len_bytes, struct roost_nd *nd);

/* Write the frame. Returns its length. */
size_t roost_nd_build(const struct roost_nd *nd, const uint8_t src_mac[6],
		      const uint8_t dst_mac[6],
		      uint8_t frame[ROOST_ND_FRAME_MAX]);

/* fe80::/64 with the modified EUI-64 of the MAC (RFC 4291, appendix A). */
struct roost_gid roost_nd_link_local(const uint8_t mac[6]);

/* The solicited-node multicast address of target (RFC 4291, 2.7.1). */
struct roost_gid roost_nd_solicited_node(const struct roost_gid *target);

#endif
