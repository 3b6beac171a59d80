/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_HOSTILE_WORDS_H
#define ROOST_TESTS_SIM_HOSTILE_WORDS_H

/*
 * The words of the tables of hostile packets: each sets fields of struct
 * hostile_row, so that a row fits in a line. A row's name is its own text.
 */

#include "tests/sim/hostile.h"

#define HOSTILE_ROW(qp, op, ...)                                               \
	{                                                                      \
		.name = #op ": " #__VA_ARGS__, .type = ROOST_QPT_##qp,         \
		.opcode = ROOST_OPCODE_##op, __VA_ARGS__                       \
	}
#define ROW(op, ...) HOSTILE_ROW(RC, RC_##op, __VA_ARGS__)
#define UC_ROW(op, ...) HOSTILE_ROW(UC, UC_##op, __VA_ARGS__)
#define UD_ROW(op, ...) HOSTILE_ROW(UD, UD_##op, __VA_ARGS__)
#define XRC_ROW(op, ...) HOSTILE_ROW(XRC_TGT, XRC_##op, __VA_ARGS__)

/* What came before. */
#define AFTER(what) .before = what
#define INSIDE(message) AFTER(message##_BEGUN)
#define AGAIN(request) AFTER(request##_DONE)
#define SENT(request) AFTER(SENT_##request)

/* The packet. */
#define FROM(whom) .from = FROM_##whom
#define TO(whom) .from = TO_##whom
#define KEY(which) .key = KEY_##which
#define VA(offset) .va = offset
#define AT(address) .va = address, .va_absolute = true
#define LEN(reth) .len = reth
#define DATA(payload_bytes) .payload = payload_bytes
#define BYTES(both) LEN(both), DATA(both)
#define FULL DATA(1024)
#define PAD(bytes) .pad = bytes, .pad_given = true
#define CUT(bytes) .cut = bytes
#define PSN(distance) .psn = distance
#define PKEY(value) .pkey = value
#define QKEY(value) .qkey = value
#define QPN(number) .qpn = number
#define OTHER_SRQ .wrong_srqn = true
#define NO_ACCESS .no_access = true
#define FLUSH(type, level) .flush_type = type, .flush_level = level
#define AETH(syndrome_byte) .syndrome_in = syndrome_byte
#define ACKS AETH(0x1f)

/* What comes of it. */
#define ANSWER(which) .answer = ANSWER_##which
#define NAK(which) ANSWER(NAK), .syndrome = ROOST_NAK_##which
#define RNR_NAK ANSWER(NAK), .syndrome = ROOST_AETH_RNR_NAK | 1
#define DROP(reason) .drop = ROOST_DROP_##reason
#define STATUS(which) .status = ROOST_WC_##which
#define ENDS(how) .state = ROOST_QPS_ERR, STATUS(how)
#define TAKEN .taken = true
#define SUCCESS .success = true
#define FOREIGN DROP(SRC_ADDR)
#define STALE DROP(DUPLICATE)
#define ACKED_AGAIN ANSWER(ACK), STALE
#define AHEAD DROP(OUT_OF_ORDER)
#define UNASKED DROP(UNEXPECTED_RESPONSE)
#define BAD_RESPONSE ENDS(BAD_RESP_ERR)
#define FLUSHED DROP(QP_STATE), STATUS(WR_FLUSH_ERR)
#define TOO_LONG NAK(INV_REQ), TAKEN, ENDS(LOC_LEN_ERR)
#define INVALID_OPEN                                                           \
	NAK(INV_REQ), .state = ROOST_QPS_ERR, .event = ROOST_EVENT_QP_REQ_ERR
#define INVALID INVALID_OPEN, STATUS(WR_FLUSH_ERR)
#define FORBIDDEN_OPEN                                                         \
	NAK(REM_ACCESS), .state = ROOST_QPS_ERR,                               \
			 .event = ROOST_EVENT_QP_ACCESS_ERR
#define FORBIDDEN FORBIDDEN_OPEN, STATUS(WR_FLUSH_ERR)

#endif
