/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/wire/frame.h"
#include "lib/wire/opcode.h"

/* Extension headers, as the rows name them. */
#define H_NONE 0u
#define H_XRCETH ROOST_HDR_BIT(XRCETH)
#define H_DETH ROOST_HDR_BIT(DETH)
#define H_FETH ROOST_HDR_BIT(FETH)
#define H_RETH ROOST_HDR_BIT(RETH)
#define H_ATOMICETH ROOST_HDR_BIT(ATOMICETH)
#define H_AETH ROOST_HDR_BIT(AETH)
#define H_ATOMICACKETH ROOST_HDR_BIT(ATOMICACKETH)
#define H_IMMDT ROOST_HDR_BIT(IMMDT)
#define H_IETH ROOST_HDR_BIT(IETH)
#define H_CNP ROOST_HDR_BIT(CNP)

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

/* The rows of a service with connections; XRC requests have more headers. */
/* clang-format off */
#define SEND_ROWS(S, more)                                                     \
	ROW(S, S##_SEND_FIRST, #S " Send First", SEND, more,                   \
	    F_FIRST | F_REQ | F_DATA),                                         \
	ROW(S, S##_SEND_MIDDLE, #S " Send Middle", SEND, more,                 \
	    F_MIDDLE | F_REQ | F_DATA),                                        \
	ROW(S, S##_SEND_LAST, #S " Send Last", SEND, more,                     \
	    F_LAST | F_REQ | F_DATA | F_RWQE),                                 \
	ROW(S, S##_SEND_LAST_IMM, #S " Send Last Immediate", SEND,             \
	    more | H_IMMDT, F_LAST | F_REQ | F_DATA | F_RWQE),                 \
	ROW(S, S##_SEND_ONLY, #S " Send Only", SEND, more,                     \
	    F_ONLY | F_REQ | F_DATA | F_RWQE),                                 \
	ROW(S, S##_SEND_ONLY_IMM, #S " Send Only Immediate", SEND,             \
	    more | H_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE)
#define WRITE_ROWS(S, more)                                                    \
	ROW(S, S##_WRITE_FIRST, #S " RDMA Write First", WRITE, more | H_RETH,  \
	    F_FIRST | F_REQ | F_DATA),                                         \
	ROW(S, S##_WRITE_MIDDLE, #S " RDMA Write Middle", WRITE, more,         \
	    F_MIDDLE | F_REQ | F_DATA),                                        \
	ROW(S, S##_WRITE_LAST, #S " RDMA Write Last", WRITE, more,             \
	    F_LAST | F_REQ | F_DATA),                                          \
	ROW(S, S##_WRITE_LAST_IMM, #S " RDMA Write Last Immediate", WRITE,     \
	    more | H_IMMDT, F_LAST | F_REQ | F_DATA | F_RWQE),                 \
	ROW(S, S##_WRITE_ONLY, #S " RDMA Write Only", WRITE, more | H_RETH,    \
	    F_ONLY | F_REQ | F_DATA),                                          \
	ROW(S, S##_WRITE_ONLY_IMM, #S " RDMA Write Only Immediate", WRITE,     \
	    more | H_RETH | H_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE)
#define RELIABLE_ROWS(S, more)                                                 \
	ROW(S, S##_READ_REQ, #S " RDMA Read Request", READ_REQ,                \
	    more | H_RETH, F_ONLY | F_REQ),                                    \
	ROW(S, S##_READ_RESP_FIRST, #S " RDMA Read Response First",            \
	    READ_RESP, H_AETH, F_FIRST | F_RESP | F_DATA),                     \
	ROW(S, S##_READ_RESP_MIDDLE, #S " RDMA Read Response Middle",          \
	    READ_RESP, H_NONE, F_MIDDLE | F_RESP | F_DATA),                    \
	ROW(S, S##_READ_RESP_LAST, #S " RDMA Read Response Last",              \
	    READ_RESP, H_AETH, F_LAST | F_RESP | F_DATA),                      \
	ROW(S, S##_READ_RESP_ONLY, #S " RDMA Read Response Only",              \
	    READ_RESP, H_AETH, F_ONLY | F_RESP | F_DATA),                      \
	ROW(S, S##_ACK, #S " Acknowledge", ACK, H_AETH, F_ONLY | F_RESP),      \
	ROW(S, S##_ATOMIC_ACK, #S " Atomic Acknowledge", ATOMIC_ACK,           \
	    H_AETH | H_ATOMICACKETH, F_ONLY | F_RESP),                         \
	ROW(S, S##_CMP_SWAP, #S " Compare Swap", CMP_SWAP,                     \
	    more | H_ATOMICETH, F_ONLY | F_REQ),                               \
	ROW(S, S##_FETCH_ADD, #S " Fetch Add", FETCH_ADD,                      \
	    more | H_ATOMICETH, F_ONLY | F_REQ),                               \
	ROW(S, S##_SEND_LAST_INV, #S " Send Last Invalidate", SEND,            \
	    more | H_IETH, F_LAST | F_REQ | F_DATA | F_RWQE),                  \
	ROW(S, S##_SEND_ONLY_INV, #S " Send Only Invalidate", SEND,            \
	    more | H_IETH, F_ONLY | F_REQ | F_DATA | F_RWQE)
/* clang-format on */

/* Names are Wireshark's, where it has one. */
const struct roost_opcode_info roost_opcodes[256] = {
	SEND_ROWS(RC, H_NONE),
	WRITE_ROWS(RC, H_NONE),
	RELIABLE_ROWS(RC, H_NONE),
	ROW(RC, RC_FLUSH, "RC Flush", FLUSH, H_FETH | H_RETH, F_ONLY | F_REQ),
	ROW(RC, RC_ATOMIC_WRITE, "RC Atomic Write", ATOMIC_WRITE, H_RETH,
	    F_ONLY | F_REQ | F_DATA),

	SEND_ROWS(UC, H_NONE),
	WRITE_ROWS(UC, H_NONE),

	ROW(UD, UD_SEND_ONLY, "UD Send Only", SEND, H_DETH,
	    F_ONLY | F_REQ | F_DATA | F_RWQE),
	ROW(UD, UD_SEND_ONLY_IMM, "UD Send Only Immediate", SEND,
	    H_DETH | H_IMMDT, F_ONLY | F_REQ | F_DATA | F_RWQE),

	ROW(CNP, CNP, "CNP", CNP, H_CNP, F_ONLY),

	ROW(ROOST, REPORT, "Roost Report", REPORT, H_NONE,
	    F_ONLY | F_RESP | F_DATA),

	/* Each request names its SRQ in an XRCETH; an answer does not. */
	SEND_ROWS(XRC, H_XRCETH),
	WRITE_ROWS(XRC, H_XRCETH),
	RELIABLE_ROWS(XRC, H_XRCETH),
};
