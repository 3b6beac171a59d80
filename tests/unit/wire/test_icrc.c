/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Two oracles: packets that others made, and a second implementation, bit by
 * bit, that is held against packets of RoCE hardware before it is believed.
 */

#include <string.h>

#include "lib/wire/icrc.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/fixture.h"
#include "tests/unit/wire/each_kernel.h"

/* ---- the second implementation ------------------------------------------- */

/* What is ones in the CRC: offsets from the IP header or GRH. */
struct variant {
	size_t off;
	uint8_t bits;
};

static const struct variant variants_ipv4[] = {
	{ 1, 0xff },  { 8, 0xff },  { 10, 0xff }, { 11, 0xff },
	{ 26, 0xff }, { 27, 0xff }, { 32, 0xff }, { 0, 0 },
};

static const struct variant variants_ipv6[] = {
	{ 0, 0x0f },  { 1, 0xff },  { 2, 0xff },  { 3, 0xff }, { 7, 0xff },
	{ 46, 0xff }, { 47, 0xff }, { 52, 0xff }, { 0, 0 },
};

/* RoCE version 1: a GRH, which is an IPv6 header, and the BTH behind it. */
static const struct variant variants_grh[] = {
	{ 0, 0x0f }, { 1, 0xff },  { 2, 0xff }, { 3, 0xff },
	{ 7, 0xff }, { 44, 0xff }, { 0, 0 },
};

static uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
	int bit;

	crc ^= byte;
	for (bit = 0; bit < 8; bit++)
		crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	return crc;
}

static uint32_t slow_icrc(const uint8_t *l3, size_t len,
			  const struct variant *variants)
{
	uint32_t crc = 0xffffffff;
	size_t i;

	for (i = 0; i < 8; i++)
		crc = crc_byte(crc, 0xff);
	for (i = 0; i < len; i++) {
		const struct variant *v;
		uint8_t byte = l3[i];

		for (v = variants; v->bits; v++)
			if (v->off == i)
				byte |= v->bits;
		crc = crc_byte(crc, byte);
	}
	return ~crc;
}

static uint32_t wire_icrc(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[1] << 8 | p[0];
}

/* ---- packets that others made -------------------------------------------- */

/*
 * Scapy, test/contrib/roce.uts, "an example UC packet", whose fields, IP and
 * UDP checksums and ICRC (0x78f353f3) stand there: IPv4, pad 2.
 */
static const uint8_t ipv4_uc_send[] = {
	0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22, 0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22,
	0x08, 0x00, 0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11,
	0xb4, 0xd5, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0x00,
	0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60, 0xff, 0xff, 0x00, 0x00,
	0x00, 0xd3, 0x00, 0xcf, 0x17, 0x10, 0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89,
	0x35, 0xd9, 0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50,
	0x00, 0x00, 0x78, 0xf3, 0x53, 0xf3,
};

/*
 * Made for this test with Scapy's RoCE layer and the IPv6 lines that its pull
 * request 4154 added to it (no public capture of RoCEv2 over IPv6 was found):
 * RC Send Only, traffic class and flow label set, pad 3.
 */
static const uint8_t ipv6_send_scapy[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x86, 0xdd, 0x66, 0xaa, 0xbc, 0xde, 0x00, 0x20, 0x11, 0x40,
	0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xd1,
	0x23, 0x12, 0xb7, 0x00, 0x20, 0x00, 0x00, 0x04, 0xf0, 0xff, 0xff,
	0x00, 0x12, 0x34, 0x56, 0x80, 0xff, 0xff, 0xfe, 0x72, 0x6f, 0x6f,
	0x73, 0x74, 0x00, 0x00, 0x00, 0x76, 0xb9, 0x1c, 0x46,
};

/* The same way: RC Acknowledge, link-local, BECN, a UDP checksum. */
static const uint8_t ipv6_ack_scapy[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x86, 0xdd, 0x60, 0x00, 0x00, 0x01, 0x00, 0x1c, 0x11, 0x01, 0xfe, 0x80,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc0, 0x00, 0x12, 0xb7, 0x00, 0x1c,
	0xbe, 0xef, 0x11, 0x00, 0x80, 0x01, 0x40, 0x00, 0x00, 0x11, 0x00, 0x7f,
	0xff, 0xff, 0x1f, 0x00, 0x01, 0x02, 0x92, 0x19, 0x31, 0x35,
};

