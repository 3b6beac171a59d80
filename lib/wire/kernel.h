/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_KERNEL_H
#define ROOST_WIRE_KERNEL_H

/*
 * The implementations behind lib/wire/icrc.h and of long copies, one set for
 * each kind of processor; for lib/wire, its tests and benchmarks only. All sets
 * give the same results.
 *
 * Thread: any, for every function here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOST_KERNEL_CHUNK 16u
#define ROOST_KERNEL_MASK 128u
#define ROOST_KERNEL_BLOCK 64u

/*
 * The ICRC is computed over (packet & ~clear) ^ flip instead of the bytes of
 * the packet. Both arrays begin one chunk before the IP header, so that they
 * can be read with the packet's offsets, and are 0 behind the headers. The
 * first bytes of flip hold the CRC register after the eight bytes of 0xFF
 * before the packet, so that the CRC starts from a register of 0.
 */
struct roost_icrc_mask {
	uint8_t clear[ROOST_KERNEL_CHUNK + ROOST_KERNEL_MASK];
	uint8_t flip[ROOST_KERNEL_CHUNK + ROOST_KERNEL_MASK];
	size_t hdr_len_bytes; /* length of the masked part, from the IP
			       * header */
};

struct roost_kernel {
	const char *name;
	bool (*usable)(void); /* on this processor */
	/* As roost_icrc() and roost_crc_copy() in lib/wire/icrc.h. src is an
	 * application's memory (lib/wire/guard.h): *fault becomes 1 if any of
	 * it is gone; then the copy and the CRC are undefined.
	 */
	uint32_t (*icrc)(const struct roost_icrc_mask *mask, const uint8_t *l3,
			 size_t len_bytes);
	uint32_t (*crc_copy)(uint32_t crc, uint8_t *dst, const uint8_t *src,
			     size_t len_bytes, uint32_t *fault);
	/* Copy whole blocks to a block-aligned address, by stores in address
	 * order, none of which lies across two cache lines. dst is an
	 * application's memory: *fault becomes 1 if any of it is gone.
	 */
	void (*copy_up)(uint8_t *dst, const uint8_t *src, size_t nb_blocks,
			uint32_t *fault);
};

extern const struct roost_kernel roost_kernel_avx512;
extern const struct roost_kernel roost_kernel_vpclmul;
extern const struct roost_kernel roost_kernel_pclmul;
extern const struct roost_kernel roost_kernel_isal; /* usable everywhere */

/* The sets of this architecture, the fastest first; roost_kernel_isal is last.
 */
#ifdef __x86_64__
#define ROOST_NB_KERNELS 4
#else
#define ROOST_NB_KERNELS 1
#endif
extern const struct roost_kernel *const roost_kernels[ROOST_NB_KERNELS];

/* The first usable one; set before main(). */
extern const struct roost_kernel *roost_kernel;

extern const struct roost_icrc_mask roost_icrc_mask_ipv4;
extern const struct roost_icrc_mask roost_icrc_mask_ipv6;

#endif
