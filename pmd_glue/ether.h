/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_ETHER_H
#define ROOST_PMD_GLUE_ETHER_H

/*
 * The Ethernet header and the Internet checksum, as far as ARP, ND and echo
 * need them. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/wire/bytes.h"

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

/* The address of one station: neither a group nor zero. */
static inline bool roost_mac_is_station(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return (mac[0] & 1) == 0 && memcmp(mac, zero, 6) != 0;
}

/*
 * The Internet checksum (RFC 1071): add up parts of even length (the last one
 * may be odd), then fold. Zero when the sum includes a correct checksum.
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
