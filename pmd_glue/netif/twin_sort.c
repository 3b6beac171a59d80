/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/twin_sort.h"

#include <rte_ip.h>

#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"

#define IPV4_PROTOCOL                                                          \
	(ROOST_ETH_LEN + offsetof(struct rte_ipv4_hdr, next_proto_id))
#define IPV6_NEXT_HEADER (ROOST_ETH_LEN + offsetof(struct rte_ipv6_hdr, proto))

static const struct {
	uint16_t ether_type;
	uint8_t protocol_off_bytes; /* 0: any protocol */
	uint8_t protocol;
} shared[] = {
	{ RTE_ETHER_TYPE_ARP, 0, 0 },
	{ ROOST_ETHERTYPE_ROCE_V1, 0, 0 }, /* to report it */
	{ RTE_ETHER_TYPE_IPV4, IPV4_PROTOCOL, IPPROTO_ICMP },
	{ RTE_ETHER_TYPE_IPV4, IPV4_PROTOCOL, IPPROTO_IGMP },
	{ RTE_ETHER_TYPE_IPV6, IPV6_NEXT_HEADER, IPPROTO_ICMPV6 },
	/* MLD comes after hop-by-hop options (RFC 3810, 5). */
	{ RTE_ETHER_TYPE_IPV6, IPV6_NEXT_HEADER, IPPROTO_HOPOPTS },
};

bool roost_twin_frame_is_shared(const uint8_t *frame, size_t len_bytes)
{
	if (len_bytes < ROOST_ETH_LEN)
		return false;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		size_t off = shared[i].protocol_off_bytes;

		if (roost_ether_type(frame) == shared[i].ether_type &&
		    (off == 0 ||
		     (len_bytes > off && frame[off] == shared[i].protocol)))
			return true;
	}
	return false;
}
