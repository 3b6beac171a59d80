/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ARP_H
#define ROOST_PMD_GLUE_HOST_ARP_H

/*
 * ARP on Ethernet for IPv4 (RFC 826, RFC 5227): encodes and decodes packets.
 * Pure; pmd_glue/host/host.c decides when to ask and to answer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

/* Bytes that roost_arp_build() writes: the shortest Ethernet frame. */
#define ROOST_ARP_FRAME_LEN 60u

struct roost_arp {
	bool is_request;
	uint8_t sender_mac[6];
	uint8_t target_mac[6];      /* zero in a request */
	struct roost_gid sender_ip; /* 0.0.0.0: a probe for duplicates */
	struct roost_gid target_ip; /* equal to sender_ip: an announcement */
};

/*
 * Decode a frame that starts with its Ethernet header. Reads only inside the
 * frame. Returns 0, or -EINVAL: no ARP, too short, not Ethernet and IPv4,
 * neither request nor reply, or the sender's MAC is a group address or zero.
 */
int roost_arp_parse(const uint8_t *frame, size_t len_bytes,
		    struct roost_arp *arp);

/* Write the frame to dst_mac; from sender_mac. Returns its length. */
size_t roost_arp_build(const struct roost_arp *arp, const uint8_t dst_mac[6],
		       uint8_t frame[ROOST_ARP_FRAME_LEN]);

#endif
