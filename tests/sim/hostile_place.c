/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Requests of strangers, in states that take none, and cut short. */

#include "tests/sim/hostile_words.h"

/* clang-format off */
#define ASTRAY(way, ...)                                                       \
	ROW(SEND_ONLY, way, DATA(10), __VA_ARGS__),                            \
	ROW(WRITE_ONLY, way, BYTES(16), __VA_ARGS__),                          \
	ROW(READ_REQ, way, LEN(16), __VA_ARGS__),                              \
	ROW(FETCH_ADD, way, __VA_ARGS__),                                      \
	ROW(SEND_ONLY_INV, PSN(77), way, KEY(RANDOM), __VA_ARGS__)
#define IN_STATE(state, ...)                                                   \
	ROW(SEND_ONLY, AFTER(state), DATA(10), __VA_ARGS__),                   \
	ROW(WRITE_ONLY, AFTER(state), BYTES(16), __VA_ARGS__),                 \
	ROW(READ_REQ, AFTER(state), LEN(16), __VA_ARGS__)
#define PADDED(bytes)                                                          \
	ROW(SEND_ONLY, PAD(bytes), DROP(HDR_LEN)),                             \
	ROW(WRITE_ONLY, PAD(bytes), DROP(HDR_LEN)),                            \
	ROW(READ_REQ, LEN(8), PAD(bytes), DROP(HDR_LEN)),                      \
	ROW(FETCH_ADD, PAD(bytes), DROP(HDR_LEN)),                             \
	ROW(WRITE_ONLY, BYTES(16), PAD(bytes), INVALID),                       \
	ROW(ATOMIC_WRITE, BYTES(8), PAD(bytes), INVALID),                      \
	ROW(SEND_FIRST, FULL, PAD(bytes), INVALID)
#define CUT_SHORT(bytes)                                                       \
	ROW(WRITE_ONLY, CUT(bytes), DROP(HDR_LEN)),                            \
	ROW(READ_REQ, CUT(bytes), DROP(HDR_LEN)),                              \
	ROW(FETCH_ADD, CUT(bytes), DROP(HDR_LEN)),                             \
	ROW(WRITE_ONLY_IMM, CUT(bytes), DROP(HDR_LEN))

static const struct hostile_row rows[] = {
	ROW(SEND_ONLY, TO(ALL_STATIONS), DATA(10), DROP(GROUP_MAC)),
	UD_ROW(SEND_ONLY, TO(ALL_STATIONS), DATA(10), DROP(GROUP_MAC)),
	ROW(ACK, SENT(SEND), TO(ALL_STATIONS), ACKS, DROP(GROUP_MAC)),
	ASTRAY(FROM(STRANGER), FOREIGN),
	ASTRAY(FROM(OTHER_ADDRESS), FOREIGN),
	ASTRAY(TO(STRANGER), DROP(NOT_OURS)),
	ASTRAY(TO(GROUP), DROP(NOT_OURS)),
	ROW(SEND_ONLY, DATA(10), QPN(3), DROP(QPN)),
	ROW(SEND_ONLY, DATA(10), QPN(0xffffffu), DROP(QPN)),
	ROW(SEND_ONLY, DATA(10), PKEY(0x8001u), DROP(PKEY)),
	ROW(SEND_ONLY, DATA(10), PKEY(1), DROP(PKEY)),
	ROW(SEND_ONLY, DATA(10), PKEY(0x7ffeu), DROP(PKEY)),
	IN_STATE(IN_RESET, DROP(QP_STATE)),
	IN_STATE(IN_INIT, DROP(QP_STATE)),
	IN_STATE(IN_ERR, FLUSHED),
	PADDED(1),
	PADDED(2),
	PADDED(3),
	CUT_SHORT(1),
	CUT_SHORT(4),
	CUT_SHORT(12),
	CUT_SHORT(16),
};
/* clang-format on */

const struct hostile_table hostile_place = { rows,
					     sizeof(rows) / sizeof(rows[0]) };
