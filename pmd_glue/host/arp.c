/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/arp.h"

#include <errno.h>
#include <string.h>

#include <rte_arp.h>

#include "pmd_glue/host/ether.h"

#define OFF_ARP sizeof(struct rte_ether_hdr)

int roost_arp_parse(const uint8_t *frame, size_t len_bytes,
		    struct roost_arp *arp)
{
	struct rte_arp_hdr hdr;
	uint16_t op;

	if (len_bytes < OFF_ARP + sizeof(hdr) ||
	    roost_ether_type(frame) != RTE_ETHER_TYPE_ARP)
		return -EINVAL;
	memcpy(&hdr, frame + OFF_ARP, sizeof(hdr));
	op = rte_be_to_cpu_16(hdr.arp_opcode);
	if (hdr.arp_hardware != rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) ||
	    hdr.arp_protocol != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
	    hdr.arp_hlen != RTE_ETHER_ADDR_LEN ||
	    hdr.arp_plen != sizeof(hdr.arp_data.arp_sip) ||
	    (op != RTE_ARP_OP_REQUEST && op != RTE_ARP_OP_REPLY) ||
	    !roost_mac_is_station(hdr.arp_data.arp_sha.addr_bytes))
		return -EINVAL;
	arp->is_request = op == RTE_ARP_OP_REQUEST;
	memcpy(arp->sender_mac, &hdr.arp_data.arp_sha, 6);
	memcpy(arp->target_mac, &hdr.arp_data.arp_tha, 6);
	arp->sender_ip =
		roost_gid_from_v4((const uint8_t *)&hdr.arp_data.arp_sip);
	arp->target_ip =
		roost_gid_from_v4((const uint8_t *)&hdr.arp_data.arp_tip);
	return 0;
}

size_t roost_arp_build(const struct roost_arp *arp, const uint8_t dst_mac[6],
		       uint8_t frame[ROOST_ARP_FRAME_LEN])
{
	struct rte_arp_hdr hdr = {
		.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER),
		.arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
		.arp_hlen = RTE_ETHER_ADDR_LEN,
		.arp_plen = sizeof(hdr.arp_data.arp_sip),
		.arp_opcode =
			rte_cpu_to_be_16(arp->is_request ? RTE_ARP_OP_REQUEST
							 : RTE_ARP_OP_REPLY),
	};

	memcpy(&hdr.arp_data.arp_sha, arp->sender_mac, 6);
	memcpy(&hdr.arp_data.arp_sip, &arp->sender_ip.b[12], 4);
	memcpy(&hdr.arp_data.arp_tha, arp->target_mac, 6);
	memcpy(&hdr.arp_data.arp_tip, &arp->target_ip.b[12], 4);
	memset(frame, 0, ROOST_ARP_FRAME_LEN);
	roost_ether_put(frame, dst_mac, arp->sender_mac, RTE_ETHER_TYPE_ARP);
	memcpy(frame + OFF_ARP, &hdr, sizeof(hdr));
	return ROOST_ARP_FRAME_LEN;
}
