/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_SIPHASH_H
#define ROOST_APPS_ROOSTD_SWITCH_SIPHASH_H

/*
 * SipHash-2-4 with a tag of 128 bits: a message authentication code for leases.
 * J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF",
 * INDOCRYPT 2012. Pure.
 *
 * Thread: any.
 */

#include <stddef.h>
#include <stdint.h>

#define ROOST_SIPHASH_TAG_LEN 16u

/* key: 128 bits, as two numbers whose little-endian bytes are the key. */
void roost_siphash_tag(const uint64_t key[2], const void *data,
		       size_t len_bytes, uint8_t tag[ROOST_SIPHASH_TAG_LEN]);

#endif
