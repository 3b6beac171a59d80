/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Bytes as rdma-core's rsockets put them on the wire. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "cm/rsocket/wire.h"
#include "tests/cmocka.h"

/* clang-format off */
static const uint8_t hello_bytes[ROOST_RS_HELLO_BYTES] = {
	1, 2, 0x01, 0x80, 0, 0, 0, 0x81,
	0x00, 0x00, 0x7f, 0x01, 0x02, 0x03, 0x04, 0x05, /* slots: address */
	0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2,             /* key, number */
	0x00, 0x00, 0x7f, 0x06, 0x07, 0x08, 0x09, 0x0a, /* buffer: address */
	0x55, 0x66, 0x77, 0x88, 0, 1, 0, 0,             /* key, length */
};
/* clang-format on */

static void wire__hello_put(void **state)
{
	const struct roost_rs_hello hello = {
		.has_iomap = true,
		.credits = 384,
		.nb_iomaps = 256,
		.slots_addr = 0x7f0102030405,
		.slots_key = 0x11223344,
		.nb_slots = 2,
		.buf = { 0x7f060708090a, 0x55667788, 65536 },
	};
	uint8_t out[ROOST_RS_HELLO_BYTES];

	roost_rs_hello_put(out, &hello);
	assert_memory_equal(out, hello_bytes, sizeof(out));
}

static void wire__hello_get(void **state)
{
	uint8_t in[56] = { 0 };
	struct roost_rs_hello hello;

	memcpy(in, hello_bytes, sizeof(hello_bytes));
	assert_int_equal(roost_rs_hello_get(&hello, in, sizeof(in)), 0);
	assert_int_equal(hello.credits, 384);
	assert_int_equal(hello.nb_iomaps, 256);
	assert_int_equal(hello.slots_addr, 0x7f0102030405);
	assert_int_equal(hello.slots_key, 0x11223344);
	assert_int_equal(hello.nb_slots, 2);
	assert_int_equal(hello.buf.addr, 0x7f060708090a);
	assert_int_equal(hello.buf.key, 0x55667788);
	assert_int_equal(hello.buf.length_bytes, 65536);
	assert_false(hello.big_endian);
	in[1] = 1;
	assert_int_equal(roost_rs_hello_get(&hello, in, sizeof(in)), 0);
	assert_true(hello.big_endian);
	/* Without the flag, the byte means nothing. */
	assert_int_equal(hello.nb_iomaps, 0);
}

static void wire__hello_bad(void **state)
{
	uint8_t in[ROOST_RS_HELLO_BYTES];
	struct roost_rs_hello hello;

	memcpy(in, hello_bytes, sizeof(in));
	assert_int_equal(roost_rs_hello_get(&hello, in, 39), -EINVAL);
	assert_int_equal(roost_rs_hello_get(&hello, NULL, 40), -EINVAL);
	in[0] = 2;
	assert_int_equal(roost_rs_hello_get(&hello, in, 40), -ENOTSUP);
	in[0] = 1;
	in[23] = 0;
	assert_int_equal(roost_rs_hello_get(&hello, in, 40), -EINVAL);
	in[23] = 2;
	in[37] = 0;
	assert_int_equal(roost_rs_hello_get(&hello, in, 40), -EINVAL);
}

static void wire__msg(void **state)
{
	assert_int_equal(roost_rs_msg(ROOST_RS_OP_DATA, 4096), 0x00001000);
	assert_int_equal(roost_rs_msg(ROOST_RS_OP_CREDIT, 384), 0x80000180);
	assert_int_equal(roost_rs_msg(ROOST_RS_OP_IOMAP, 3), 0xc0000003);
	assert_int_equal(roost_rs_msg(ROOST_RS_OP_CTRL, ROOST_RS_CTRL_SHUTDOWN),
			 0xe0000002);
	assert_int_equal(roost_rs_msg_op(0xe0000002), ROOST_RS_OP_CTRL);
	assert_int_equal(roost_rs_msg_data(0x9fffffff), 0x1fffffff);
}

static void wire__slot_in_the_owners_order(void **state)
{
	const struct roost_rs_slot slot = { 0x0102030405060708, 0x11121314,
					    0x21222324 };
	static const uint8_t little[] = { 8,    7,    6,    5,    4,    3,
					  2,    1,    0x14, 0x13, 0x12, 0x11,
					  0x24, 0x23, 0x22, 0x21 };
	static const uint8_t big[] = { 1,    2,    3,    4,    5,    6,
				       7,    8,    0x11, 0x12, 0x13, 0x14,
				       0x21, 0x22, 0x23, 0x24 };
	uint8_t out[ROOST_RS_SLOT_BYTES];
	struct roost_rs_slot native;

	roost_rs_slot_put(out, &slot, false);
	assert_memory_equal(out, little, sizeof(out));
	roost_rs_slot_put(out, &slot, true);
	assert_memory_equal(out, big, sizeof(out));
	/* What a peer of our own order writes is read as it lies there. */
	roost_rs_slot_put(out, &slot, roost_rs_big_endian());
	memcpy(&native, out, sizeof(native));
	assert_memory_equal(&native, &slot, sizeof(slot));
}

