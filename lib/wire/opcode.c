/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/wire/frame.h"
#include "lib/wire/opcode.h"

/* Sets of extension headers, as the rows name them. */
#define H_NONE 0u
#define H_IMMDT ROOST_HDR_BIT(IMMDT)
#define H_IETH ROOST_HDR_BIT(IETH)
#define H_RETH ROOST_HDR_BIT(RETH)
#define H_RETH_IMMDT (H_RETH | H_IMMDT)
#define H_FETH_RETH (ROOST_HDR_BIT(FETH) | H_RETH)
#define H_ATOMICETH ROOST_HDR_BIT(ATOMICETH)
#define H_AETH ROOST_HDR_BIT(AETH)
#define H_AETH_ATOMICACKETH (H_AETH | ROOST_HDR_BIT(ATOMICACKETH))
#define H_DETH ROOST_HDR_BIT(DETH)
#define H_DETH_IMMDT (H_DETH | H_IMMDT)
#define H_CNP ROOST_HDR_BIT(CNP)
#define H_XRC ROOST_HDR_BIT(XRCETH)
#define H_XRC_IMMDT (H_XRC | H_IMMDT)
#define H_XRC_IETH (H_XRC | H_IETH)
#define H_XRC_RETH (H_XRC | H_RETH)
#define H_XRC_RETH_IMMDT (H_XRC | H_RETH_IMMDT)
#define H_XRC_ATOMICETH (H_XRC | H_ATOMICETH)

/* Sets of flags. A message that takes a receive WQE takes it at its end. */
#define F_FIRST ROOST_OPF_FIRST
#define F_MIDDLE 0
#define F_LAST ROOST_OPF_LAST
#define F_ONLY (ROOST_OPF_FIRST | ROOST_OPF_LAST)
#define F_REQ ROOST_OPF_REQUEST
#define F_RESP ROOST_OPF_RESPONSE
#define F_DATA ROOST_OPF_PAYLOAD
#define F_RWQE ROOST_OPF_RWQE

/*
 * Where each header ends, in the order on the wire: after the one before it,
 * and longer by its own length if the set has it.
 */
#define HAS(set, hdr) (((set) >> ROOST_HDR_##hdr) & 1u)
#define LEN(set, hdr) (HAS(set, hdr) * ROOST_##hdr##_LEN)
#define END_XRCETH(set) (ROOST_BTH_LEN + LEN(set, XRCETH))
#define END_DETH(set) (END_XRCETH(set) + LEN(set, DETH))
#define END_FETH(set) (END_DETH(set) + LEN(set, FETH))
#define END_RETH(set) (END_FETH(set) + LEN(set, RETH))
#define END_ATOMICETH(set) (END_RETH(set) + LEN(set, ATOMICETH))
#define END_AETH(set) (END_ATOMICETH(set) + LEN(set, AETH))
#define END_ATOMICACKETH(set) (END_AETH(set) + LEN(set, ATOMICACKETH))
#define END_IMMDT(set) (END_ATOMICACKETH(set) + LEN(set, IMMDT))
#define END_IETH(set) (END_IMMDT(set) + LEN(set, IETH))
#define END_CNP(set) (END_IETH(set) + LEN(set, CNP))

_Static_assert(ROOST_HDR_XRCETH == 0 && ROOST_HDR_DETH == 1 &&
		       ROOST_HDR_FETH == 2 && ROOST_HDR_RETH == 3 &&
		       ROOST_HDR_ATOMICETH == 4 && ROOST_HDR_AETH == 5 &&
		       ROOST_HDR_ATOMICACKETH == 6 && ROOST_HDR_IMMDT == 7 &&
		       ROOST_HDR_IETH == 8 && ROOST_HDR_CNP == 9 &&
		       ROOST_HDR_COUNT == 10,
	       "END_*() follow enum roost_hdr");

