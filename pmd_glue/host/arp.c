/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/arp.h"

#include <errno.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"

#define ARP_HTYPE_ETHERNET 1
#define ARP_OP_REQUEST 1
#define ARP_OP_REPLY 2

/* Offsets from the start of the frame. */
enum {
	OFF_HTYPE = ROOST_ETH_LEN,
	OFF_PTYPE = OFF_HTYPE + 2,
	OFF_HLEN = OFF_PTYPE + 2,
	OFF_PLEN = OFF_HLEN + 1,
	OFF_OP = OFF_PLEN + 1,
	OFF_SENDER_MAC = OFF_OP + 2,
	OFF_SENDER_IP = OFF_SENDER_MAC + 6,
	OFF_TARGET_MAC = OFF_SENDER_IP + 4,
	OFF_TARGET_IP = OFF_TARGET_MAC + 6,
	ARP_END = OFF_TARGET_IP + 4,
};

int roost_arp_parse(const uint8_t *frame, size_t len_bytes,
		    struct roost_arp *arp)
{
	uint16_t op;

	if (len_bytes < ARP_END ||
	    roost_ether_type(frame) != ROOST_ETHERTYPE_ARP ||
	    roost_be16_get(frame + OFF_HTYPE) != ARP_HTYPE_ETHERNET ||
	    roost_be16_get(frame + OFF_PTYPE) != ROOST_ETHERTYPE_IPV4 ||
	    frame[OFF_HLEN] != 6 || frame[OFF_PLEN] != 4)
		return -EINVAL;
	op = roost_be16_get(frame + OFF_OP);
	if (op != ARP_OP_REQUEST && op != ARP_OP_REPLY)
		return -EINVAL;
	if (!roost_mac_is_station(frame + OFF_SENDER_MAC))
		return -EINVAL;
	arp->is_request = op == ARP_OP_REQUEST;
	memcpy(arp->sender_mac, frame + OFF_SENDER_MAC, 6);
	memcpy(arp->target_mac, frame + OFF_TARGET_MAC, 6);
	arp->sender_ip = roost_gid_from_v4(frame + OFF_SENDER_IP);
	arp->target_ip = roost_gid_from_v4(frame + OFF_TARGET_IP);
	return 0;
}

size_t roost_arp_build(const struct roost_arp *arp, const uint8_t dst_mac[6],
		       uint8_t frame[ROOST_ARP_FRAME_LEN])
{
	memset(frame, 0, ROOST_ARP_FRAME_LEN);
	roost_ether_put(frame, dst_mac, arp->sender_mac, ROOST_ETHERTYPE_ARP);
	roost_be16_put(frame + OFF_HTYPE, ARP_HTYPE_ETHERNET);
	roost_be16_put(frame + OFF_PTYPE, ROOST_ETHERTYPE_IPV4);
	frame[OFF_HLEN] = 6;
	frame[OFF_PLEN] = 4;
	roost_be16_put(frame + OFF_OP,
		       arp->is_request ? ARP_OP_REQUEST : ARP_OP_REPLY);
	memcpy(frame + OFF_SENDER_MAC, arp->sender_mac, 6);
	memcpy(frame + OFF_SENDER_IP, &arp->sender_ip.b[12], 4);
	memcpy(frame + OFF_TARGET_MAC, arp->target_mac, 6);
	memcpy(frame + OFF_TARGET_IP, &arp->target_ip.b[12], 4);
	return ROOST_ARP_FRAME_LEN;
}
