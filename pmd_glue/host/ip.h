/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_IP_H
#define ROOST_PMD_GLUE_HOST_IP_H

/*
 * IP packets around ICMP, ICMPv6, IGMP and MLD: finds and writes headers and
 * checksums. Pure. Frames start with their Ethernet header and have no tag;
 * they may be at any address.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include <roost/gid.h>

/* Offsets of the IP header, and of the payload of IPv6, in a frame. */
#define ROOST_IP_OFF sizeof(struct rte_ether_hdr)
#define ROOST_IPV6_PAYLOAD_OFF (ROOST_IP_OFF + sizeof(struct rte_ipv6_hdr))

struct roost_ip_packet {
	struct roost_gid src;
	struct roost_gid dst;
	uint8_t hop_limit; /* IPv4: TTL */
	size_t off_bytes;  /* of the payload, from the start of the frame */
	size_t len_bytes;  /* of the payload */
};

/*
 * Decode an IPv4 packet of the protocol proto. Reads only inside the frame.
 * Returns 0, or -EINVAL: another packet, an incomplete one, a fragment, or a
 * wrong header checksum.
 */
int roost_ipv4_parse(const uint8_t *frame, size_t len_bytes, uint8_t proto,
		     struct roost_ip_packet *ip);

/* As roost_ipv4_parse(), for IPv6. proto: the first next header. */
int roost_ipv6_parse(const uint8_t *frame, size_t len_bytes, uint8_t proto,
		     struct roost_ip_packet *ip);

/* Write the Ethernet and the IPv6 header. ip->off_bytes is not read. */
void roost_ipv6_put(uint8_t *frame, const uint8_t dst_mac[6],
		    const uint8_t src_mac[6], uint8_t proto,
		    const struct roost_ip_packet *ip);

/* rte_raw_cksum() of bytes with a correct Internet checksum (RFC 1071). */
#define ROOST_INET_OK 0xffff

/* Write the Internet checksum of len_bytes at p to sum, which is inside. */
void roost_inet_seal(uint8_t *sum, const uint8_t *p, size_t len_bytes);

/* The same for a message of ICMPv6, whose checksum includes the addresses. */
bool roost_icmp6_ok(const uint8_t src[16], const uint8_t dst[16],
		    const uint8_t *icmp, size_t len_bytes);
void roost_icmp6_seal(const uint8_t src[16], const uint8_t dst[16],
		      uint8_t *icmp, size_t len_bytes);

#endif
