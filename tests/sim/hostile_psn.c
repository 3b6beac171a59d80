/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Requests behind the expected PSN and ahead of it. */

#include "tests/sim/hostile_words.h"

/* clang-format off */
#define GAP(distance)                                                          \
	ROW(SEND_ONLY, PSN(distance), DATA(10), NAK(PSN_SEQ)),                 \
	ROW(WRITE_ONLY, PSN(distance), BYTES(16), NAK(PSN_SEQ)),               \
	ROW(FETCH_ADD, PSN(distance), NAK(PSN_SEQ)),                           \
	ROW(READ_REQ, PSN(distance), KEY(RANDOM), LEN(16), NAK(PSN_SEQ)),      \
	ROW(SEND_ONLY, AFTER(GAP_NAKED), PSN(distance), DATA(10), AHEAD)
#define OLD(distance)                                                          \
	ROW(SEND_ONLY, PSN(distance), DATA(10), ACKED_AGAIN),                  \
	ROW(WRITE_ONLY, PSN(distance), BYTES(16), ACKED_AGAIN),                \
	ROW(WRITE_ONLY, PSN(distance), KEY(RANDOM), BYTES(16), ACKED_AGAIN),   \
	ROW(READ_REQ, PSN(distance), LEN(16), STALE),                          \
	ROW(FETCH_ADD, PSN(distance), STALE),                                  \
	ROW(ATOMIC_WRITE, PSN(distance), BYTES(8), STALE),                     \
	ROW(SEND_MIDDLE, PSN(distance), DATA(3), ACKED_AGAIN)

static const struct hostile_row rows[] = {
	GAP(1),
	GAP(100),
	GAP(8388607),
	OLD(-1),
	OLD(-100),
	OLD(-8388608),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), LEN(3000), ANSWER(DATA)),
	ROW(READ_REQ, AGAIN(READ), PSN(-1), VA(2048), LEN(952), ANSWER(DATA)),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), LEN(3001), STALE),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), LEN(2999), ANSWER(DATA)),
	ROW(READ_REQ, AGAIN(READ), PSN(-2), VA(1024), LEN(1000), ANSWER(DATA)),
	ROW(READ_REQ, AGAIN(READ), PSN(-1), VA(2048), ANSWER(DATA)),
	ROW(READ_REQ, AGAIN(READ), PSN(-1), VA(2048), LEN(953), STALE),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), VA(1), LEN(3000), STALE),
	ROW(READ_REQ, AGAIN(READ), PSN(-2), VA(1025), LEN(1976), STALE),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), KEY(READ_ONLY), LEN(3000), STALE),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), KEY(RANDOM), LEN(3000), STALE),
	ROW(READ_REQ, AGAIN(READ), PSN(-3), LEN(0xffffffffu), STALE),
	ROW(FETCH_ADD, AGAIN(READ), PSN(-3), STALE),
	ROW(FETCH_ADD, AGAIN(ADD), PSN(-1), ANSWER(DATA), TAKEN),
	ROW(FETCH_ADD, AGAIN(ADD), PSN(-1), KEY(RANDOM), ANSWER(DATA), TAKEN),
	ROW(CMP_SWAP, AGAIN(ADD), PSN(-1), STALE, TAKEN),
	ROW(READ_REQ, AGAIN(ADD), PSN(-1), LEN(8), STALE, TAKEN),
	ROW(ATOMIC_WRITE, AGAIN(ADD), PSN(-1), BYTES(8), STALE, TAKEN),
};
/* clang-format on */

const struct hostile_table hostile_psn = { rows,
					   sizeof(rows) / sizeof(rows[0]) };
