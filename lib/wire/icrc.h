/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_ICRC_H
#define ROOST_WIRE_ICRC_H

/*
 * The invariant CRC of RoCEv2 (IBTA 7.8.1, Annex A17.9): CRC-32 with
 * Ethernet's polynomial over eight bytes of 0xFF and the packet from the IP
 * header to the last pad byte, fields that routers change taken as all ones:
 * IPv4 TOS, TTL and header checksum; IPv6 traffic class, flow label and hop
 * limit; the UDP checksum; FECN, BECN and the six reserved bits after them in
 * the BTH (resv8a). Pure.
 *
 * The loops are chosen once, when the library is loaded, by what the processor
 * can do (lib/wire/kernel.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/kernel.h"

/*
 * l3 points to the IP header of an Ethernet frame, and the UDP header follows
 * it at once. The 14 bytes before l3 are read too, and have no effect.
 * len_bytes runs from l3 to the last byte before the ICRC and is at least the
 * IP, UDP and BTH headers.
 * Thread: any.
 * Returns the value whose little-endian bytes stand on the wire.
 */
static inline uint32_t roost_icrc(const uint8_t *l3, bool ipv6,
				  size_t len_bytes)
{
	return roost_kernel->icrc(ipv6 ? &roost_icrc_mask_ipv6
				       : &roost_icrc_mask_ipv4,
				  l3, len_bytes);
}

/*
 * Copy len_bytes, any number of them, from src to dst, which do not overlap,
 * and go on with a CRC. What is folded is what is stored, also where somebody
 * writes to src meanwhile. crc is what roost_icrc() gave for the packet up to
 * there, or this function for the bytes before. The order of the stores is
 * not promised.
 * Thread: any.
 * Returns the ICRC of a packet that ends here.
 */
static inline uint32_t roost_crc_copy(uint32_t crc, void *dst, const void *src,
				      size_t len_bytes)
{
	return roost_kernel->crc_copy(crc, dst, src, len_bytes);
}

/*
 * For measuring what the ICRC costs, and for nothing else: from here on frames
 * are made with zeros in its place, and taken if they have zeros there. Whoever
 * checks ICRCs drops all of them, and is dropped. There is no way back.
 * Thread: any, while nobody makes or checks a frame.
 */
void roost_icrc_disable(void);

#endif