static void wire__iomap(void **state)
{
	const struct roost_rs_iomap iomap = { 0x1000, { 1, 2, 3 } };
	uint8_t out[ROOST_RS_IOMAP_BYTES];

	roost_rs_iomap_put(out, &iomap, true);
	assert_int_equal(out[6], 0x10);
	assert_int_equal(out[15], 1);
	assert_int_equal(out[19], 2);
	assert_int_equal(out[23], 3);
	assert_int_equal(sizeof(struct roost_rs_iomap), ROOST_RS_IOMAP_BYTES);
}

static void wire__iomaps_round(void **state)
{
	assert_int_equal(roost_rs_iomaps_round(0), 0);
	assert_int_equal(roost_rs_iomaps_round(128), 128);
	assert_int_equal(roost_rs_iomaps_round(129), 256);
	assert_int_equal(roost_rs_iomaps_round(300), 512);
	assert_int_equal(roost_rs_iomaps_round(1u << 20), ROOST_RS_IOMAPS_MAX);
}

static void wire__dgram(void **state)
{
	const struct sockaddr_in sin = { .sin_family = AF_INET,
					 .sin_port = htons(7174),
					 .sin_addr.s_addr = htonl(0xc6120001) };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_port = htons(7174) };
	static const uint8_t v4[] = { 4, 8, 0x1c, 0x06, 0xc6, 0x12, 0, 1 };
	uint8_t out[ROOST_RS_DGRAM_MAX];
	struct sockaddr_storage from;

	assert_int_equal(roost_rs_dgram_put(out, (const void *)&sin), 8);
	assert_memory_equal(out, v4, sizeof(v4));
	assert_int_equal(roost_rs_dgram_get(&from, out, 8), 8);
	assert_memory_equal(&from, &sin, sizeof(sin));

	sin6.sin6_addr.s6_addr[0] = 0xfc;
	sin6.sin6_addr.s6_addr[15] = 9;
	assert_int_equal(roost_rs_dgram_put(out, (const void *)&sin6), 24);
	assert_int_equal(out[0], 6);
	assert_int_equal(out[1], 24);
	assert_int_equal(out[8], 0xfc);
	assert_int_equal(out[23], 9);
	assert_int_equal(roost_rs_dgram_get(&from, out, 24), 24);
	assert_memory_equal(&from, &sin6, sizeof(sin6));
	assert_int_equal(roost_rs_dgram_get(&from, out, 23), -EINVAL);
	assert_int_equal(roost_rs_dgram_get(&from, v4, 7), -EINVAL);
	out[0] = 5;
	assert_int_equal(roost_rs_dgram_get(&from, out, 24), -EINVAL);
}

static void wire__side(void **state)
{
	const struct sockaddr_in sin = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0xc6120001) };
	const struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	const struct roost_rs_side side = { ROOST_RS_OP_CTRL, 0xff123456 };
	static const uint8_t v4[] = {
		0x55, 0x55, 0x55, 0x55, 4,    7,    16, 0,
		0,    0x12, 0x34, 0x56, 0xc6, 0x12, 0,  1
	};
	uint8_t out[ROOST_RS_SIDE_MAX];
	struct roost_rs_side got;

	assert_int_equal(roost_rs_side_put(out, &side, (const void *)&sin), 16);
	assert_memory_equal(out, v4, sizeof(v4));
	assert_int_equal(roost_rs_side_get(&got, AF_INET, out, 16), 16);
	assert_int_equal(got.op, ROOST_RS_OP_CTRL);
	assert_int_equal(got.qpn, 0x123456);
	assert_int_equal(roost_rs_side_get(&got, AF_INET6, out, 28), -EINVAL);
	assert_int_equal(roost_rs_side_get(&got, AF_INET, out, 15), -EINVAL);
	out[0] = 0;
	assert_int_equal(roost_rs_side_get(&got, AF_INET, out, 16), -EINVAL);
	assert_int_equal(roost_rs_side_put(out, &side, (const void *)&sin6),
			 28);
	assert_int_equal(roost_rs_side_get(&got, AF_INET6, out, 28), 28);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire__hello_put),
		cmocka_unit_test(wire__hello_get),
		cmocka_unit_test(wire__hello_bad),
		cmocka_unit_test(wire__msg),
		cmocka_unit_test(wire__slot_in_the_owners_order),
		cmocka_unit_test(wire__iomap),
		cmocka_unit_test(wire__iomaps_round),
		cmocka_unit_test(wire__dgram),
		cmocka_unit_test(wire__side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
