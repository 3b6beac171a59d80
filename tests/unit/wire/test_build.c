/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/wire/frame.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/fixture.h"

#define CHECK_BYTES(buf, ...)                                                  \
	do {                                                                   \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
                                                                               \
		assert_memory_equal(buf, want_, sizeof(want_));                \
	} while (0)

static const struct roost_bth all_set = {
	.opcode = ROOST_OPCODE_RC_SEND_ONLY,
	.pad_bytes = 3,
	.solicited = true,
	.migreq = true,
	.ackreq = true,
	.pkey = 0xfedc,
	.dest_qpn = 0x123456,
	.psn = { 0xfffffe },
};

static const struct roost_bth none_set = {
	.opcode = ROOST_OPCODE_RC_ACK,
	.pkey = 0x7fff,
	.dest_qpn = 0xabcdef,
	.psn = { 1 },
};

/* The IPv4 checksum was computed by Scapy 2.5. */
static void build__ipv4_untagged_bytes(void **state)
{
	struct roost_flow flow = make_flow(false, false);
	struct roost_hdr_template t;
	uint8_t buf[ROOST_PATH_HDR_MAX];

	roost_hdr_template_init(&t, &flow);
	assert_int_equal(t.l3_off_bytes, 14);
	assert_int_equal(roost_hdr_emit(&t, buf, &all_set, 8), 54);
	CHECK_BYTES(buf,
		    /* Ethernet */
		    0x02, 0x21, 0x22, 0x23, 0x24, 0x25, 0x02, 0x11, 0x12, 0x13,
		    0x14, 0x15, 0x08, 0x00,
		    /* IPv4, 52 bytes, DF */
		    0x45, 0x6b, 0x00, 0x34, 0x00, 0x00, 0x40, 0x00, 0x3d, 0x11,
		    0xaa, 0x26, 198, 18, 0, 1, 198, 18, 7, 2,
		    /* UDP, 32 bytes, no checksum */
		    0xd2, 0x34, 0x12, 0xb7, 0x00, 0x20, 0x00, 0x00,
		    /* BTH */
		    0x04, 0xf0, 0xfe, 0xdc, 0x00, 0x12, 0x34, 0x56, 0x80, 0xff,
		    0xff, 0xfe);
}

static void build__ipv6_tagged_bytes(void **state)
{
	struct roost_flow flow = make_flow(true, true);
	struct roost_hdr_template t;
	uint8_t buf[ROOST_PATH_HDR_MAX];

	roost_hdr_template_init(&t, &flow);
	assert_int_equal(t.l3_off_bytes, 18);
	assert_int_equal(roost_hdr_emit(&t, buf, &none_set, 4), 78);
	CHECK_BYTES(buf,
		    /* Ethernet, 802.1Q */
		    0x02, 0x21, 0x22, 0x23, 0x24, 0x25, 0x02, 0x11, 0x12, 0x13,
		    0x14, 0x15, 0x81, 0x00, 0xa1, 0x23, 0x86, 0xdd,
		    /* IPv6: class 0x6b, label 0xabcde, 28 bytes, 61 hops */
		    0x66, 0xba, 0xbc, 0xde, 0x00, 0x1c, 0x11, 0x3d, 0x20, 0x01,
		    0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfe, 0x80,
		    0, 0, 0, 0, 0, 0, 0x99, 0, 0, 0, 0, 0, 0, 2,
		    /* UDP */
		    0xd2, 0x34, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00,
		    /* BTH */
		    0x11, 0x00, 0x7f, 0xff, 0x00, 0xab, 0xcd, 0xef, 0x00, 0x00,
		    0x00, 0x01);
}

/* A template whose traffic class is set is one of a flow that has it. */
static void build__set_tclass(void **state)
{
	static const uint8_t tclasses[] = { 0, 2, 0x6b, 0xc0, 0xff };

	for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++)
		for (unsigned int tagged = 0; tagged < 2; tagged++)
			for (size_t i = 0; i < sizeof(tclasses); i++) {
				struct roost_flow flow =
					make_flow(ipv6 != 0, tagged != 0);
				struct roost_hdr_template t, want;

				roost_hdr_template_init(&t, &flow);
				roost_hdr_template_set_tclass(&t, tclasses[i]);
				flow.tclass = tclasses[i];
				roost_hdr_template_init(&want, &flow);
				assert_memory_equal(&t, &want, sizeof(t));
			}
}