#define OFF(set, hdr)                                                          \
	[ROOST_HDR_##hdr] = HAS(set, hdr) * (END_##hdr(set) - LEN(set, hdr))

#define ROW(service_, opcode_, name_, op_, set, flags_)                        \
	[ROOST_OPCODE_##opcode_] = {                                           \
		.name = name_,                                                 \
		.op = ROOST_OP_##op_,                                          \
		.service = ROOST_SERVICE_##service_,                           \
		.flags = (flags_),                                             \
		.hdr_len_bytes = END_CNP(set),                                 \
		.hdrs = (set),                                                 \
		.hdr_off = {                                                   \
			OFF(set, XRCETH), OFF(set, DETH), OFF(set, FETH),      \
			OFF(set, RETH), OFF(set, ATOMICETH), OFF(set, AETH),   \
			OFF(set, ATOMICACKETH), OFF(set, IMMDT),               \
			OFF(set, IETH), OFF(set, CNP),                         \
		},                                                             \
	}

/* Names are Wireshark's, where it has one. */
const struct roost_opcode_info roost_opcodes[256] = {
	ROW(RC, RC_SEND_FIRST, "RC Send First", SEND, H_NONE,
	    F_FIRST | F_REQ | F_DATA),
	ROW(RC, RC_SEND_MIDDLE, "RC Send Middle", SEND, H_NONE,
	    F_MIDDLE | F_REQ | F_DATA),
	ROW(RC, RC_SEND_LAST, "RC Send Last", SEND, H_NONE,
	    F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_SEND_LAST_IMM, "RC Send Last Immediate", SEND, H_IMMDT,
	    F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_SEND_ONLY, "RC Send Only", SEND, H_NONE,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_SEND_ONLY_IMM, "RC Send Only Immediate", SEND, H_IMMDT,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_WRITE_FIRST, "RC RDMA Write First", WRITE, H_RETH,
	    F_FIRST | F_REQ | F_DATA),
	ROW(RC, RC_WRITE_MIDDLE, "RC RDMA Write Middle", WRITE, H_NONE,
	    F_MIDDLE | F_REQ | F_DATA),
	ROW(RC, RC_WRITE_LAST, "RC RDMA Write Last", WRITE, H_NONE,
	    F_LAST | F_REQ | F_DATA),
	ROW(RC, RC_WRITE_LAST_IMM, "RC RDMA Write Last Immediate", WRITE,
	    H_IMMDT, F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_WRITE_ONLY, "RC RDMA Write Only", WRITE, H_RETH,
	    F_ONLY | F_REQ | F_DATA),
	ROW(RC, RC_WRITE_ONLY_IMM, "RC RDMA Write Only Immediate", WRITE,
	    H_RETH_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_READ_REQ, "RC RDMA Read Request", READ_REQ, H_RETH,
	    F_ONLY | F_REQ),
	ROW(RC, RC_READ_RESP_FIRST, "RC RDMA Read Response First", READ_RESP,
	    H_AETH, F_FIRST | F_RESP | F_DATA),
	ROW(RC, RC_READ_RESP_MIDDLE, "RC RDMA Read Response Middle", READ_RESP,
	    H_NONE, F_MIDDLE | F_RESP | F_DATA),
	ROW(RC, RC_READ_RESP_LAST, "RC RDMA Read Response Last", READ_RESP,
	    H_AETH, F_LAST | F_RESP | F_DATA),
	ROW(RC, RC_READ_RESP_ONLY, "RC RDMA Read Response Only", READ_RESP,
	    H_AETH, F_ONLY | F_RESP | F_DATA),
	ROW(RC, RC_ACK, "RC Acknowledge", ACK, H_AETH, F_ONLY | F_RESP),
	ROW(RC, RC_ATOMIC_ACK, "RC Atomic Acknowledge", ATOMIC_ACK,
	    H_AETH_ATOMICACKETH, F_ONLY | F_RESP),
	ROW(RC, RC_CMP_SWAP, "RC Compare Swap", CMP_SWAP, H_ATOMICETH,
	    F_ONLY | F_REQ),
	ROW(RC, RC_FETCH_ADD, "RC Fetch Add", FETCH_ADD, H_ATOMICETH,
	    F_ONLY | F_REQ),
	ROW(RC, RC_SEND_LAST_INV, "RC Send Last Invalidate", SEND, H_IETH,
	    F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_SEND_ONLY_INV, "RC Send Only Invalidate", SEND, H_IETH,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(RC, RC_FLUSH, "RC Flush", FLUSH, H_FETH_RETH, F_ONLY | F_REQ),
	ROW(RC, RC_ATOMIC_WRITE, "RC Atomic Write", ATOMIC_WRITE, H_RETH,
	    F_ONLY | F_REQ | F_DATA),

	ROW(UC, UC_SEND_FIRST, "UC Send First", SEND, H_NONE,
	    F_FIRST | F_REQ | F_DATA),
	ROW(UC, UC_SEND_MIDDLE, "UC Send Middle", SEND, H_NONE,
	    F_MIDDLE | F_REQ | F_DATA),
	ROW(UC, UC_SEND_LAST, "UC Send Last", SEND, H_NONE,
	    F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(UC, UC_SEND_LAST_IMM, "UC Send Last Immediate", SEND, H_IMMDT,
	    F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(UC, UC_SEND_ONLY, "UC Send Only", SEND, H_NONE,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(UC, UC_SEND_ONLY_IMM, "UC Send Only Immediate", SEND, H_IMMDT,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(UC, UC_WRITE_FIRST, "UC RDMA Write First", WRITE, H_RETH,
	    F_FIRST | F_REQ | F_DATA),
	ROW(UC, UC_WRITE_MIDDLE, "UC RDMA Write Middle", WRITE, H_NONE,
	    F_MIDDLE | F_REQ | F_DATA),
	ROW(UC, UC_WRITE_LAST, "UC RDMA Write Last", WRITE, H_NONE,
	    F_LAST | F_REQ | F_DATA),
	ROW(UC, UC_WRITE_LAST_IMM, "UC RDMA Write Last Immediate", WRITE,
	    H_IMMDT, F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(UC, UC_WRITE_ONLY, "UC RDMA Write Only", WRITE, H_RETH,
	    F_ONLY | F_REQ | F_DATA),
	ROW(UC, UC_WRITE_ONLY_IMM, "UC RDMA Write Only Immediate", WRITE,
	    H_RETH_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE),

	ROW(UD, UD_SEND_ONLY, "UD Send Only", SEND, H_DETH,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(UD, UD_SEND_ONLY_IMM, "UD Send Only Immediate", SEND, H_DETH_IMMDT,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),

	ROW(CNP, CNP, "CNP", CNP, H_CNP, F_ONLY),

	/* Each request names its SRQ in an XRCETH; an answer does not. */
	ROW(XRC, XRC_SEND_FIRST, "XRC Send First", SEND, H_XRC,
	    F_FIRST | F_REQ | F_DATA),
	ROW(XRC, XRC_SEND_MIDDLE, "XRC Send Middle", SEND, H_XRC,
	    F_MIDDLE | F_REQ | F_DATA),
	ROW(XRC, XRC_SEND_LAST, "XRC Send Last", SEND, H_XRC,
	    F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_SEND_LAST_IMM, "XRC Send Last Immediate", SEND,
	    H_XRC_IMMDT, F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_SEND_ONLY, "XRC Send Only", SEND, H_XRC,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_SEND_ONLY_IMM, "XRC Send Only Immediate", SEND,
	    H_XRC_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_WRITE_FIRST, "XRC RDMA Write First", WRITE, H_XRC_RETH,
	    F_FIRST | F_REQ | F_DATA),
	ROW(XRC, XRC_WRITE_MIDDLE, "XRC RDMA Write Middle", WRITE, H_XRC,
	    F_MIDDLE | F_REQ | F_DATA),
	ROW(XRC, XRC_WRITE_LAST, "XRC RDMA Write Last", WRITE, H_XRC,
	    F_LAST | F_REQ | F_DATA),
	ROW(XRC, XRC_WRITE_LAST_IMM, "XRC RDMA Write Last Immediate", WRITE,
	    H_XRC_IMMDT, F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_WRITE_ONLY, "XRC RDMA Write Only", WRITE, H_XRC_RETH,
	    F_ONLY | F_REQ | F_DATA),
	ROW(XRC, XRC_WRITE_ONLY_IMM, "XRC RDMA Write Only Immediate", WRITE,
	    H_XRC_RETH_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_READ_REQ, "XRC RDMA Read Request", READ_REQ, H_XRC_RETH,
	    F_ONLY | F_REQ),
	ROW(XRC, XRC_READ_RESP_FIRST, "XRC RDMA Read Response First", READ_RESP,
	    H_AETH, F_FIRST | F_RESP | F_DATA),
	ROW(XRC, XRC_READ_RESP_MIDDLE, "XRC RDMA Read Response Middle",
	    READ_RESP, H_NONE, F_MIDDLE | F_RESP | F_DATA),
	ROW(XRC, XRC_READ_RESP_LAST, "XRC RDMA Read Response Last", READ_RESP,
	    H_AETH, F_LAST | F_RESP | F_DATA),
	ROW(XRC, XRC_READ_RESP_ONLY, "XRC RDMA Read Response Only", READ_RESP,
	    H_AETH, F_ONLY | F_RESP | F_DATA),
	ROW(XRC, XRC_ACK, "XRC Acknowledge", ACK, H_AETH, F_ONLY | F_RESP),
	ROW(XRC, XRC_ATOMIC_ACK, "XRC Atomic Acknowledge", ATOMIC_ACK,
	    H_AETH_ATOMICACKETH, F_ONLY | F_RESP),
	ROW(XRC, XRC_CMP_SWAP, "XRC Compare Swap", CMP_SWAP, H_XRC_ATOMICETH,
	    F_ONLY | F_REQ),
	ROW(XRC, XRC_FETCH_ADD, "XRC Fetch Add", FETCH_ADD, H_XRC_ATOMICETH,
	    F_ONLY | F_REQ),
	ROW(XRC, XRC_SEND_LAST_INV, "XRC Send Last Invalidate", SEND,
	    H_XRC_IETH, F_LAST | F_REQ | F_DATA | F_RWQE),
	ROW(XRC, XRC_SEND_ONLY_INV, "XRC Send Only Invalidate", SEND,
	    H_XRC_IETH, F_ONLY | F_REQ | F_DATA | F_RWQE),
};
