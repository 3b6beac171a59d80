/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Hot, for raw packet QPs: TCP segments of one request. Each is made when it is
 * sent, out of the program's memory. librte_gso would need the whole message in
 * mbufs first, one copy more, and ports that take chains of them.
 */

#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "lib/engine/transport/raw_priv.h"
#include "lib/wire/bytes.h"

/* Offsets in a header; l4 0: it is none of TCP. */
struct places {
	size_t l3, l4;
	bool is_ipv6;
};

static size_t find_l4(const uint8_t *l3, size_t len, bool is_ipv6)
{
	const struct rte_ipv4_hdr *ipv4 = (const void *)l3;
	const struct rte_ipv6_hdr *ipv6 = (const void *)l3;

	if (is_ipv6)
		return len >= sizeof(*ipv6) && l3[0] >> 4 == 6 &&
				       ipv6->proto == IPPROTO_TCP
			       ? sizeof(*ipv6)
			       : 0;
	return len >= sizeof(*ipv4) && l3[0] >> 4 == 4 &&
			       rte_ipv4_hdr_len(ipv4) >= sizeof(*ipv4) &&
			       ipv4->next_proto_id == IPPROTO_TCP
		       ? rte_ipv4_hdr_len(ipv4)
		       : 0;
}

static struct places find(const uint8_t *header, size_t len)
{
	struct places p = { 0 };
	uint16_t type;
	size_t l4;

	p.l3 = roost_raw_l3(header, len, &type);
	if (p.l3 == 0)
		return p;
	p.is_ipv6 = type == RTE_ETHER_TYPE_IPV6;
	if (!p.is_ipv6 && type != RTE_ETHER_TYPE_IPV4)
		return p;
	l4 = find_l4(header + p.l3, len - p.l3, p.is_ipv6);
	p.l4 = l4 == 0 ? 0 : p.l3 + l4;
	return p;
}

bool roost_raw_tso_is_header(const uint8_t *header, size_t header_bytes)
{
	const struct places p = find(header, header_bytes);
	const struct rte_tcp_hdr *tcp = (const void *)(header + p.l4);

	return p.l4 != 0 && header_bytes >= p.l4 + sizeof(*tcp) &&
	       tcp->data_off >> 4 >= 5 &&
	       header_bytes == p.l4 + (size_t)(tcp->data_off >> 4) * 4;
}

void roost_raw_tso_segment(uint8_t *frame, size_t frame_bytes, uint32_t index,
			   uint32_t offset_bytes, bool is_last)
{
	const struct places p = find(frame, frame_bytes);
	struct rte_ipv4_hdr *ipv4 = (void *)(frame + p.l3);
	struct rte_ipv6_hdr *ipv6 = (void *)(frame + p.l3);
	struct rte_tcp_hdr *tcp = (void *)(frame + p.l4);
	size_t packet_bytes = frame_bytes - p.l3;

	if (p.is_ipv6) {
		ipv6->payload_len = rte_cpu_to_be_16(
			(uint16_t)(packet_bytes - sizeof(*ipv6)));
	} else {
		ipv4->total_length = rte_cpu_to_be_16((uint16_t)packet_bytes);
		ipv4->packet_id = rte_cpu_to_be_16(
			(uint16_t)(rte_be_to_cpu_16(ipv4->packet_id) + index));
	}
	tcp->sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) +
					 offset_bytes);
	if (!is_last)
		tcp->tcp_flags &=
			(uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	/* Of the first segment alone (RFC 3168). */
	if (index != 0)
		tcp->tcp_flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	roost_raw_csum_fill(frame, frame_bytes);
}
