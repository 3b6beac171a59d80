/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot, for raw packet QPs: checksums of IPv4, TCP and UDP, by DPDK. */

#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "lib/engine/transport/raw_priv.h"
#include "lib/wire/bytes.h"

/* Where they are in a frame. */
struct places {
	struct rte_ipv4_hdr *ipv4; /* NULL: none */
	struct rte_ipv6_hdr *ipv6; /* likewise */
	void *l4;                  /* NULL: no TCP and no UDP, or a part */
	rte_be16_t *l4_cksum;
	bool is_udp;
};

static void find_l4(struct places *p, uint8_t proto, uint8_t *l4, size_t len)
{
	if (proto == IPPROTO_TCP && len >= sizeof(struct rte_tcp_hdr)) {
		p->l4 = l4;
		p->l4_cksum = &((struct rte_tcp_hdr *)(void *)l4)->cksum;
	} else if (proto == IPPROTO_UDP && len >= sizeof(struct rte_udp_hdr)) {
		p->l4 = l4;
		p->l4_cksum = &((struct rte_udp_hdr *)(void *)l4)->dgram_cksum;
		p->is_udp = true;
	}
}

static bool find_ipv4(struct places *p, uint8_t *l3, size_t len)
{
	struct rte_ipv4_hdr *ip = (void *)l3;
	size_t total, ihl;

	if (len < sizeof(*ip) || ip->version_ihl >> 4 != 4)
		return false;
	ihl = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	if (ihl < sizeof(*ip) || total < ihl || total > len)
		return false;
	p->ipv4 = ip;
	/* The checksum of a fragment is one of the whole datagram. */
	if ((rte_be_to_cpu_16(ip->fragment_offset) &
	     (RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) == 0)
		find_l4(p, ip->next_proto_id, l3 + ihl, total - ihl);
	return true;
}

static bool find_ipv6(struct places *p, uint8_t *l3, size_t len)
{
	struct rte_ipv6_hdr *ip = (void *)l3;
	size_t payload;

	if (len < sizeof(*ip) || l3[0] >> 4 != 6)
		return false;
	payload = rte_be_to_cpu_16(ip->payload_len);
	if (payload > len - sizeof(*ip))
		return false;
	p->ipv6 = ip;
	find_l4(p, ip->proto, l3 + sizeof(*ip), payload);
	return true;
}

size_t roost_raw_l3(const uint8_t *frame, size_t len, uint16_t *type)
{
	size_t at = offsetof(struct rte_ether_hdr, ether_type);

	do {
		if (len < at + 6)
			return 0;
		*type = roost_be16_get(frame + at);
		at += 4;
	} while (*type == RTE_ETHER_TYPE_VLAN || *type == RTE_ETHER_TYPE_QINQ);
	return at - 2;
}

/* Returns false if the frame is not IP. */
static bool find(struct places *p, uint8_t *frame, size_t len)
{
	uint16_t type;
	size_t at = roost_raw_l3(frame, len, &type);

	*p = (struct places){ 0 };
	if (at == 0)
		return false;
	if (type == RTE_ETHER_TYPE_IPV4)
		return find_ipv4(p, frame + at, len - at);
	return type == RTE_ETHER_TYPE_IPV6 &&
	       find_ipv6(p, frame + at, len - at);
}

/* Over pseudo header, header and data: the checksum that is to be filled in, if
 * its place is 0. Of a right one that is filled in, 0 or, for UDP, 0xffff.
 */
static uint16_t sum_l4(const struct places *p)
{
	return p->ipv4 ? rte_ipv4_udptcp_cksum(p->ipv4, p->l4)
		       : rte_ipv6_udptcp_cksum(p->ipv6, p->l4);
}

void roost_raw_csum_fill(uint8_t *frame, size_t len_bytes)
{
	struct places p;

	if (!find(&p, frame, len_bytes))
		return;
	if (p.ipv4) {
		p.ipv4->hdr_checksum = 0;
		p.ipv4->hdr_checksum = rte_ipv4_cksum(p.ipv4);
	}
	if (!p.l4)
		return;
	*p.l4_cksum = 0;
	*p.l4_cksum = sum_l4(&p);
}

bool roost_raw_csum_ok(const uint8_t *frame, size_t len_bytes)
{
	struct places p;
	uint16_t sum;

	/* Nothing is written. */
	if (!find(&p, (uint8_t *)(uintptr_t)frame, len_bytes))
		return false;
	if (p.ipv4 && rte_raw_cksum(p.ipv4, rte_ipv4_hdr_len(p.ipv4)) != 0xffff)
		return false;
	if (!p.l4)
		return true;
	/* UDP over IPv4 may have none (RFC 768). */
	if (p.ipv4 && p.is_udp && *p.l4_cksum == 0)
		return true;
	sum = sum_l4(&p);
	return sum == 0 || (p.is_udp && sum == 0xffff);
}
