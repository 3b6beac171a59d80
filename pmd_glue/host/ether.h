/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ETHER_H
#define ROOST_PMD_GLUE_HOST_ETHER_H

/*
 * The Ethernet header and the Internet checksum, as far as ARP, ND and echo
 * need them. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"

#define ROOST_ETHERTYPE_IPV4 0x0800
#define ROOST_ETHERTYPE_ARP 0x0806
#define ROOST_ETHERTYPE_VLAN 0x8100
#define ROOST_ETHERTYPE_IPV6 0x86dd

/* The frame is at least ROOST_ETH_LEN long. */
static inline uint16_t roost_ether_type(const uint8_t *frame)
{
	return roost_be16_get(frame + 12);
}

static inline void roost_ether_put(uint8_t *frame, const uint8_t dst[6],
				   const uint8_t src[6], uint16_t type)
{
	memcpy(frame, dst, 6);
	memcpy(frame + 6, src, 6);
	roost_be16_put(frame + 12, type);
}

/* Offset of the type, and in a tagged frame of the tag before the type. */
#define ROOST_ETHER_TYPE_OFF 12u

static inline bool roost_ether_is_tagged(const uint8_t *frame, size_t len_bytes)
{
	return len_bytes >= ROOST_ETH_LEN + ROOST_VLAN_LEN &&
	       roost_ether_type(frame) == ROOST_ETHERTYPE_VLAN;
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
		roost_be16_put(to, ROOST_ETHERTYPE_VLAN);
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

/*
 * The Internet checksum (RFC 1071). Add all parts with roost_inet_sum() (only
 * the last part may have an odd length), then call roost_inet_fold(). The
 * result is 0 if the parts include a correct checksum.
 */
static inline uint32_t roost_inet_sum(uint32_t sum, const uint8_t *p,
				      size_t len_bytes)
{
	for (; len_bytes >= 2; p += 2, len_bytes -= 2)
		sum += roost_be16_get(p);
	if (len_bytes)
		sum += (uint32_t)p[0] << 8;
	return sum;
}

static inline uint16_t roost_inet_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Start of an ICMPv6 checksum: the pseudo header (RFC 8200, 8.1). */
static inline uint32_t roost_icmp6_sum(const uint8_t src[16],
				       const uint8_t dst[16], size_t len_bytes)
{
	uint32_t sum = roost_inet_sum(0, src, 16);

	return roost_inet_sum(sum, dst, 16) + (uint32_t)len_bytes +
	       58 /* ICMPv6 */;
}

#endif
