/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * One row per send opcode: the QP types that may post it, its opcodes on the
 * wire, and the opcode of its completion.
 */

#include "lib/engine/transport/qp_priv.h"

#define BASE(op) (ROOST_OPCODE_RC_##op & 0x1f)

#define RC (1u << ROOST_QPT_RC)
#define UC (1u << ROOST_QPT_UC)
#define UD (1u << ROOST_QPT_UD)
#define XI (1u << ROOST_QPT_XRC_INI)
#define RAW (1u << ROOST_QPT_RAW)

const struct roost_wr_info roost_wr_infos[ROOST_WR_OPCODE_COUNT] = {
	[ROOST_WR_SEND] = {
		.qp_types = RC | UC | UD | XI | RAW,
		.kind = ROOST_WR_KIND_MESSAGE,
		.wc_opcode = ROOST_WC_SEND,
		.first = BASE(SEND_FIRST),
		.middle = BASE(SEND_MIDDLE),
		.last = BASE(SEND_LAST),
		.only = BASE(SEND_ONLY),
	},
	[ROOST_WR_SEND_IMM] = {
		.qp_types = RC | UC | UD | XI,
		.kind = ROOST_WR_KIND_MESSAGE,
		.wc_opcode = ROOST_WC_SEND,
		.first = BASE(SEND_FIRST),
		.middle = BASE(SEND_MIDDLE),
		.last = BASE(SEND_LAST_IMM),
		.only = BASE(SEND_ONLY_IMM),
	},
	[ROOST_WR_SEND_INV] = {
		.qp_types = RC | XI,
		.kind = ROOST_WR_KIND_MESSAGE,
		.wc_opcode = ROOST_WC_SEND,
		.first = BASE(SEND_FIRST),
		.middle = BASE(SEND_MIDDLE),
		.last = BASE(SEND_LAST_INV),
		.only = BASE(SEND_ONLY_INV),
	},
	[ROOST_WR_TSO] = {
		.qp_types = RAW,
		.kind = ROOST_WR_KIND_MESSAGE,
		.wc_opcode = ROOST_WC_TSO,
		.first = BASE(SEND_FIRST),
		.middle = BASE(SEND_MIDDLE),
		.last = BASE(SEND_LAST),
		.only = BASE(SEND_ONLY),
	},
	[ROOST_WR_WRITE] = {
		.qp_types = RC | UC | XI,
		.kind = ROOST_WR_KIND_MESSAGE,
		.wc_opcode = ROOST_WC_WRITE,
		.first = BASE(WRITE_FIRST),
		.middle = BASE(WRITE_MIDDLE),
		.last = BASE(WRITE_LAST),
		.only = BASE(WRITE_ONLY),
	},
	[ROOST_WR_WRITE_IMM] = {
		.qp_types = RC | UC | XI,
		.kind = ROOST_WR_KIND_MESSAGE,
		.wc_opcode = ROOST_WC_WRITE,
		.first = BASE(WRITE_FIRST),
		.middle = BASE(WRITE_MIDDLE),
		.last = BASE(WRITE_LAST_IMM),
		.only = BASE(WRITE_ONLY_IMM),
	},
	[ROOST_WR_READ] = {
		.qp_types = RC | XI,
		.kind = ROOST_WR_KIND_RD_ATOMIC,
		.wc_opcode = ROOST_WC_READ,
		.only = BASE(READ_REQ),
		.response = ROOST_OP_READ_RESP,
	},
	[ROOST_WR_CMP_SWAP] = {
		.qp_types = RC | XI,
		.kind = ROOST_WR_KIND_RD_ATOMIC,
		.wc_opcode = ROOST_WC_CMP_SWAP,
		.only = BASE(CMP_SWAP),
		.response = ROOST_OP_ATOMIC_ACK,
		.len_bytes = 8,
	},
	[ROOST_WR_FETCH_ADD] = {
		.qp_types = RC | XI,
		.kind = ROOST_WR_KIND_RD_ATOMIC,
		.wc_opcode = ROOST_WC_FETCH_ADD,
		.only = BASE(FETCH_ADD),
		.response = ROOST_OP_ATOMIC_ACK,
		.len_bytes = 8,
	},
	[ROOST_WR_ATOMIC_WRITE] = {
		.qp_types = RC,
		.kind = ROOST_WR_KIND_RD_ATOMIC,
		.wc_opcode = ROOST_WC_ATOMIC_WRITE,
		.only = BASE(ATOMIC_WRITE),
		.response = ROOST_OP_READ_RESP,
		.len_bytes = 8,
	},
	[ROOST_WR_FLUSH] = {
		.qp_types = RC,
		.kind = ROOST_WR_KIND_RD_ATOMIC,
		.wc_opcode = ROOST_WC_FLUSH,
		.only = BASE(FLUSH),
		.response = ROOST_OP_READ_RESP,
	},
	[ROOST_WR_LOCAL_INV] = {
		.qp_types = RC | UC | XI,
		.kind = ROOST_WR_KIND_LOCAL,
		.wc_opcode = ROOST_WC_LOCAL_INV,
	},
	[ROOST_WR_BIND_MW] = {
		.qp_types = RC | UC | XI,
		.kind = ROOST_WR_KIND_LOCAL,
		.wc_opcode = ROOST_WC_BIND_MW,
	},
};
