/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "cm/rsocket/wire.h"

#define HELLO_VERSION 1
#define HELLO_BIG_ENDIAN 0x1
#define HELLO_IOMAP 0x2
#define HELLO_SLOTS 8 /* offset of the first description */
#define HELLO_BUF 24

/* Counts up to 128 are sent as they are, larger ones in units of 256. */
#define SCALE_FLAG 0x80u
#define SCALE_SHIFT 8

#define SIDE_TAG 0x55555555u
#define SIDE_FIXED_BYTES 12
#define QPN_MASK 0xffffffu

static void put16(uint8_t *out, uint16_t value, bool big)
{
	value = big ? htobe16(value) : htole16(value);
	memcpy(out, &value, sizeof(value));
}

static void put32(uint8_t *out, uint32_t value, bool big)
{
	value = big ? htobe32(value) : htole32(value);
	memcpy(out, &value, sizeof(value));
}

static void put64(uint8_t *out, uint64_t value, bool big)
{
	value = big ? htobe64(value) : htole64(value);
	memcpy(out, &value, sizeof(value));
}

static uint32_t get_be32(const uint8_t *in)
{
	uint32_t value;

	memcpy(&value, in, sizeof(value));
	return be32toh(value);
}

static uint64_t get_be64(const uint8_t *in)
{
	uint64_t value;

	memcpy(&value, in, sizeof(value));
	return be64toh(value);
}

static uint8_t to_scale(uint32_t nb)
{
	if (nb > ROOST_RS_IOMAPS_MAX)
		nb = ROOST_RS_IOMAPS_MAX;
	return (uint8_t)(nb <= SCALE_FLAG ? nb
					  : SCALE_FLAG | nb >> SCALE_SHIFT);
}

static uint32_t from_scale(uint8_t scaled)
{
	return scaled <= SCALE_FLAG ? scaled
				    : (scaled & ~SCALE_FLAG) << SCALE_SHIFT;
}

uint32_t roost_rs_iomaps_round(uint32_t nb)
{
	/* Up, where a byte cannot say it; 128 is said by the flag alone. */
	if (nb > SCALE_FLAG)
		nb = (nb + (1u << SCALE_SHIFT) - 1) >> SCALE_SHIFT
							       << SCALE_SHIFT;
	return from_scale(to_scale(nb));
}

