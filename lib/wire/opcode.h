/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_OPCODE_H
#define ROOST_WIRE_OPCODE_H

/*
 * Every BTH opcode of RoCEv2, one row each: its operation, its place in a
 * message and its extension headers. Header offsets are derived from the header
 * set at compile time, never written by hand.
 *
 * Two values that must not mix have two types: an opcode (enum roost_opcode,
 * the byte on the wire) and its row (struct roost_opcode_info).
 *
 * Source: IBTA 9.2.1, 9.3 and Annexes A14 (XRC), A17 (RoCEv2, CNP), A19
 * (memory placement: FLUSH, ATOMIC WRITE). REPORT is Roost's own. Pure, no
 * state.
 */

#include <stdint.h>

/* The top three bits of the opcode. */
enum roost_service {
	ROOST_SERVICE_RC = 0,
	ROOST_SERVICE_UC = 1,
	ROOST_SERVICE_RD = 2, /* never valid in RoCEv2 here */
	ROOST_SERVICE_UD = 3,
	ROOST_SERVICE_CNP = 4,
	ROOST_SERVICE_XRC = 5,
	/* 0xc0 and up are the manufacturers' opcodes. */
	ROOST_SERVICE_ROOST = 6,
};

#define ROOST_OPCODE(service, op) ((ROOST_SERVICE_##service << 5) | (op))

enum roost_opcode {
	ROOST_OPCODE_RC_SEND_FIRST = ROOST_OPCODE(RC, 0x00),
	ROOST_OPCODE_RC_SEND_MIDDLE = ROOST_OPCODE(RC, 0x01),
	ROOST_OPCODE_RC_SEND_LAST = ROOST_OPCODE(RC, 0x02),
	ROOST_OPCODE_RC_SEND_LAST_IMM = ROOST_OPCODE(RC, 0x03),
	ROOST_OPCODE_RC_SEND_ONLY = ROOST_OPCODE(RC, 0x04),
	ROOST_OPCODE_RC_SEND_ONLY_IMM = ROOST_OPCODE(RC, 0x05),
	ROOST_OPCODE_RC_WRITE_FIRST = ROOST_OPCODE(RC, 0x06),
	ROOST_OPCODE_RC_WRITE_MIDDLE = ROOST_OPCODE(RC, 0x07),
	ROOST_OPCODE_RC_WRITE_LAST = ROOST_OPCODE(RC, 0x08),
	ROOST_OPCODE_RC_WRITE_LAST_IMM = ROOST_OPCODE(RC, 0x09),
	ROOST_OPCODE_RC_WRITE_ONLY = ROOST_OPCODE(RC, 0x0a),
	ROOST_OPCODE_RC_WRITE_ONLY_IMM = ROOST_OPCODE(RC, 0x0b),
	ROOST_OPCODE_RC_READ_REQ = ROOST_OPCODE(RC, 0x0c),
	ROOST_OPCODE_RC_READ_RESP_FIRST = ROOST_OPCODE(RC, 0x0d),
	ROOST_OPCODE_RC_READ_RESP_MIDDLE = ROOST_OPCODE(RC, 0x0e),
	ROOST_OPCODE_RC_READ_RESP_LAST = ROOST_OPCODE(RC, 0x0f),
	ROOST_OPCODE_RC_READ_RESP_ONLY = ROOST_OPCODE(RC, 0x10),
	ROOST_OPCODE_RC_ACK = ROOST_OPCODE(RC, 0x11),
	ROOST_OPCODE_RC_ATOMIC_ACK = ROOST_OPCODE(RC, 0x12),
	ROOST_OPCODE_RC_CMP_SWAP = ROOST_OPCODE(RC, 0x13),
	ROOST_OPCODE_RC_FETCH_ADD = ROOST_OPCODE(RC, 0x14),
	ROOST_OPCODE_RC_SEND_LAST_INV = ROOST_OPCODE(RC, 0x16),
	ROOST_OPCODE_RC_SEND_ONLY_INV = ROOST_OPCODE(RC, 0x17),
	ROOST_OPCODE_RC_FLUSH = ROOST_OPCODE(RC, 0x1c),
	ROOST_OPCODE_RC_ATOMIC_WRITE = ROOST_OPCODE(RC, 0x1d),