/*
 * Scapy, test/contrib/roce.uts, "RoCE v1 RC RDMA WRITE ONLY" and "RoCE v1 RC
 * ACKNOWLEDGE", captured between Mellanox adapters.
 */
static const uint8_t grh_write_mellanox[] = {
	0x7c, 0xfe, 0x90, 0x75, 0x3c, 0xd8, 0x7c, 0xfe, 0x90, 0x75, 0x3c, 0xd8,
	0x89, 0x15, 0x60, 0x20, 0x00, 0x00, 0x00, 0x28, 0x1b, 0x40, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0f, 0x00,
	0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0x0f, 0x00, 0x00, 0x02, 0x0a, 0x70, 0xff, 0xff, 0x00, 0x00,
	0x01, 0x0a, 0x80, 0xa7, 0x88, 0xbc, 0x00, 0x00, 0x55, 0xd4, 0xc0, 0x72,
	0x60, 0x00, 0x00, 0x00, 0x47, 0xb3, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00,
	0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xe3, 0xd8, 0x56, 0xbb,
};

static const uint8_t grh_ack_mellanox[] = {
	0x7c, 0xfe, 0x90, 0x75, 0x3c, 0xd8, 0x7c, 0xfe, 0x90, 0x75, 0x3c,
	0xd8, 0x89, 0x15, 0x60, 0x20, 0x00, 0x00, 0x00, 0x14, 0x1b, 0x40,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff,
	0xff, 0x0f, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x02, 0x11,
	0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x09, 0x00, 0xa7, 0x88, 0xc0,
	0x00, 0x00, 0x00, 0x05, 0x25, 0xf0, 0xc0, 0x38,
};

static void check_golden(const uint8_t *frame, size_t len, bool ipv6)
{
	assert_int_equal(roost_icrc(at_end(frame, len) + 14, ipv6, len - 18),
			 wire_icrc(frame + len - 4));
	assert_int_equal(roost_icrc(at_start(frame, len) + 14, ipv6, len - 18),
			 wire_icrc(frame + len - 4));
}

static void icrc__ipv4_golden_vectors(void **state)
{
	check_golden(cnp_connectx4, sizeof(cnp_connectx4), false);
	check_golden(ipv4_uc_send, sizeof(ipv4_uc_send), false);
}

static void icrc__ipv6_golden_vectors(void **state)
{
	check_golden(ipv6_send_scapy, sizeof(ipv6_send_scapy), true);
	check_golden(ipv6_ack_scapy, sizeof(ipv6_ack_scapy), true);
}

/* The oracle of the tests below agrees with hardware, GRH included. */
static void icrc__slow_one_agrees_with_hardware(void **state)
{
	const uint8_t *p;
	size_t len;

	p = cnp_connectx4;
	len = sizeof(cnp_connectx4);
	assert_int_equal(slow_icrc(p + 14, len - 18, variants_ipv4),
			 wire_icrc(p + len - 4));
	p = grh_write_mellanox;
	len = sizeof(grh_write_mellanox);
	assert_int_equal(slow_icrc(p + 14, len - 18, variants_grh),
			 wire_icrc(p + len - 4));
	p = grh_ack_mellanox;
	len = sizeof(grh_ack_mellanox);
	assert_int_equal(slow_icrc(p + 14, len - 18, variants_grh),
			 wire_icrc(p + len - 4));
}

