/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_WIRE_FIXTURE_H
#define ROOST_TESTS_UNIT_WIRE_FIXTURE_H

/*
 * What the tests of lib/wire share: a second, hand-written list of opcodes, a
 * frame builder that lays out headers by that list and not by the table under
 * test, memory that ends where the frame ends, and random numbers with a seed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/frame.h"

/*
 * One opcode as the specification has it. Headers, in their order: X XRCETH,
 * D DETH, F FETH, R RETH, A AtomicETH, E AETH, K AtomicAckETH, I ImmDt,
 * V IETH, C the reserved bytes of a CNP. Flags: f first, l last, q request,
 * r response, p payload, w takes a receive WQE.
 */
struct spec_opcode {
	uint8_t opcode;
	uint8_t hdr_len_bytes;
	const char *hdrs;
	const char *flags;
	uint8_t op; /* enum roost_op */
};

extern const struct spec_opcode spec_opcodes[];
extern const size_t spec_opcodes_count;

/* The row of this opcode, or NULL. */
const struct spec_opcode *spec_opcode_find(uint8_t opcode);

/* Length of the header with this letter. */
size_t spec_hdr_len(char letter);

/* ---- frames -------------------------------------------------------------- */

#define FRAME_MAX 66000u

struct roost_flow make_flow(bool ipv6, bool tagged);

/* A packet of this opcode with a different value in every field. */
struct roost_pkt make_pkt(const struct spec_opcode *spec, size_t payload_len);

/*
 * Build pkt on flow at buf, ICRC included, headers where spec says.
 * Returns the length of the frame.
 */
size_t make_frame(uint8_t *buf, const struct roost_flow *flow,
		  const struct spec_opcode *spec, const struct roost_pkt *pkt);

/* An RC Send Only on make_flow(). */
size_t send_frame(uint8_t *buf, bool ipv6, bool tagged, size_t payload_len);

/* Say in the IP and UDP headers that ib_len bytes begin at the BTH. */
void set_ib_len(uint8_t *frame, bool ipv6, bool tagged, size_t ib_len);

/* The checksum of the IPv4 header at l3, options included, made right. */
void fix_ipv4_sum(uint8_t *l3);

/*
 * Scapy, test/contrib/roce.uts, "RoCE CNP captured on ConnectX-4 Lx": IPv4,
 * DSCP and ECN set, BECN set.
 */
extern const uint8_t cnp_connectx4[74];

/* ---- memory that ends ---------------------------------------------------- */

/*
 * A copy of len bytes whose last byte is the last one that can be read: one
 * further and the test dies. There is one such place; each call uses it again.
 */
uint8_t *at_end(const void *data, size_t len);

/* The same with the first byte as the first one that can be read. */
uint8_t *at_start(const void *data, size_t len);

/* ---- parsing ------------------------------------------------------------- */

/* roost_frame_parse() of a copy at_end(), with garbage in *frame before. */
enum roost_frame_class parse(const uint8_t *data, size_t len,
			     struct roost_frame *frame);

/* Parse and assert that it is ROOST_FRAME_BAD for this reason, or OTHER. */
void check_bad(const uint8_t *data, size_t len, enum roost_drop want);
void check_other(const uint8_t *data, size_t len);

/* ---- random numbers ------------------------------------------------------ */

/* ROOST_TEST_SEED or the time; printed, so that a failure can be repeated. */
void random_seed(void);
uint32_t random_u32(void);
uint32_t random_below(uint32_t limit);
void random_fill(void *p, size_t len);

#endif
