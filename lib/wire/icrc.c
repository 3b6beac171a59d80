/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include <isa-l/crc.h>

#include "lib/wire/frame.h"
#include "lib/wire/guard.h"
#include "lib/wire/icrc.h"

#define CHUNK ROOST_KERNEL_CHUNK
#define V4_HDR_LEN (ROOST_IPV4_LEN + ROOST_UDP_LEN + ROOST_BTH_LEN)
#define V6_HDR_LEN (ROOST_IPV6_LEN + ROOST_UDP_LEN + ROOST_BTH_LEN)

_Static_assert(V6_HDR_LEN + 2 * CHUNK <= ROOST_KERNEL_MASK,
	       "a chunk that begins in the headers is all in the mask");

/* The CRC register after the eight 0xFF bytes in place of InfiniBand's LRH. */
#define CRC_OF_LRH 0xdebb20e3u
#define STATE(i) ((uint8_t)(CRC_OF_LRH >> (8 * (i))))

#define IP(off) (CHUNK + (off))
#define V4_UDP(off) (IP(ROOST_IPV4_LEN) + (off))
#define V4_BTH(off) (V4_UDP(ROOST_UDP_LEN) + (off))
#define V6_UDP(off) (IP(ROOST_IPV6_LEN) + (off))
#define V6_BTH(off) (V6_UDP(ROOST_UDP_LEN) + (off))

const struct roost_icrc_mask roost_icrc_mask_ipv4 = {
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
	.hdr_len_bytes = V4_HDR_LEN,
};

const struct roost_icrc_mask roost_icrc_mask_ipv6 = {
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
	.hdr_len_bytes = V6_HDR_LEN,
};

const struct roost_kernel *const roost_kernels[ROOST_NB_KERNELS] = {
#ifdef __x86_64__
	&roost_kernel_avx512,
	&roost_kernel_vpclmul,
	&roost_kernel_pclmul,
#endif
	&roost_kernel_isal,
};

/* Constructors of other libraries may run first: until then this default is
 * used.
 */
const struct roost_kernel *roost_kernel = &roost_kernel_isal;

__attribute__((constructor)) static void choose_kernel(void)
{
	unsigned int i = 0;

	while (!roost_kernels[i]->usable())
		i++;
	roost_kernel = roost_kernels[i];
}

/* ---- without an ICRC ---------------------------------------------------- */

static uint32_t no_icrc(const struct roost_icrc_mask *mask, const uint8_t *l3,
			size_t len_bytes)
{
	(void)mask;
	(void)l3;
	(void)len_bytes;
	return 0;
}

static uint32_t only_copy(uint32_t crc, uint8_t *dst, const uint8_t *src,
			  size_t len_bytes, uint32_t *fault)
{
	*fault |= roost_guard_copy(dst, src, len_bytes);
	return crc;
}

uint32_t roost_crc_copy_rest(uint32_t crc, void *dst, const void *src,
			     size_t len_bytes)
{
	roost_guard_get(dst, src, len_bytes);
	if (roost_kernel->crc_copy == only_copy)
		return crc;
	return crc32_gzip_refl(crc, dst, len_bytes);
}

void roost_icrc_disable(void)
{
	static struct roost_kernel none;

	if (roost_kernel == &none)
		return;
	none = *roost_kernel;
	none.name = "none";
	none.icrc = no_icrc;
	none.crc_copy = only_copy;
	roost_kernel = &none;
}