static void build__set_priority(void **state)
{
	struct roost_flow flow = make_flow(false, false);
	struct roost_hdr_template t, want;

	roost_hdr_template_init(&t, &flow);
	want = t;
	roost_hdr_template_set_priority(&t, 6);
	assert_memory_equal(&t, &want, sizeof(t));
	flow = make_flow(true, true);
	roost_hdr_template_init(&t, &flow);
	roost_hdr_template_set_priority(&t, 6);
	flow.vlan_tci = (uint16_t)(6 << ROOST_VLAN_PCP_SHIFT |
				   roost_vlan_id(flow.vlan_tci));
	roost_hdr_template_init(&want, &flow);
	assert_memory_equal(&t, &want, sizeof(t));
}

static void build__cnp(void **state)
{
	struct roost_flow flow = make_flow(false, false);
	struct roost_hdr_template t;
	uint8_t buf[ROOST_CNP_FRAME_MAX];
	struct roost_frame frame;
	size_t len;

	memset(buf, 0xff, sizeof(buf));
	roost_hdr_template_init(&t, &flow);
	len = roost_cnp_build(&t, buf, 0xfedc, 0x123456);
	assert_int_equal(len, 42 + 12 + 16 + 4);
	CHECK_BYTES(buf + 42,
		    /* BTH, with BECN */
		    0x81, 0x00, 0xfe, 0xdc, 0x40, 0x12, 0x34, 0x56, 0, 0, 0, 0,
		    /* reserved */
		    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_int_equal(roost_frame_parse(buf, len, &frame), ROOST_FRAME_ROCE);
	assert_true(roost_frame_icrc_ok(&frame));
}

/* Not a byte behind the headers, however long they are. */
static void build__emit_writes_its_length(void **state)
{
	int ipv6, tagged;

	for (ipv6 = 0; ipv6 < 2; ipv6++)
		for (tagged = 0; tagged < 2; tagged++) {
			struct roost_flow flow = make_flow(ipv6, tagged);
			uint8_t zeros[ROOST_PATH_HDR_MAX] = { 0 };
			size_t want = 14u + (tagged ? 4u : 0u) +
				      (ipv6 ? 40u : 20u) + 8u + 12u;
			struct roost_hdr_template t;

			roost_hdr_template_init(&t, &flow);
			assert_int_equal(roost_hdr_emit(&t, at_end(zeros, want),
							&all_set, 0),
					 want);
		}
}

/* The checksum is right for every length, carries of the sum included. */
static void build__ipv4_checksum_of_every_length(void **state)
{
	struct roost_flow flow = make_flow(false, false);
	struct roost_hdr_template t;
	uint8_t buf[ROOST_PATH_HDR_MAX], want[20];
	size_t after;

	memset(flow.sgid.b + 12, 0xff, 4);
	memset(flow.dgid.b + 12, 0xfe, 4);
	roost_hdr_template_init(&t, &flow);
	for (after = 0; after <= 65535 - 44; after++) {
		roost_hdr_emit(&t, buf, &all_set, after);
		memcpy(want, buf + 14, sizeof(want));
		fix_ipv4_sum(want);
		assert_memory_equal(buf + 14, want, sizeof(want));
		assert_int_equal(buf[16] << 8 | buf[17], 44 + after);
		assert_int_equal(buf[38] << 8 | buf[39], 24 + after);
	}
}

static void build__set_mac(void **state)
{
	struct roost_flow flow = make_flow(true, false);
	static const uint8_t mac[6] = { 0x06, 1, 2, 3, 4, 5 };
	static const uint8_t own[6] = { 0x06, 5, 4, 3, 2, 1 };
	struct roost_hdr_template t;
	uint8_t before[ROOST_PATH_HDR_MAX], after[ROOST_PATH_HDR_MAX];
	size_t len;

	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, before, &all_set, 0);
	roost_hdr_template_set_dst_mac(&t, mac);
	assert_int_equal(roost_hdr_emit(&t, after, &all_set, 0), len);
	assert_memory_equal(after, mac, 6);
	assert_memory_equal(after + 6, before + 6, len - 6);
	roost_hdr_template_set_src_mac(&t, own);
	assert_int_equal(roost_hdr_emit(&t, after, &all_set, 0), len);
	assert_memory_equal(after, mac, 6);
	assert_memory_equal(after + 6, own, 6);
	assert_memory_equal(after + 12, before + 12, len - 12);
}

