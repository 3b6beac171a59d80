/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_WIRE_H
#define ROOST_CM_RSOCKET_WIRE_H

/*
 * The formats that two rsocket ends exchange, as rdma-core's rsocket has them.
 * Pure functions over bytes: no object, clock or allocation.
 *
 * Stream. Both ends send a hello as private data of REQ and REP: the first
 * buffer that the peer may write data to (buf), the place where it may write
 * descriptions of further buffers (slots), and the number of messages that may
 * be in flight (credits). Data is written by RDMA WRITE WITH IMMEDIATE, whose
 * immediate is a message: three bits of opcode and 29 of data, in network byte
 * order. Slots and the I/O map are in the byte order of the end that owns them.
 *
 * Datagram. UD messages carry an address header in front of the data. A side
 * channel over UDP, with a header of its own, carries QP numbers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ROOST_RS_HELLO_BYTES 40
#define ROOST_RS_SLOT_BYTES 16
#define ROOST_RS_IOMAP_BYTES 24
#define ROOST_RS_IOMAPS_MAX 32512u /* the largest value of the 8-bit scale */

/* A buffer that the peer may write; also the layout of a slot in memory. */
struct roost_rs_slot {
	uint64_t addr;
	uint32_t key;
	uint32_t length_bytes; /* 0: none. Written last */
};

/* An entry of the I/O map, as it lies in memory. */
struct roost_rs_iomap {
	uint64_t offset; /* the offset that riowrite() uses */
	struct roost_rs_slot slot;
};

struct roost_rs_hello {
	bool big_endian; /* the byte order of the sender's slots */
	bool has_iomap;
	uint16_t credits;
	uint32_t nb_iomaps; /* entries behind the slots */
	uint64_t slots_addr;
	uint32_t slots_key;
	uint32_t nb_slots;
	struct roost_rs_slot buf; /* target of the first data */
};

enum roost_rs_op {
	ROOST_RS_OP_DATA = 0, /* data: bytes written */
	ROOST_RS_OP_CREDIT =
		4,             /* data: last sequence number allowed, 16 bits */
	ROOST_RS_OP_IOMAP = 6, /* data: index of the entry written */
	ROOST_RS_OP_CTRL = 7,  /* data: enum roost_rs_ctrl */
};

enum roost_rs_ctrl {
	ROOST_RS_CTRL_DISCONNECT = 0,
	ROOST_RS_CTRL_KEEPALIVE = 1,
	ROOST_RS_CTRL_SHUTDOWN = 2, /* nothing more will be sent */
};

#define ROOST_RS_MSG_DATA_MASK 0x1fffffffu

/* A message, in host byte order. */
static inline uint32_t roost_rs_msg(enum roost_rs_op op, uint32_t data)
{
	return (uint32_t)op << 29 | (data & ROOST_RS_MSG_DATA_MASK);
}

static inline uint32_t roost_rs_msg_op(uint32_t msg)
{
	return msg >> 29;
}

static inline uint32_t roost_rs_msg_data(uint32_t msg)
{
	return msg & ROOST_RS_MSG_DATA_MASK;
}

/* The byte order of this machine. */
bool roost_rs_big_endian(void);

void roost_rs_hello_put(uint8_t out[ROOST_RS_HELLO_BYTES],
			const struct roost_rs_hello *hello);

/* Returns 0, -EINVAL (too short, no slots, no buffer) or -ENOTSUP (version). */
int roost_rs_hello_get(struct roost_rs_hello *hello, const void *data,
		       size_t length_bytes);

/* Number of I/O map entries that a hello can say, rounded as it will be. */
uint32_t roost_rs_iomaps_round(uint32_t nb);

void roost_rs_slot_put(uint8_t out[ROOST_RS_SLOT_BYTES],
		       const struct roost_rs_slot *slot, bool big_endian);
void roost_rs_iomap_put(uint8_t out[ROOST_RS_IOMAP_BYTES],
			const struct roost_rs_iomap *iomap, bool big_endian);

/* In front of every UD message: the socket address of its sender. */
#define ROOST_RS_DGRAM_MAX 24

/* Returns the header's length: 8 for AF_INET, 24 for AF_INET6. */
size_t roost_rs_dgram_put(uint8_t out[ROOST_RS_DGRAM_MAX],
			  const struct sockaddr *from);
/* Returns the header's length, or -EINVAL. */
int roost_rs_dgram_get(struct sockaddr_storage *from, const void *data,
		       size_t length_bytes);

/* In front of every message of the side channel. */
#define ROOST_RS_SIDE_MAX 28

struct roost_rs_side {
	uint8_t op;   /* ROOST_RS_OP_DATA: data follows, answer with CTRL */
	uint32_t qpn; /* the sender's UD QP */
};

/* from: the sender's address. Returns the header's length: 16 or 28. */
size_t roost_rs_side_put(uint8_t out[ROOST_RS_SIDE_MAX],
			 const struct roost_rs_side *side,
			 const struct sockaddr *from);
/* family: of the address that it came from. Returns the length or -EINVAL. */
int roost_rs_side_get(struct roost_rs_side *side, sa_family_t family,
		      const void *data, size_t length_bytes);

#endif
