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
 * The implementation is chosen once, when the library is loaded, by the
 * instruction sets of the processor (lib/wire/kernel.h).
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

/* The same for memory of which a part is known to be gone. Slow. */
uint32_t roost_crc_copy_rest(uint32_t crc, void *dst, const void *src,
			     size_t len_bytes);

/*
 * Copy len_bytes (0 or more) from src to dst, which do not overlap, and
 * continue a CRC over them. The CRC covers the bytes that are stored, also if
 * another thread writes to src meanwhile. crc: the result of roost_icrc() for
 * the packet up to there, or of this function for the bytes before. The order
 * of the stores is not promised. src is an application's memory: what is gone
 * of it is copied as zeros, and *gone becomes true.
 */
static inline uint32_t roost_crc_copy(uint32_t crc, void *dst, const void *src,
				      size_t len_bytes, bool *gone)
{
	uint32_t fault = 0, next;

	next = roost_kernel->crc_copy(crc, dst, src, len_bytes, &fault);
	if (__builtin_expect(fault != 0, 0)) {
		*gone = true;
		next = roost_crc_copy_rest(crc, dst, src, len_bytes);
	}
	return next;
}

/*
 * For measuring the cost of the ICRC only: from here on frames are made with
 * zeros in place of the ICRC, and frames are taken only with zeros there. A
 * peer that checks ICRCs drops all of these frames, and its frames are dropped.
 * This cannot be undone.
 * Thread: any, while no thread makes or checks a frame.
 */
void roost_icrc_disable(void);

#endif
