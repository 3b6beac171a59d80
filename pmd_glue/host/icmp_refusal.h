/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ICMP_REFUSAL_H
#define ROOST_PMD_GLUE_HOST_ICMP_REFUSAL_H

/*
 * Peers on which nobody listens to RoCE: ICMP (RFC 792) and ICMPv6 (RFC 4443)
 * port unreachable, about a RoCEv2 packet. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_refusal {
	struct roost_gid local; /* from where the packet was sent */
	struct roost_gid peer;  /* to where, and who says so */
};

/*
 * Is the frame a port unreachable of the packet's destination, whole, with good
 * checksums, to the packet's source? Reads only inside the frame. Returns 0, or
 * -EINVAL.
 */
int roost_refusal_parse(const uint8_t *frame, size_t len_bytes,
			struct roost_refusal *refusal);

#endif
