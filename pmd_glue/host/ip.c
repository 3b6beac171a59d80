/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/ip.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <string.h>

#include "pmd_glue/host/ether.h"

int roost_ipv4_parse(const uint8_t *frame, size_t len_bytes, uint8_t proto,
		     struct roost_ip_packet *ip)
{
	const uint16_t fragment =
		RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK;
	const uint8_t *at = frame + ROOST_IP_OFF;
	struct rte_ipv4_hdr hdr;
	size_t hdr_bytes, ip_bytes;

	if (len_bytes < ROOST_IP_OFF + sizeof(hdr) ||
	    roost_ether_type(frame) != RTE_ETHER_TYPE_IPV4)
		return -EINVAL;
	memcpy(&hdr, at, sizeof(hdr));
	hdr_bytes = rte_ipv4_hdr_len(&hdr);
	ip_bytes = rte_be_to_cpu_16(hdr.total_length);
	if (hdr.version_ihl >> 4 != IPVERSION || hdr.next_proto_id != proto ||
	    hdr_bytes < sizeof(hdr) || ip_bytes < hdr_bytes ||
	    ip_bytes > len_bytes - ROOST_IP_OFF ||
	    (rte_be_to_cpu_16(hdr.fragment_offset) & fragment) ||
	    rte_raw_cksum(at, hdr_bytes) != ROOST_INET_OK)
		return -EINVAL;
	ip->src = roost_gid_from_v4((const uint8_t *)&hdr.src_addr);
	ip->dst = roost_gid_from_v4((const uint8_t *)&hdr.dst_addr);
	ip->hop_limit = hdr.time_to_live;
	ip->off_bytes = ROOST_IP_OFF + hdr_bytes;
	ip->len_bytes = ip_bytes - hdr_bytes;
	return 0;
}

int roost_ipv6_parse(const uint8_t *frame, size_t len_bytes, uint8_t proto,
		     struct roost_ip_packet *ip)
{
	struct rte_ipv6_hdr hdr;

	if (len_bytes < ROOST_IPV6_PAYLOAD_OFF ||
	    roost_ether_type(frame) != RTE_ETHER_TYPE_IPV6)
		return -EINVAL;
	memcpy(&hdr, frame + ROOST_IP_OFF, sizeof(hdr));
	ip->off_bytes = ROOST_IPV6_PAYLOAD_OFF;
	ip->len_bytes = rte_be_to_cpu_16(hdr.payload_len);
	if (rte_be_to_cpu_32(hdr.vtc_flow) >> 28 != 6 || hdr.proto != proto ||
	    ip->len_bytes > len_bytes - ROOST_IPV6_PAYLOAD_OFF)
		return -EINVAL;
	memcpy(ip->src.b, &hdr.src_addr, sizeof(ip->src.b));
	memcpy(ip->dst.b, &hdr.dst_addr, sizeof(ip->dst.b));
	ip->hop_limit = hdr.hop_limits;
	return 0;
}

void roost_ipv6_put(uint8_t *frame, const uint8_t dst_mac[6],
		    const uint8_t src_mac[6], uint8_t proto,
		    const struct roost_ip_packet *ip)
{
	struct rte_ipv6_hdr hdr = {
		.vtc_flow = rte_cpu_to_be_32(6u << 28),
		.payload_len = rte_cpu_to_be_16((uint16_t)ip->len_bytes),
		.proto = proto,
		.hop_limits = ip->hop_limit,
	};

	memcpy(&hdr.src_addr, ip->src.b, sizeof(ip->src.b));
	memcpy(&hdr.dst_addr, ip->dst.b, sizeof(ip->dst.b));
	roost_ether_put(frame, dst_mac, src_mac, RTE_ETHER_TYPE_IPV6);
	memcpy(frame + ROOST_IP_OFF, &hdr, sizeof(hdr));
}

void roost_inet_seal(uint8_t *sum, const uint8_t *p, size_t len_bytes)
{
	uint16_t cksum;

	memset(sum, 0, sizeof(cksum));
	cksum = (uint16_t)~rte_raw_cksum(p, len_bytes);
	memcpy(sum, &cksum, sizeof(cksum));
}

static uint16_t icmp6_cksum(const uint8_t src[16], const uint8_t dst[16],
			    const uint8_t *icmp, size_t len_bytes)
{
	struct rte_ipv6_hdr pseudo = {
		.payload_len = rte_cpu_to_be_16((uint16_t)len_bytes),
		.proto = IPPROTO_ICMPV6,
	};

	memcpy(&pseudo.src_addr, src, 16);
	memcpy(&pseudo.dst_addr, dst, 16);
	return rte_ipv6_udptcp_cksum(&pseudo, icmp);
}

bool roost_icmp6_ok(const uint8_t src[16], const uint8_t dst[16],
		    const uint8_t *icmp, size_t len_bytes)
{
	return icmp6_cksum(src, dst, icmp, len_bytes) == 0;
}

void roost_icmp6_seal(const uint8_t src[16], const uint8_t dst[16],
		      uint8_t *icmp, size_t len_bytes)
{
	uint8_t *sum = icmp + offsetof(struct icmp6_hdr, icmp6_cksum);
	uint16_t cksum;

	memset(sum, 0, sizeof(cksum));
	cksum = icmp6_cksum(src, dst, icmp, len_bytes);
	memcpy(sum, &cksum, sizeof(cksum));
}
