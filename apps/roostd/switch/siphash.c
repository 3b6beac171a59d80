/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/siphash.h"

#include <endian.h>
#include <string.h>

static uint64_t rotl(uint64_t x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], unsigned int nb)
{
	while (nb-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

static void compress(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

static uint64_t finish(uint64_t v[4], uint8_t mark)
{
	v[mark == 0xdd ? 1 : 2] ^= mark;
	rounds(v, 4);
	return htole64(v[0] ^ v[1] ^ v[2] ^ v[3]);
}

void roost_siphash_tag(const uint64_t key[2], const void *data,
		       size_t len_bytes, uint8_t tag[ROOST_SIPHASH_TAG_LEN])
{
	/* "somepseudorandomlygeneratedbytes"; 0xee: a tag of 128 bits. */
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575u,
		key[1] ^ 0x646f72616e646f6du ^ 0xee,
		key[0] ^ 0x6c7967656e657261u,
		key[1] ^ 0x7465646279746573u,
	};
	const uint8_t *at = data;
	uint64_t word, half[2];

	for (size_t left = len_bytes; left >= sizeof(word);
	     left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		compress(v, le64toh(word));
		at += sizeof(word);
	}
	word = (uint64_t)len_bytes << 56;
	for (size_t i = 0; i < len_bytes % sizeof(word); i++)
		word |= (uint64_t)at[i] << 8 * i;
	compress(v, word);
	half[0] = finish(v, 0xee);
	half[1] = finish(v, 0xdd);
	memcpy(tag, half, sizeof(half));
}
