/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a request may touch: key, range, rights. */

#include "tests/sim/hostile_words.h"

/* clang-format off */
#define KEYS(op, ...)                                                          \
	ROW(op, KEY(RANDOM), __VA_ARGS__),                                     \
	ROW(op, KEY(ZERO), __VA_ARGS__),                                       \
	ROW(op, KEY(OTHER_PD), __VA_ARGS__),                                   \
	ROW(op, KEY(DEAD), __VA_ARGS__),                                       \
	ROW(op, KEY(NO_ACCESS), __VA_ARGS__),                                  \
	ROW(op, KEY(MW_OTHER), __VA_ARGS__),                                   \
	ROW(op, KEY(MW_UNBOUND), __VA_ARGS__),                                 \
	ROW(op, KEY(MW_OLD_TAG), __VA_ARGS__)
#define OUTSIDE(op, last, ...)                                                 \
	ROW(op, AT(-8), __VA_ARGS__),                                          \
	ROW(op, AT(0), __VA_ARGS__),                                           \
	ROW(op, VA(-8), __VA_ARGS__),                                          \
	ROW(op, VA(8192), __VA_ARGS__),                                        \
	ROW(op, VA(0x10000000000), __VA_ARGS__),                               \
	ROW(op, VA(last), __VA_ARGS__)
#define UNALIGNED(op, ...)                                                     \
	ROW(op, VA(1), __VA_ARGS__),                                           \
	ROW(op, VA(4), __VA_ARGS__),                                           \
	ROW(op, VA(7), __VA_ARGS__),                                           \
	ROW(op, AT(-1), __VA_ARGS__)

static const struct hostile_row rows[] = {
	KEYS(WRITE_ONLY, BYTES(16), FORBIDDEN),
	ROW(WRITE_ONLY, KEY(READ_ONLY), BYTES(16), FORBIDDEN),
	ROW(WRITE_ONLY, BYTES(16), NO_ACCESS, INVALID),
	OUTSIDE(WRITE_ONLY, 8177, BYTES(16), FORBIDDEN),
	ROW(WRITE_ONLY, AT(-1), BYTES(1), FORBIDDEN),
	KEYS(READ_REQ, LEN(16), FORBIDDEN),
	ROW(READ_REQ, LEN(16), NO_ACCESS, INVALID),
	OUTSIDE(READ_REQ, 8177, LEN(16), FORBIDDEN),
	ROW(READ_REQ, AT(-1), LEN(1), FORBIDDEN),
	KEYS(CMP_SWAP, FORBIDDEN),
	ROW(CMP_SWAP, KEY(READ_ONLY), FORBIDDEN),
	ROW(CMP_SWAP, NO_ACCESS, INVALID),
	OUTSIDE(CMP_SWAP, 8192, FORBIDDEN),
	UNALIGNED(CMP_SWAP, INVALID),
	KEYS(FETCH_ADD, FORBIDDEN),
	ROW(FETCH_ADD, KEY(READ_ONLY), FORBIDDEN),
	ROW(FETCH_ADD, NO_ACCESS, INVALID),
	OUTSIDE(FETCH_ADD, 8192, FORBIDDEN),
	UNALIGNED(FETCH_ADD, INVALID),
	KEYS(ATOMIC_WRITE, BYTES(8), FORBIDDEN),
	ROW(ATOMIC_WRITE, KEY(READ_ONLY), BYTES(8), FORBIDDEN),
	ROW(ATOMIC_WRITE, BYTES(8), NO_ACCESS, INVALID),
	OUTSIDE(ATOMIC_WRITE, 8192, BYTES(8), FORBIDDEN),
	UNALIGNED(ATOMIC_WRITE, BYTES(8), INVALID),
	ROW(READ_REQ, KEY(READ_ONLY), LEN(16), ANSWER(DATA)),
	ROW(READ_REQ, KEY(MW), LEN(16), ANSWER(DATA)),
	ROW(READ_REQ, KEY(RANDOM), AT(-1), ANSWER(DATA)),
	ROW(WRITE_ONLY, KEY(RANDOM), AT(-1), ANSWER(ACK)),
	ROW(READ_REQ, LEN(0x7fffffffu), FORBIDDEN),
	ROW(READ_REQ, LEN(0x80000000u), FORBIDDEN),
	ROW(READ_REQ, LEN(8193), FORBIDDEN),
	ROW(READ_REQ, LEN(0x80000001u), INVALID),
	ROW(READ_REQ, LEN(0xffffffffu), INVALID),
	ROW(READ_REQ, AT(-16), LEN(0x7fffffffu), FORBIDDEN),
	ROW(READ_REQ, BYTES(16), DROP(HDR_LEN)),
	ROW(READ_REQ, AFTER(TWO_READS), LEN(16), INVALID),
	ROW(FETCH_ADD, AFTER(TWO_READS), INVALID),
	ROW(WRITE_ONLY, LEN(17), DATA(16), INVALID),
	ROW(WRITE_ONLY, LEN(15), DATA(16), INVALID),
	ROW(WRITE_ONLY, DATA(16), INVALID),
	ROW(WRITE_ONLY, LEN(16), INVALID),
	ROW(WRITE_ONLY, BYTES(1028), INVALID),
	ROW(WRITE_ONLY, BYTES(2048), INVALID),
	ROW(WRITE_ONLY, LEN(0xffffffffu), DATA(16), INVALID),
};
/* clang-format on */

const struct hostile_table hostile_access = { rows,
					      sizeof(rows) / sizeof(rows[0]) };