	ROOST_OPCODE_UC_SEND_FIRST = ROOST_OPCODE(UC, 0x00),
	ROOST_OPCODE_UC_SEND_MIDDLE = ROOST_OPCODE(UC, 0x01),
	ROOST_OPCODE_UC_SEND_LAST = ROOST_OPCODE(UC, 0x02),
	ROOST_OPCODE_UC_SEND_LAST_IMM = ROOST_OPCODE(UC, 0x03),
	ROOST_OPCODE_UC_SEND_ONLY = ROOST_OPCODE(UC, 0x04),
	ROOST_OPCODE_UC_SEND_ONLY_IMM = ROOST_OPCODE(UC, 0x05),
	ROOST_OPCODE_UC_WRITE_FIRST = ROOST_OPCODE(UC, 0x06),
	ROOST_OPCODE_UC_WRITE_MIDDLE = ROOST_OPCODE(UC, 0x07),
	ROOST_OPCODE_UC_WRITE_LAST = ROOST_OPCODE(UC, 0x08),
	ROOST_OPCODE_UC_WRITE_LAST_IMM = ROOST_OPCODE(UC, 0x09),
	ROOST_OPCODE_UC_WRITE_ONLY = ROOST_OPCODE(UC, 0x0a),
	ROOST_OPCODE_UC_WRITE_ONLY_IMM = ROOST_OPCODE(UC, 0x0b),

	ROOST_OPCODE_UD_SEND_ONLY = ROOST_OPCODE(UD, 0x04),
	ROOST_OPCODE_UD_SEND_ONLY_IMM = ROOST_OPCODE(UD, 0x05),

	ROOST_OPCODE_CNP = ROOST_OPCODE(CNP, 0x01),

	/* From a responder of RC or XRC, to a requester that can repeat
	 * selectively: which request packets were received.
	 */
	ROOST_OPCODE_REPORT = ROOST_OPCODE(ROOST, 0x11),

	ROOST_OPCODE_XRC_SEND_FIRST = ROOST_OPCODE(XRC, 0x00),
	ROOST_OPCODE_XRC_SEND_MIDDLE = ROOST_OPCODE(XRC, 0x01),
	ROOST_OPCODE_XRC_SEND_LAST = ROOST_OPCODE(XRC, 0x02),
	ROOST_OPCODE_XRC_SEND_LAST_IMM = ROOST_OPCODE(XRC, 0x03),
	ROOST_OPCODE_XRC_SEND_ONLY = ROOST_OPCODE(XRC, 0x04),
	ROOST_OPCODE_XRC_SEND_ONLY_IMM = ROOST_OPCODE(XRC, 0x05),
	ROOST_OPCODE_XRC_WRITE_FIRST = ROOST_OPCODE(XRC, 0x06),
	ROOST_OPCODE_XRC_WRITE_MIDDLE = ROOST_OPCODE(XRC, 0x07),
	ROOST_OPCODE_XRC_WRITE_LAST = ROOST_OPCODE(XRC, 0x08),
	ROOST_OPCODE_XRC_WRITE_LAST_IMM = ROOST_OPCODE(XRC, 0x09),
	ROOST_OPCODE_XRC_WRITE_ONLY = ROOST_OPCODE(XRC, 0x0a),
	ROOST_OPCODE_XRC_WRITE_ONLY_IMM = ROOST_OPCODE(XRC, 0x0b),
	ROOST_OPCODE_XRC_READ_REQ = ROOST_OPCODE(XRC, 0x0c),
	ROOST_OPCODE_XRC_READ_RESP_FIRST = ROOST_OPCODE(XRC, 0x0d),
	ROOST_OPCODE_XRC_READ_RESP_MIDDLE = ROOST_OPCODE(XRC, 0x0e),
	ROOST_OPCODE_XRC_READ_RESP_LAST = ROOST_OPCODE(XRC, 0x0f),
	ROOST_OPCODE_XRC_READ_RESP_ONLY = ROOST_OPCODE(XRC, 0x10),
	ROOST_OPCODE_XRC_ACK = ROOST_OPCODE(XRC, 0x11),
	ROOST_OPCODE_XRC_ATOMIC_ACK = ROOST_OPCODE(XRC, 0x12),
	ROOST_OPCODE_XRC_CMP_SWAP = ROOST_OPCODE(XRC, 0x13),
	ROOST_OPCODE_XRC_FETCH_ADD = ROOST_OPCODE(XRC, 0x14),
	ROOST_OPCODE_XRC_SEND_LAST_INV = ROOST_OPCODE(XRC, 0x16),
	ROOST_OPCODE_XRC_SEND_ONLY_INV = ROOST_OPCODE(XRC, 0x17),
};

