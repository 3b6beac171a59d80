/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/icmp_refusal.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdbool.h>
#include <string.h>

#include <rte_icmp.h>
#include <rte_udp.h>

#include "lib/wire/frame.h"
#include "pmd_glue/host/ip.h"

/* The message has the beginning of the packet that it is about. */
static bool is_unreachable(const uint8_t *frame,
			   const struct roost_ip_packet *ip, uint8_t type,
			   uint8_t code)
{
	struct rte_icmp_hdr hdr; /* ICMPv6 has the same */

	if (ip->len_bytes < sizeof(hdr))
		return false;
	memcpy(&hdr, frame + ip->off_bytes, sizeof(hdr));
	return hdr.icmp_type == type && hdr.icmp_code == code;
}

static bool is_to_roce(const uint8_t *udp, size_t len_bytes)
{
	struct rte_udp_hdr hdr;

	if (len_bytes < sizeof(hdr))
		return false;
	memcpy(&hdr, udp, sizeof(hdr));
	return hdr.dst_port == rte_cpu_to_be_16(ROOST_UDP_PORT);
}

/* Its header only: the rest of the packet is cut off, and routers may have
 * changed its checksum.
 */
static bool parse_sent_v4(const uint8_t *sent, size_t len_bytes,
			  struct roost_refusal *refusal)
{
	struct rte_ipv4_hdr hdr;
	size_t hdr_bytes;

	if (len_bytes < sizeof(hdr))
		return false;
	memcpy(&hdr, sent, sizeof(hdr));
	hdr_bytes = rte_ipv4_hdr_len(&hdr);
	refusal->local = roost_gid_from_v4((const uint8_t *)&hdr.src_addr);
	refusal->peer = roost_gid_from_v4((const uint8_t *)&hdr.dst_addr);
	return hdr.version_ihl >> 4 == IPVERSION && hdr_bytes >= sizeof(hdr) &&
	       hdr_bytes <= len_bytes && hdr.next_proto_id == IPPROTO_UDP &&
	       is_to_roce(sent + hdr_bytes, len_bytes - hdr_bytes);
}

static bool parse_sent_v6(const uint8_t *sent, size_t len_bytes,
			  struct roost_refusal *refusal)
{
	struct rte_ipv6_hdr hdr;

	if (len_bytes < sizeof(hdr))
		return false;
	memcpy(&hdr, sent, sizeof(hdr));
	memcpy(refusal->local.b, &hdr.src_addr, sizeof(refusal->local.b));
	memcpy(refusal->peer.b, &hdr.dst_addr, sizeof(refusal->peer.b));
	return rte_be_to_cpu_32(hdr.vtc_flow) >> 28 == 6 &&
	       hdr.proto == IPPROTO_UDP &&
	       is_to_roce(sent + sizeof(hdr), len_bytes - sizeof(hdr));
}

int roost_refusal_parse(const uint8_t *frame, size_t len_bytes,
			struct roost_refusal *refusal)
{
	const size_t sent_off = sizeof(struct rte_icmp_hdr);
	bool (*parse_sent)(const uint8_t *sent, size_t len_bytes,
			   struct roost_refusal *refusal);
	struct roost_ip_packet ip;
	const uint8_t *icmp;

	if (roost_ipv4_parse(frame, len_bytes, IPPROTO_ICMP, &ip) == 0) {
		icmp = frame + ip.off_bytes;
		if (!is_unreachable(frame, &ip, ICMP_DEST_UNREACH,
				    ICMP_PORT_UNREACH) ||
		    rte_raw_cksum(icmp, ip.len_bytes) != ROOST_INET_OK)
			return -EINVAL;
		parse_sent = parse_sent_v4;
	} else if (roost_ipv6_parse(frame, len_bytes, IPPROTO_ICMPV6, &ip) ==
		   0) {
		icmp = frame + ip.off_bytes;
		if (!is_unreachable(frame, &ip, ICMP6_DST_UNREACH,
				    ICMP6_DST_UNREACH_NOPORT) ||
		    !roost_icmp6_ok(ip.src.b, ip.dst.b, icmp, ip.len_bytes))
			return -EINVAL;
		parse_sent = parse_sent_v6;
	} else {
		return -EINVAL;
	}
	if (!parse_sent(icmp + sent_off, ip.len_bytes - sent_off, refusal) ||
	    !roost_gid_eq(&refusal->local, &ip.dst) ||
	    !roost_gid_eq(&refusal->peer, &ip.src))
		return -EINVAL;
	return 0;
}