bool roost_rs_big_endian(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

void roost_rs_slot_put(uint8_t out[ROOST_RS_SLOT_BYTES],
		       const struct roost_rs_slot *slot, bool big_endian)
{
	put64(out, slot->addr, big_endian);
	put32(out + 8, slot->key, big_endian);
	put32(out + 12, slot->length_bytes, big_endian);
}

void roost_rs_iomap_put(uint8_t out[ROOST_RS_IOMAP_BYTES],
			const struct roost_rs_iomap *iomap, bool big_endian)
{
	put64(out, iomap->offset, big_endian);
	roost_rs_slot_put(out + 8, &iomap->slot, big_endian);
}

void roost_rs_hello_put(uint8_t out[ROOST_RS_HELLO_BYTES],
			const struct roost_rs_hello *hello)
{
	const struct roost_rs_slot slots = {
		.addr = hello->slots_addr,
		.key = hello->slots_key,
		.length_bytes = hello->nb_slots,
	};

	memset(out, 0, ROOST_RS_HELLO_BYTES);
	out[0] = HELLO_VERSION;
	out[1] = (uint8_t)((hello->big_endian ? HELLO_BIG_ENDIAN : 0) |
			   (hello->has_iomap ? HELLO_IOMAP : 0));
	put16(out + 2, hello->credits, true);
	out[7] = to_scale(hello->nb_iomaps);
	roost_rs_slot_put(out + HELLO_SLOTS, &slots, true);
	roost_rs_slot_put(out + HELLO_BUF, &hello->buf, true);
}

int roost_rs_hello_get(struct roost_rs_hello *hello, const void *data,
		       size_t length_bytes)
{
	const uint8_t *in = data;

	if (!in || length_bytes < ROOST_RS_HELLO_BYTES)
		return -EINVAL;
	if (in[0] != HELLO_VERSION)
		return -ENOTSUP;

	*hello = (struct roost_rs_hello){
		.big_endian = in[1] & HELLO_BIG_ENDIAN,
		.has_iomap = in[1] & HELLO_IOMAP,
		.credits = (uint16_t)(in[2] << 8 | in[3]),
		.slots_addr = get_be64(in + HELLO_SLOTS),
		.slots_key = get_be32(in + HELLO_SLOTS + 8),
		.nb_slots = get_be32(in + HELLO_SLOTS + 12),
		.buf.addr = get_be64(in + HELLO_BUF),
		.buf.key = get_be32(in + HELLO_BUF + 8),
		.buf.length_bytes = get_be32(in + HELLO_BUF + 12),
	};
	if (hello->has_iomap)
		hello->nb_iomaps = from_scale(in[7]);
	if (hello->nb_slots == 0 || hello->buf.length_bytes == 0)
		return -EINVAL;
	return 0;
}

static const void *ipv4_of(const struct sockaddr *sa)
{
	return &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
}

static const struct sockaddr_in6 *in6_of(const struct sockaddr *sa)
{
	return (const struct sockaddr_in6 *)(const void *)sa;
}

size_t roost_rs_dgram_put(uint8_t out[ROOST_RS_DGRAM_MAX],
			  const struct sockaddr *from)
{
	const bool v4 = from->sa_family == AF_INET;
	const size_t length = v4 ? 8 : ROOST_RS_DGRAM_MAX;

	out[0] = v4 ? 4 : 6;
	out[1] = (uint8_t)length;
	/* The port is at the same place in both families. */
	memcpy(out + 2, &in6_of(from)->sin6_port, 2);
	if (v4) {
		memcpy(out + 4, ipv4_of(from), 4);
	} else {
		memcpy(out + 4, &in6_of(from)->sin6_flowinfo, 4);
		memcpy(out + 8, &in6_of(from)->sin6_addr, 16);
	}
	return length;
}

int roost_rs_dgram_get(struct sockaddr_storage *from, const void *data,
		       size_t length_bytes)
{
	const uint8_t *in = data;
	struct sockaddr_in *sin = (void *)from;
	struct sockaddr_in6 *sin6 = (void *)from;

	memset(from, 0, sizeof(*from));
	if (length_bytes < 8)
		return -EINVAL;
	if (in[0] == 4 && in[1] == 8) {
		sin->sin_family = AF_INET;
		memcpy(&sin->sin_port, in + 2, 2);
		memcpy(&sin->sin_addr, in + 4, 4);
		return 8;
	}
	if (in[0] != 6 || in[1] != ROOST_RS_DGRAM_MAX ||
	    length_bytes < ROOST_RS_DGRAM_MAX)
		return -EINVAL;
	sin6->sin6_family = AF_INET6;
	memcpy(&sin6->sin6_port, in + 2, 2);
	memcpy(&sin6->sin6_flowinfo, in + 4, 4);
	memcpy(&sin6->sin6_addr, in + 8, 16);
	return ROOST_RS_DGRAM_MAX;
}

size_t roost_rs_side_put(uint8_t out[ROOST_RS_SIDE_MAX],
			 const struct roost_rs_side *side,
			 const struct sockaddr *from)
{
	const bool v4 = from->sa_family == AF_INET;
	const size_t length = SIDE_FIXED_BYTES + (v4 ? 4 : 16);

	memset(out, 0, ROOST_RS_SIDE_MAX);
	put32(out, SIDE_TAG, true);
	out[4] = v4 ? 4 : 6;
	out[5] = side->op;
	out[6] = (uint8_t)length;
	put32(out + 8, side->qpn & QPN_MASK, true);
	if (v4)
		memcpy(out + SIDE_FIXED_BYTES, ipv4_of(from), 4);
	else
		memcpy(out + SIDE_FIXED_BYTES, &in6_of(from)->sin6_addr, 16);
	return length;
}

int roost_rs_side_get(struct roost_rs_side *side, sa_family_t family,
		      const void *data, size_t length_bytes)
{
	const uint8_t *in = data;
	const uint8_t version = family == AF_INET ? 4 : 6;
	const size_t length = SIDE_FIXED_BYTES + (version == 4 ? 4 : 16);

	if (length_bytes < length || get_be32(in) != SIDE_TAG ||
	    in[4] != version || in[6] != length)
		return -EINVAL;
	side->op = in[5];
	side->qpn = get_be32(in + 8) & QPN_MASK;
	return (int)length;
}
