/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per packet in each direction. No allocation, system
 * call, log or lock.
 *
 * The headers are copied with the variant fields set to ones, the rest is
 * read where it is, and ISA-L computes the CRC of both. Three things make
 * this four times as fast for an ACK as the plain way:
 *
 * - The copy is made of whole, aligned 16-byte stores, because ISA-L reads it
 *   back at once in 16-byte pieces. A piece that lies across two stores, or
 *   that ISA-L has to put together from a length which is no multiple of 16,
 *   waits until the stores have reached the cache.
 * - To make its length a multiple of 16, the copy gets zeros in front. They
 *   are free: a CRC whose register starts at 0 stays 0 over zeros, and what
 *   the register should have started with can be exclusive-ored into the
 *   first four bytes of the message.
 * - ISA-L is fast in blocks of 256 bytes and slow in what is left over. All
 *   path MTUs are multiples of 256, so headers and small payloads go into the
 *   copy and a full payload stays in one piece.
 */

#include <string.h>

#include <isa-l/crc.h>

#include "lib/wire/frame.h"
#include "lib/wire/icrc.h"

#define CHUNK 16u
#define COPY_MAX 128u
#define BULK 256u

/* What is copied of a packet whose length leaves no better choice. */
#define COPY_DEFAULT 64u

#define V4_HDR_LEN (ROOST_IPV4_LEN + ROOST_UDP_LEN + ROOST_BTH_LEN)
#define V6_HDR_LEN (ROOST_IPV6_LEN + ROOST_UDP_LEN + ROOST_BTH_LEN)

_Static_assert(V4_HDR_LEN <= COPY_DEFAULT && V6_HDR_LEN <= COPY_DEFAULT,
	       "every masked byte must be in the copy");
_Static_assert(CHUNK - 2 <= ROOST_ETH_LEN,
	       "the first chunk may begin in the Ethernet header, not before");

/* The CRC register after the eight 0xFF that stand for InfiniBand's LRH. */
#define CRC_OF_LRH 0xdebb20e3u
#define STATE(i) ((uint8_t)(CRC_OF_LRH >> (8 * (i))))

/* ISA-L inverts the register on the way in and out, as zlib does. */
#define CRC_REGISTER_ZERO 0xffffffffu

/*
 * chunk = (packet & ~clear) ^ flip. Both begin CHUNK bytes before the IP
 * header, so that they can be read from where the packet is read.
 */
struct icrc_mask {
	uint8_t clear[CHUNK + COPY_MAX];
	uint8_t flip[CHUNK + COPY_MAX];
};

#define IP(off) (CHUNK + (off))
#define V4_UDP(off) (IP(ROOST_IPV4_LEN) + (off))
#define V4_BTH(off) (V4_UDP(ROOST_UDP_LEN) + (off))
#define V6_UDP(off) (IP(ROOST_IPV6_LEN) + (off))
#define V6_BTH(off) (V6_UDP(ROOST_UDP_LEN) + (off))

static const struct icrc_mask ipv4_mask = {
	.clear = {
		[0 ... CHUNK - 1] = 0xff,
		[IP(1)] = 0xff, /* TOS */
		[IP(8)] = 0xff, /* TTL */
		[IP(10)] = 0xff, [IP(11)] = 0xff, /* header checksum */
		[V4_UDP(6)] = 0xff, [V4_UDP(7)] = 0xff, /* checksum */
		[V4_BTH(4)] = 0xff, /* FECN, BECN, resv8a */
	},
	.flip = {
		[IP(0)] = STATE(0),
		[IP(1)] = 0xff ^ STATE(1),
		[IP(2)] = STATE(2),
		[IP(3)] = STATE(3),
		[IP(8)] = 0xff,
		[IP(10)] = 0xff, [IP(11)] = 0xff,
		[V4_UDP(6)] = 0xff, [V4_UDP(7)] = 0xff,
		[V4_BTH(4)] = 0xff,
	},
};

static const struct icrc_mask ipv6_mask = {
	.clear = {
		[0 ... CHUNK - 1] = 0xff,
		[IP(0)] = 0x0f, /* traffic class and flow label: 28 bits */
		[IP(1)] = 0xff, [IP(2)] = 0xff, [IP(3)] = 0xff,
		[IP(7)] = 0xff, /* hop limit */
		[V6_UDP(6)] = 0xff, [V6_UDP(7)] = 0xff, /* checksum */
		[V6_BTH(4)] = 0xff, /* FECN, BECN, resv8a */
	},
	.flip = {
		[IP(0)] = 0x0f ^ STATE(0),
		[IP(1)] = 0xff ^ STATE(1),
		[IP(2)] = 0xff ^ STATE(2),
		[IP(3)] = 0xff ^ STATE(3),
		[IP(7)] = 0xff,
		[V6_UDP(6)] = 0xff, [V6_UDP(7)] = 0xff,
		[V6_BTH(4)] = 0xff,
	},
};

struct chunk {
	uint64_t v __attribute__((vector_size(CHUNK)));
};

static struct chunk chunk_load(const uint8_t *p)
{
	struct chunk c;

	memcpy(&c.v, p, sizeof(c.v));
	return c;
}

uint32_t roost_icrc(const uint8_t *l3, bool ipv6, size_t len_bytes)
{
	const struct icrc_mask *mask = ipv6 ? &ipv6_mask : &ipv4_mask;
	const uint8_t *clear_at = mask->clear + CHUNK;
	const uint8_t *flip_at = mask->flip + CHUNK;
	size_t hdr_len = ipv6 ? V6_HDR_LEN : V4_HDR_LEN;
	struct chunk copy[COPY_MAX / CHUNK];
	size_t copied = len_bytes % BULK;
	size_t zeros, total, i = 0;
	uint32_t crc;

	if (copied < hdr_len || copied > COPY_MAX)
		copied = COPY_DEFAULT;
	zeros = -copied % CHUNK;
	if (zeros == CHUNK - 1) {
		zeros = 0;
		copied--;
	}
	total = zeros + copied;
	do {
		struct chunk data = chunk_load(l3 - zeros + i);
		struct chunk clear = chunk_load(clear_at - zeros + i);
		struct chunk flip = chunk_load(flip_at - zeros + i);

		copy[i / CHUNK].v = (data.v & ~clear.v) ^ flip.v;
		i += CHUNK;
	} while (i < total);

	crc = crc32_gzip_refl(CRC_REGISTER_ZERO, (const uint8_t *)copy, total);
	if (len_bytes == copied)
		return crc;
	return crc32_gzip_refl(crc, l3 + copied, len_bytes - copied);
}