/* Random bytes of every length that takes another way through the code. */
static void icrc__every_length(void **state)
{
	static const size_t bases[] = { 0, 512, 4096 };
	uint8_t frame[14 + 4096 + 600];
	size_t i, len;
	int ipv6;

	random_seed();
	for (ipv6 = 0; ipv6 < 2; ipv6++)
		for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
			for (len = bases[i]; len < bases[i] + 600; len++) {
				const uint8_t *p;

				if (len < (ipv6 ? 60 : 40))
					continue;
				random_fill(frame, 14 + len);
				p = at_end(frame, 14 + len) + 14;
				assert_int_equal(
					roost_icrc(p, ipv6, len),
					slow_icrc(p, len,
						  ipv6 ? variants_ipv6
						       : variants_ipv4));
				p = at_start(frame, 14 + len) + 14;
				assert_int_equal(
					roost_icrc(p, ipv6, len),
					slow_icrc(p, len,
						  ipv6 ? variants_ipv6
						       : variants_ipv4));
			}
}

/* Each bit of the packet counts, unless routers may change it. */
static void check_bits(const uint8_t *golden, size_t len, bool ipv6)
{
	const struct variant *variants = ipv6 ? variants_ipv6 : variants_ipv4;
	uint8_t frame[128];
	uint32_t want;
	size_t bit;

	memcpy(frame, golden, len);
	want = roost_icrc(frame + 14, ipv6, len - 18);
	for (bit = 0; bit < (len - 4) * 8; bit++) {
		uint8_t mask = (uint8_t)(1u << bit % 8);
		bool counts = bit / 8 >= 14;
		const struct variant *v;

		for (v = variants; v->bits; v++)
			if (bit / 8 == 14 + v->off && (v->bits & mask))
				counts = false;
		frame[bit / 8] ^= mask;
		assert_int_equal(roost_icrc(frame + 14, ipv6, len - 18) != want,
				 counts);
		frame[bit / 8] ^= mask;
	}
}

static void icrc__every_bit_counts_but_the_variant_ones(void **state)
{
	check_bits(cnp_connectx4, sizeof(cnp_connectx4), false);
	check_bits(ipv4_uc_send, sizeof(ipv4_uc_send), false);
	check_bits(ipv6_send_scapy, sizeof(ipv6_send_scapy), true);
	check_bits(ipv6_ack_scapy, sizeof(ipv6_ack_scapy), true);
}

static bool is_ok(const uint8_t *buf, size_t len)
{
	struct roost_frame frame;

	assert_int_equal(roost_frame_parse(buf, len, &frame), ROOST_FRAME_ROCE);
	return roost_frame_icrc_ok(&frame);
}

/* Frames that have an ICRC and frames that have none are never taken for one
 * another.
 */
static void disable__only_frames_without_one_are_taken(void **state)
{
	const struct roost_kernel *kernel = roost_kernel;
	const uint8_t payload[1024] = { 1, 2, 3 };
	const uint8_t zeros[ROOST_ICRC_LEN] = { 0 };
	uint8_t with[2048] = { 0 }, without[2048], copy[sizeof(payload)];
	bool gone = false;
	size_t len = send_frame(with, false, false, sizeof(payload));

	memcpy(without, with, len);
	memcpy(without + len - ROOST_ICRC_LEN, zeros, sizeof(zeros));
	assert_true(is_ok(with, len));
	assert_false(is_ok(without, len));
	roost_icrc_disable();
	roost_icrc_disable();
	assert_string_equal(roost_kernel->name, "none");
	assert_false(is_ok(with, len));
	assert_true(is_ok(without, len));
	without[len - ROOST_ICRC_LEN - 1] ^= 1;
	assert_true(is_ok(without, len));
	assert_int_equal(roost_crc_copy(roost_icrc(with + 14, false, 40), copy,
					payload, sizeof(payload), &gone),
			 0);
	assert_false(gone);
	assert_memory_equal(copy, payload, sizeof(payload));
	roost_kernel = kernel;
	assert_true(is_ok(with, len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrc__ipv4_golden_vectors),
		cmocka_unit_test(icrc__ipv6_golden_vectors),
		cmocka_unit_test(icrc__slow_one_agrees_with_hardware),
		cmocka_unit_test(icrc__every_length),
		cmocka_unit_test(icrc__every_bit_counts_but_the_variant_ones),
		cmocka_unit_test(disable__only_frames_without_one_are_taken),
	};

	return RUN_WITH_EACH_KERNEL(tests);
}
