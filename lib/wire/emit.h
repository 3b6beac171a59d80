/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_EMIT_H
#define ROOST_WIRE_EMIT_H

/*
 * roost_hdr_emit() for callers that have no time for a call, and know most of
 * the BTH beforehand. Hot file: runs once per packet sent.
 */

#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/fields.h"
#include "lib/wire/frame.h"

/* Bytes that the length fields count besides the bytes after the BTH. */
#define EMIT_UDP_LEN (ROOST_UDP_LEN + ROOST_BTH_LEN + ROOST_ICRC_LEN)
#define EMIT_IPV4_LEN (ROOST_IPV4_LEN + EMIT_UDP_LEN)

/*
 * A template is copied as its first EMIT_HEAD and last EMIT_TAIL bytes, which
 * overlap: two copies of constant size, whatever its length.
 */
#define EMIT_HEAD 48u
#define EMIT_TAIL 32u

_Static_assert(ROOST_ETH_LEN + ROOST_IPV4_LEN + ROOST_UDP_LEN + ROOST_BTH_LEN >=
			       EMIT_HEAD &&
		       ROOST_PATH_HDR_MAX <= EMIT_HEAD + EMIT_TAIL,
	       "both copies stay inside, and leave no gap");

/* The BTH in three words of host order. */
struct roost_bth_words {
	uint32_t opcode; /* opcode, bits, pad, P_Key */
	uint32_t dest_qpn;
	uint32_t psn; /* and the bits beside it */
};

static inline struct roost_bth_words
roost_bth_words(const struct roost_bth *bth)
{
	uint32_t bits = (bth->solicited ? BTH_SOLICITED : 0) |
			(bth->migreq ? BTH_MIGREQ : 0) |
			(uint32_t)bth->pad_bytes << BTH_PAD_SHIFT;

	return (struct roost_bth_words){
		.opcode = (uint32_t)bth->opcode << 24 | bits << 16 | bth->pkey,
		.dest_qpn = bth->dest_qpn & MASK24,
		.psn = bth->psn.v | (bth->ackreq ? BTH_ACKREQ : 0) |
		       (bth->selective ? BTH_SELECTIVE : 0),
	};
}

static inline void roost_emit_ipv4(uint8_t *l3, uint32_t constant_sum,
				   size_t after_bth)
{
	uint16_t total = (uint16_t)(EMIT_IPV4_LEN + after_bth);
	uint32_t sum = constant_sum + total;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	roost_be16_put(l3 + 2, total);
	roost_be16_put(l3 + 10, (uint16_t)~sum);
	roost_be16_put(l3 + ROOST_IPV4_LEN + 4,
		       (uint16_t)(EMIT_UDP_LEN + after_bth));
}

static inline void roost_emit_ipv6(uint8_t *l3, size_t after_bth)
{
	uint16_t udp_len = (uint16_t)(EMIT_UDP_LEN + after_bth);

	roost_be16_put(l3 + 4, udp_len);
	roost_be16_put(l3 + ROOST_IPV6_LEN + 4, udp_len);
}

/* As roost_hdr_emit(). */
static inline size_t roost_hdr_emit_words(const struct roost_hdr_template *t,
					  uint8_t *buf,
					  struct roost_bth_words words,
					  size_t after_bth_bytes)
{
	size_t len = t->len_bytes;
	uint8_t *l3 = buf + t->l3_off_bytes;
	uint8_t *bth = buf + len - ROOST_BTH_LEN;

	memcpy(buf, t->bytes, EMIT_HEAD);
	memcpy(buf + len - EMIT_TAIL, t->bytes + len - EMIT_TAIL, EMIT_TAIL);
	if (t->ipv6)
		roost_emit_ipv6(l3, after_bth_bytes);
	else
		roost_emit_ipv4(l3, t->ipv4_sum, after_bth_bytes);
	roost_be32_put(bth, words.opcode);
	roost_be32_put(bth + 4, words.dest_qpn);
	roost_be32_put(bth + 8, words.psn);
	return len;
}

#endif
