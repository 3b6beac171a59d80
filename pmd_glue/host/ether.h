/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ETHER_H
#define ROOST_PMD_GLUE_HOST_ETHER_H

/*
 * The Ethernet header and its VLAN tag. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_ether.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"

/* Offset of the type, and in a tagged frame of the tag before the type. */
#define ROOST_ETHER_TYPE_OFF offsetof(struct rte_ether_hdr, ether_type)

/* The frame is at least ROOST_ETH_LEN long. */
static inline uint16_t roost_ether_type(const uint8_t *frame)
{
	return roost_be16_get(frame + ROOST_ETHER_TYPE_OFF);
}

static inline const uint8_t *roost_ether_src(const uint8_t *frame)
{
	return frame + offsetof(struct rte_ether_hdr, src_addr);
}

/* dst and src may be in the frame. */
static inline void roost_ether_put(uint8_t *frame, const uint8_t dst[6],
				   const uint8_t src[6], uint16_t type)
{
	struct rte_ether_hdr hdr = { .ether_type = rte_cpu_to_be_16(type) };

	memcpy(&hdr.dst_addr, dst, sizeof(hdr.dst_addr));
	memcpy(&hdr.src_addr, src, sizeof(hdr.src_addr));
	memcpy(frame, &hdr, sizeof(hdr));
}

static inline bool roost_ether_is_tagged(const uint8_t *frame, size_t len_bytes)
{
	return len_bytes >= ROOST_ETH_LEN + ROOST_VLAN_LEN &&
	       roost_ether_type(frame) == RTE_ETHER_TYPE_VLAN;
}

/* The VLAN of a frame; 0: none. */
static inline uint16_t roost_ether_vlan_id(const uint8_t *frame,
					   size_t len_bytes)
{
	return roost_ether_is_tagged(frame, len_bytes)
		       ? roost_vlan_id(roost_be16_get(frame + ROOST_ETH_LEN))
		       : 0;
}

/* Copy an untagged frame. If vlan_id is not 0, the copy has a tag of that VLAN
 * and priority 0. to: len_bytes + ROOST_VLAN_LEN bytes.
 */
static inline void roost_ether_copy_tagged(uint8_t *to, const uint8_t *frame,
					   size_t len_bytes, uint16_t vlan_id)
{
	const size_t off = ROOST_ETHER_TYPE_OFF;

	memcpy(to, frame, off);
	to += off;
	if (vlan_id != 0) {
		roost_be16_put(to, RTE_ETHER_TYPE_VLAN);
		roost_be16_put(to + 2, vlan_id);
		to += ROOST_VLAN_LEN;
	}
	memcpy(to, frame + off, len_bytes - off);
}

/* Remove the tag, if there is one, in place. Returns the new start of the
 * frame, which is ROOST_VLAN_LEN bytes shorter if it had a tag.
 */
static inline uint8_t *roost_ether_untag(uint8_t *frame, size_t len_bytes)
{
	if (!roost_ether_is_tagged(frame, len_bytes))
		return frame;
	memmove(frame + ROOST_VLAN_LEN, frame, ROOST_ETHER_TYPE_OFF);
	return frame + ROOST_VLAN_LEN;
}

/* Is it the address of one station: neither a group address nor zero? */
static inline bool roost_mac_is_station(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return (mac[0] & 1) == 0 && memcmp(mac, zero, 6) != 0;
}

#endif