/* Extension headers, in the order in which they follow the BTH. */
enum roost_hdr {
	ROOST_HDR_XRCETH,
	ROOST_HDR_DETH,
	ROOST_HDR_FETH,
	ROOST_HDR_RETH,
	ROOST_HDR_ATOMICETH,
	ROOST_HDR_AETH,
	ROOST_HDR_ATOMICACKETH,
	ROOST_HDR_IMMDT,
	ROOST_HDR_IETH,
	ROOST_HDR_CNP, /* the 16 reserved bytes of a CNP */
	ROOST_HDR_COUNT,
};

/* The bit of one extension header in a set of them, e.g. of RETH. */
#define ROOST_HDR_BIT(hdr) (1u << ROOST_HDR_##hdr)

/* The operation of a packet. */
enum roost_op {
	ROOST_OP_NONE = 0, /* opcode not known: drop */
	ROOST_OP_SEND,
	ROOST_OP_WRITE,
	ROOST_OP_READ_REQ,
	ROOST_OP_CMP_SWAP,
	ROOST_OP_FETCH_ADD,
	ROOST_OP_ATOMIC_WRITE,
	ROOST_OP_FLUSH,
	ROOST_OP_READ_RESP,
	ROOST_OP_ACK,
	ROOST_OP_ATOMIC_ACK,
	ROOST_OP_CNP,
	ROOST_OP_REPORT,
};

/* Place in the message and other properties of a row; an ONLY is FIRST|LAST. */
enum roost_opflag {
	ROOST_OPF_FIRST = 1 << 0,
	ROOST_OPF_LAST = 1 << 1,
	ROOST_OPF_REQUEST = 1 << 2,  /* to a responder */
	ROOST_OPF_RESPONSE = 1 << 3, /* to a requester */
	ROOST_OPF_PAYLOAD = 1 << 4,  /* may carry payload */
	ROOST_OPF_RWQE = 1 << 5,     /* takes a receive WQE when it completes */
};

struct roost_opcode_info {
	const char *name;      /* as tshark prints it, e.g. "RC Send First" */
	uint8_t op;            /* enum roost_op; ROOST_OP_NONE: unknown */
	uint8_t service;       /* enum roost_service */
	uint8_t flags;         /* enum roost_opflag */
	uint8_t hdr_len_bytes; /* BTH and all extension headers */
	uint16_t hdrs;         /* set of ROOST_HDR_BIT() */
	/* Offset of each header from the BTH, 0: not in this packet. */
	uint8_t hdr_off[ROOST_HDR_COUNT];
};

/* Indexed by the opcode byte; rows that are not defined are all zero. */
extern const struct roost_opcode_info roost_opcodes[256];

/* Length of one extension header in bytes. */
#define ROOST_XRCETH_LEN 4u
#define ROOST_DETH_LEN 8u
#define ROOST_FETH_LEN 4u
#define ROOST_RETH_LEN 16u
#define ROOST_ATOMICETH_LEN 28u
#define ROOST_AETH_LEN 4u
#define ROOST_ATOMICACKETH_LEN 8u
#define ROOST_IMMDT_LEN 4u
#define ROOST_IETH_LEN 4u
#define ROOST_CNP_LEN 16u

#endif
