/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/echo.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdbool.h>
#include <string.h>

#include <rte_icmp.h>

#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/ip.h"

#define REPLY_TTL 64
#define FIRST_GROUP_V4 224 /* first byte of multicast, class E, broadcast */

static bool is_request(const uint8_t *frame, const struct roost_ip_packet *ip,
		       uint8_t type)
{
	struct rte_icmp_hdr hdr; /* ICMPv6 has the same */

	if (ip->len_bytes < sizeof(hdr))
		return false;
	memcpy(&hdr, frame + ip->off_bytes, sizeof(hdr));
	return hdr.icmp_type == type && hdr.icmp_code == 0;
}

static bool parse_v4(const uint8_t *frame, size_t len_bytes,
		     struct roost_ip_packet *ip)
{
	return roost_ipv4_parse(frame, len_bytes, IPPROTO_ICMP, ip) == 0 &&
	       is_request(frame, ip, ICMP_ECHO) &&
	       rte_raw_cksum(frame + ip->off_bytes, ip->len_bytes) ==
		       ROOST_INET_OK &&
	       ip->src.b[12] != 0 && ip->src.b[12] < FIRST_GROUP_V4;
}

/* No IPv4-mapped address in an IPv6 header (RFC 4291, 2.5.5.2) */
static bool parse_v6(const uint8_t *frame, size_t len_bytes,
		     struct roost_ip_packet *ip)
{
	return roost_ipv6_parse(frame, len_bytes, IPPROTO_ICMPV6, ip) == 0 &&
	       is_request(frame, ip, ICMP6_ECHO_REQUEST) &&
	       roost_icmp6_ok(ip->src.b, ip->dst.b, frame + ip->off_bytes,
			      ip->len_bytes) &&
	       !roost_gid_is_zero(&ip->src) && ip->src.b[0] != 0xff &&
	       !roost_gid_is_v4(&ip->src) && !roost_gid_is_v4(&ip->dst);
}

int roost_echo_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_echo *echo)
{
	struct roost_ip_packet ip;

	if (len_bytes < ROOST_ETH_LEN ||
	    !roost_mac_is_station(roost_ether_src(frame)) ||
	    !(parse_v4(frame, len_bytes, &ip) ||
	      parse_v6(frame, len_bytes, &ip)))
		return -EINVAL;
	echo->src = ip.src;
	echo->dst = ip.dst;
	echo->len_bytes = ip.off_bytes + ip.len_bytes;
	echo->icmp_off_bytes = ip.off_bytes;
	return 0;
}

static void reply_v4(const struct roost_echo *echo, uint8_t *ip, uint8_t *icmp,
		     size_t icmp_bytes)
{
	struct rte_ipv4_hdr hdr;

	memcpy(&hdr, ip, sizeof(hdr));
	memcpy(&hdr.src_addr, &echo->dst.b[12], sizeof(hdr.src_addr));
	memcpy(&hdr.dst_addr, &echo->src.b[12], sizeof(hdr.dst_addr));
	hdr.time_to_live = REPLY_TTL;
	memcpy(ip, &hdr, sizeof(hdr));
	roost_inet_seal(ip + offsetof(struct rte_ipv4_hdr, hdr_checksum), ip,
			(size_t)(icmp - ip));
	icmp[offsetof(struct rte_icmp_hdr, icmp_type)] = ICMP_ECHOREPLY;
	roost_inet_seal(icmp + offsetof(struct rte_icmp_hdr, icmp_cksum), icmp,
			icmp_bytes);
}

static void reply_v6(const struct roost_echo *echo, uint8_t *ip, uint8_t *icmp,
		     size_t icmp_bytes)
{
	struct rte_ipv6_hdr hdr;

	memcpy(&hdr, ip, sizeof(hdr));
	memcpy(&hdr.src_addr, echo->dst.b, sizeof(hdr.src_addr));
	memcpy(&hdr.dst_addr, echo->src.b, sizeof(hdr.dst_addr));
	hdr.hop_limits = REPLY_TTL;
	memcpy(ip, &hdr, sizeof(hdr));
	icmp[offsetof(struct icmp6_hdr, icmp6_type)] = ICMP6_ECHO_REPLY;
	roost_icmp6_seal(echo->dst.b, echo->src.b, icmp, icmp_bytes);
}

void roost_echo_reply(const struct roost_echo *echo, uint8_t *frame)
{
	uint8_t *icmp = frame + echo->icmp_off_bytes;
	size_t icmp_bytes = echo->len_bytes - echo->icmp_off_bytes;

	roost_ether_put(frame, roost_ether_src(frame), frame,
			roost_ether_type(frame));
	(roost_gid_is_v4(&echo->src)
		 ? reply_v4
		 : reply_v6)(echo, frame + ROOST_IP_OFF, icmp, icmp_bytes);
}