static void build__extension_headers(void **state)
{
	uint8_t buf[32];

	roost_xrceth_put(buf, 0xff123456);
	CHECK_BYTES(buf, 0x00, 0x12, 0x34, 0x56);
	roost_deth_put(buf, 0x80010000, 0xff000001);
	CHECK_BYTES(buf, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01);
	roost_feth_put(buf, 0x2, 0x1);
	CHECK_BYTES(buf, 0x00, 0x00, 0x00, 0x12);
	roost_reth_put(buf, 0x0102030405060708, 0xa1a2a3a4, 0xb1b2b3b4);
	CHECK_BYTES(buf, 1, 2, 3, 4, 5, 6, 7, 8, 0xa1, 0xa2, 0xa3, 0xa4, 0xb1,
		    0xb2, 0xb3, 0xb4);
	roost_atomiceth_put(buf, 0x0102030405060708, 0xa1a2a3a4,
			    0xb1b2b3b4b5b6b7b8, 0xc1c2c3c4c5c6c7c8);
	CHECK_BYTES(buf, 1, 2, 3, 4, 5, 6, 7, 8, 0xa1, 0xa2, 0xa3, 0xa4, 0xb1,
		    0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xc1, 0xc2, 0xc3,
		    0xc4, 0xc5, 0xc6, 0xc7, 0xc8);
	roost_aeth_put(buf, ROOST_NAK_PSN_SEQ, 0xff000102);
	CHECK_BYTES(buf, 0x60, 0x00, 0x01, 0x02);
	roost_atomicacketh_put(buf, 0x0102030405060708);
	CHECK_BYTES(buf, 1, 2, 3, 4, 5, 6, 7, 8);
	roost_ieth_put(buf, 0x01020304);
	CHECK_BYTES(buf, 1, 2, 3, 4);
}

/* Immediate data passes as it is, in both byte orders. */
static void build__immediate_is_not_swapped(void **state)
{
	uint32_t imm;
	uint8_t buf[4];

	memcpy(&imm, "\x01\x02\x03\x04", 4);
	roost_immdt_put(buf, imm);
	CHECK_BYTES(buf, 1, 2, 3, 4);
}

/* In pieces, long and short: what comes out is what sealing gives. */
static void build__fill_in_pieces(void **state)
{
	static const struct roost_bth bth = { .opcode = 4 };
	static uint8_t payload[4100], want[4300], got[4300];

	random_seed();
	random_fill(payload, sizeof(payload));
	for (int i = 0; i < 4000; i++) {
		struct roost_flow flow = make_flow(i & 1, i & 2);
		size_t n = i < 2000 ? (size_t)i : random_below(4097);
		size_t pad = -n & 3, at = 0, len;
		struct roost_hdr_template t;
		struct roost_unsealed unsealed;
		struct roost_fill fill;
		bool sealed;

		roost_hdr_template_init(&t, &flow);
		len = roost_hdr_emit(&t, want, &bth, n + pad);
		memcpy(got, want, len);
		memcpy(want + len, payload, n);
		memset(want + len + n, 0, pad);
		roost_frame_seal(&t, want, len + n + pad);

		roost_fill_begin(&fill, &t, got, len, n);
		while (at < n) {
			size_t piece = random_below((uint32_t)n) + 1;

			if (piece > n - at)
				piece = n - at;
			roost_fill_copy(&fill, payload + at, piece);
			at += piece;
		}
		assert_int_equal(roost_fill_end(&fill, pad, &sealed),
				 len + n + pad + ROOST_ICRC_LEN);
		unsealed = roost_frame_unsealed(&t);
		if (!sealed)
			roost_frame_seal_late(&unsealed, got, len + n + pad);
		assert_memory_equal(got, want, len + n + pad + ROOST_ICRC_LEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build__ipv4_untagged_bytes),
		cmocka_unit_test(build__ipv6_tagged_bytes),
		cmocka_unit_test(build__set_tclass),
		cmocka_unit_test(build__set_priority),
		cmocka_unit_test(build__cnp),
		cmocka_unit_test(build__emit_writes_its_length),
		cmocka_unit_test(build__ipv4_checksum_of_every_length),
		cmocka_unit_test(build__set_mac),
		cmocka_unit_test(build__extension_headers),
		cmocka_unit_test(build__immediate_is_not_swapped),
		cmocka_unit_test(build__fill_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
