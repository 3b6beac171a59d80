/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/unit/wire/fixture.h"

#include "tests/cmocka.h"

/*
 * IBTA table 38 (opcodes), Annex A14 (XRC), A17 (CNP), A19 (FLUSH, ATOMIC
 * WRITE), written down once more, by hand, with lengths as numbers.
 */
const struct spec_opcode spec_opcodes[] = {
	{ 0x00, 12, "", "fqp", ROOST_OP_SEND },
	{ 0x01, 12, "", "qp", ROOST_OP_SEND },
	{ 0x02, 12, "", "lqpw", ROOST_OP_SEND },
	{ 0x03, 16, "I", "lqpw", ROOST_OP_SEND },
	{ 0x04, 12, "", "flqpw", ROOST_OP_SEND },
	{ 0x05, 16, "I", "flqpw", ROOST_OP_SEND },
	{ 0x06, 28, "R", "fqp", ROOST_OP_WRITE },
	{ 0x07, 12, "", "qp", ROOST_OP_WRITE },
	{ 0x08, 12, "", "lqp", ROOST_OP_WRITE },
	{ 0x09, 16, "I", "lqpw", ROOST_OP_WRITE },
	{ 0x0a, 28, "R", "flqp", ROOST_OP_WRITE },
	{ 0x0b, 32, "RI", "flqpw", ROOST_OP_WRITE },
	{ 0x0c, 28, "R", "flq", ROOST_OP_READ_REQ },
	{ 0x0d, 16, "E", "frp", ROOST_OP_READ_RESP },
	{ 0x0e, 12, "", "rp", ROOST_OP_READ_RESP },
	{ 0x0f, 16, "E", "lrp", ROOST_OP_READ_RESP },
	{ 0x10, 16, "E", "flrp", ROOST_OP_READ_RESP },
	{ 0x11, 16, "E", "flr", ROOST_OP_ACK },
	{ 0x12, 24, "EK", "flr", ROOST_OP_ATOMIC_ACK },
	{ 0x13, 40, "A", "flq", ROOST_OP_CMP_SWAP },
	{ 0x14, 40, "A", "flq", ROOST_OP_FETCH_ADD },
	{ 0x16, 16, "V", "lqpw", ROOST_OP_SEND },
	{ 0x17, 16, "V", "flqpw", ROOST_OP_SEND },
	{ 0x1c, 32, "FR", "flq", ROOST_OP_FLUSH },
	{ 0x1d, 28, "R", "flqp", ROOST_OP_ATOMIC_WRITE },

	{ 0x20, 12, "", "fqp", ROOST_OP_SEND },
	{ 0x21, 12, "", "qp", ROOST_OP_SEND },
	{ 0x22, 12, "", "lqpw", ROOST_OP_SEND },
	{ 0x23, 16, "I", "lqpw", ROOST_OP_SEND },
	{ 0x24, 12, "", "flqpw", ROOST_OP_SEND },
	{ 0x25, 16, "I", "flqpw", ROOST_OP_SEND },
	{ 0x26, 28, "R", "fqp", ROOST_OP_WRITE },
	{ 0x27, 12, "", "qp", ROOST_OP_WRITE },
	{ 0x28, 12, "", "lqp", ROOST_OP_WRITE },
	{ 0x29, 16, "I", "lqpw", ROOST_OP_WRITE },
	{ 0x2a, 28, "R", "flqp", ROOST_OP_WRITE },
	{ 0x2b, 32, "RI", "flqpw", ROOST_OP_WRITE },

	{ 0x64, 20, "D", "flqpw", ROOST_OP_SEND },
	{ 0x65, 24, "DI", "flqpw", ROOST_OP_SEND },

	{ 0x81, 28, "C", "fl", ROOST_OP_CNP },

	{ 0xa0, 16, "X", "fqp", ROOST_OP_SEND },
	{ 0xa1, 16, "X", "qp", ROOST_OP_SEND },
	{ 0xa2, 16, "X", "lqpw", ROOST_OP_SEND },
	{ 0xa3, 20, "XI", "lqpw", ROOST_OP_SEND },
	{ 0xa4, 16, "X", "flqpw", ROOST_OP_SEND },
	{ 0xa5, 20, "XI", "flqpw", ROOST_OP_SEND },
	{ 0xa6, 32, "XR", "fqp", ROOST_OP_WRITE },
	{ 0xa7, 16, "X", "qp", ROOST_OP_WRITE },
	{ 0xa8, 16, "X", "lqp", ROOST_OP_WRITE },
	{ 0xa9, 20, "XI", "lqpw", ROOST_OP_WRITE },
	{ 0xaa, 32, "XR", "flqp", ROOST_OP_WRITE },
	{ 0xab, 36, "XRI", "flqpw", ROOST_OP_WRITE },
	{ 0xac, 32, "XR", "flq", ROOST_OP_READ_REQ },
	{ 0xad, 16, "E", "frp", ROOST_OP_READ_RESP },
	{ 0xae, 12, "", "rp", ROOST_OP_READ_RESP },
	{ 0xaf, 16, "E", "lrp", ROOST_OP_READ_RESP },
	{ 0xb0, 16, "E", "flrp", ROOST_OP_READ_RESP },
	{ 0xb1, 16, "E", "flr", ROOST_OP_ACK },
	{ 0xb2, 24, "EK", "flr", ROOST_OP_ATOMIC_ACK },
	{ 0xb3, 44, "XA", "flq", ROOST_OP_CMP_SWAP },
	{ 0xb4, 44, "XA", "flq", ROOST_OP_FETCH_ADD },
	{ 0xb6, 20, "XV", "lqpw", ROOST_OP_SEND },
	{ 0xb7, 20, "XV", "flqpw", ROOST_OP_SEND },

	{ 0xd1, 12, "", "flrp", ROOST_OP_REPORT },
};

const size_t spec_opcodes_count =
	sizeof(spec_opcodes) / sizeof(spec_opcodes[0]);

const struct spec_opcode *spec_opcode_find(uint8_t opcode)
{
	size_t i;

	for (i = 0; i < spec_opcodes_count; i++)
		if (spec_opcodes[i].opcode == opcode)
			return &spec_opcodes[i];
	return NULL;
}

size_t spec_hdr_len(char letter)
{
	static const char letters[] = "XDFRAEKIVC";
	static const uint8_t lens[] = { 4, 8, 4, 16, 28, 4, 8, 4, 4, 16 };
	const char *at = strchr(letters, letter);

	assert_non_null(at);
	return lens[at - letters];
}

/* ---- frames -------------------------------------------------------------- */

struct roost_flow make_flow(bool ipv6, bool tagged)
{
	struct roost_flow flow = {
		.src_mac = { 0x02, 0x11, 0x12, 0x13, 0x14, 0x15 },
		.dst_mac = { 0x02, 0x21, 0x22, 0x23, 0x24, 0x25 },
		.tagged = tagged,
		.vlan_tci = tagged ? 0xa123 : 0,
		.tclass = 0x6b,
		.hop_limit = 61,
		.flow_label = ipv6 ? 0xabcde : 0,
		.udp_src = 0xd234,
	};

	if (ipv6) {
		flow.sgid = (struct roost_gid){ { 0x20, 0x01, 0x0d,
						  0xb8, [15] = 1 } };
		flow.dgid =
			(struct roost_gid){ { 0xfe,
					      0x80, [8] = 0x99, [15] = 2 } };
	} else {
		flow.sgid = roost_gid_from_v4((uint8_t[]){ 198, 18, 0, 1 });
		flow.dgid = roost_gid_from_v4((uint8_t[]){ 198, 18, 7, 2 });
	}
	return flow;
}

struct roost_pkt make_pkt(const struct spec_opcode *spec, size_t payload_len)
{
	static uint8_t payload[FRAME_MAX];
	size_t i;

	for (i = 0; i < payload_len; i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	return (struct roost_pkt){
		.opcode = spec->opcode,
		.pad_bytes = (uint8_t)(-payload_len % 4),
		.solicited = spec->opcode & 1,
		.migreq = spec->opcode & 2,
		.ackreq = spec->opcode & 4,
		.pkey = 0x8765,
		.dest_qpn = 0xabcdef,
		.psn = roost_psn(0xfedcba),
		.payload = payload,
		.payload_len_bytes = (uint16_t)payload_len,
		.xrc_srqn = 0x912345,
		.qkey = 0x80010000,
		.src_qpn = 0x98aabb,
		.flush_type = 0x9,
		.flush_level = 0x2,
		.va = 0xfedcba9876543210,
		.rkey = 0x8badf00d,
		.dma_len_bytes = 0x80000000,
		.swap_add = 0x8123456789abcdef,
		.compare = 0x9fedcba987654321,
		.syndrome = 0xb7,
		.msn = 0x876543,
		.orig = 0xa0a1a2a3a4a5a6a7,
		.imm_be = 0x80c0ffee,
		.inv_rkey = 0x9abc1234,
	};
}

static void put_hdr(uint8_t *p, char letter, const struct roost_pkt *pkt)
{
	switch (letter) {
	case 'X':
		roost_xrceth_put(p, pkt->xrc_srqn);
		break;
	case 'D':
		roost_deth_put(p, pkt->qkey, pkt->src_qpn);
		break;
	case 'F':
		roost_feth_put(p, pkt->flush_type, pkt->flush_level);
		break;
	case 'R':
		roost_reth_put(p, pkt->va, pkt->rkey, pkt->dma_len_bytes);
		break;
	case 'A':
		roost_atomiceth_put(p, pkt->va, pkt->rkey, pkt->swap_add,
				    pkt->compare);
		break;
	case 'E':
		roost_aeth_put(p, pkt->syndrome, pkt->msn);
		break;
	case 'K':
		roost_atomicacketh_put(p, pkt->orig);
		break;
	case 'I':
		roost_immdt_put(p, pkt->imm_be);
		break;
	case 'V':
		roost_ieth_put(p, pkt->inv_rkey);
		break;
	default:
		memset(p, 0, spec_hdr_len(letter));
	}
}

size_t make_frame(uint8_t *buf, const struct roost_flow *flow,
		  const struct spec_opcode *spec, const struct roost_pkt *pkt)
{
	const struct roost_bth bth = {
		.opcode = pkt->opcode,
		.pad_bytes = pkt->pad_bytes,
		.solicited = pkt->solicited,
		.migreq = pkt->migreq,
		.ackreq = pkt->ackreq,
		.pkey = pkt->pkey,
		.dest_qpn = pkt->dest_qpn,
		.psn = pkt->psn,
	};
	size_t after_bth = (size_t)spec->hdr_len_bytes - 12 +
			   pkt->payload_len_bytes + pkt->pad_bytes;
	struct roost_hdr_template t;
	const char *letter;
	size_t len;

	roost_hdr_template_init(&t, flow);
	len = roost_hdr_emit(&t, buf, &bth, after_bth);
	for (letter = spec->hdrs; *letter; letter++) {
		put_hdr(buf + len, *letter, pkt);
		len += spec_hdr_len(*letter);
	}
	memcpy(buf + len, pkt->payload, pkt->payload_len_bytes);
	len += pkt->payload_len_bytes;
	memset(buf + len, 0, pkt->pad_bytes);
	len += pkt->pad_bytes;
	roost_frame_seal(&t, buf, len);
	return len + 4;
}

const uint8_t cnp_connectx4[74] = {
	0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b,
	0x32, 0x08, 0x00, 0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00,
	0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12,
	0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00,
	0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a,
};

void fix_ipv4_sum(uint8_t *l3)
{
	size_t i, hdr_len = (l3[0] & 0xfu) * 4;
	uint32_t sum = 0;

	l3[10] = 0;
	l3[11] = 0;
	for (i = 0; i < hdr_len; i += 2)
		sum += (uint32_t)l3[i] << 8 | l3[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	l3[10] = (uint8_t)(~sum >> 8);
	l3[11] = (uint8_t)~sum;
}

size_t send_frame(uint8_t *buf, bool ipv6, bool tagged, size_t payload_len)
{
	struct roost_flow flow = make_flow(ipv6, tagged);
	const struct spec_opcode *spec =
		spec_opcode_find(ROOST_OPCODE_RC_SEND_ONLY);
	struct roost_pkt pkt = make_pkt(spec, payload_len);

	return make_frame(buf, &flow, spec, &pkt);
}

void set_ib_len(uint8_t *frame, bool ipv6, bool tagged, size_t ib_len)
{
	uint8_t *l3 = frame + (tagged ? 18 : 14);
	uint8_t *udp = l3 + (ipv6 ? 40 : 20);
	size_t udp_len = 8 + ib_len;
	size_t ip_len = ipv6 ? udp_len : 20 + udp_len;

	l3[ipv6 ? 4 : 2] = (uint8_t)(ip_len >> 8);
	l3[ipv6 ? 5 : 3] = (uint8_t)ip_len;
	udp[4] = (uint8_t)(udp_len >> 8);
	udp[5] = (uint8_t)udp_len;
	if (!ipv6)
		fix_ipv4_sum(l3);
}

/* ---- memory that ends ---------------------------------------------------- */

#define GUARD_BYTES 65536u /* a page of any size */
#define ROOM_BYTES (2 * GUARD_BYTES)

static uint8_t *room(void)
{
	static uint8_t *start;
	uint8_t *map;

	if (start)
		return start;
	map = mmap(NULL, ROOM_BYTES + 2 * GUARD_BYTES, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	start = map + GUARD_BYTES;
	assert_int_equal(mprotect(start, ROOM_BYTES, PROT_READ | PROT_WRITE),
			 0);
	return start;
}

uint8_t *at_end(const void *data, size_t len)
{
	uint8_t *p = room() + ROOM_BYTES - len;

	assert_true(len <= ROOM_BYTES);
	memcpy(p, data, len);
	return p;
}

uint8_t *at_start(const void *data, size_t len)
{
	assert_true(len <= ROOM_BYTES);
	memcpy(room(), data, len);
	return room();
}

/* ---- parsing ------------------------------------------------------------- */

enum roost_frame_class parse(const uint8_t *data, size_t len,
			     struct roost_frame *frame)
{
	memset(frame, 0x5a, sizeof(*frame));
	return roost_frame_parse(at_end(data, len), len, frame);
}

void check_bad(const uint8_t *data, size_t len, enum roost_drop want)
{
	struct roost_frame frame;

	assert_int_equal(parse(data, len, &frame), ROOST_FRAME_BAD);
	assert_int_equal(frame.drop, want);
}

void check_other(const uint8_t *data, size_t len)
{
	struct roost_frame frame;

	assert_int_equal(parse(data, len, &frame), ROOST_FRAME_OTHER);
}

/* ---- random numbers ------------------------------------------------------ */

static uint64_t random_state;

void random_seed(void)
{
	const char *env = getenv("ROOST_TEST_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : (uint64_t)time(NULL);

	print_message("seed %llu (ROOST_TEST_SEED repeats it)\n",
		      (unsigned long long)seed);
	random_state = seed;
}

/* splitmix64 */
uint32_t random_u32(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ (z >> 31)) >> 32);
}

uint32_t random_below(uint32_t limit)
{
	return random_u32() % limit;
}

void random_fill(void *p, size_t len)
{
	uint8_t *bytes = p;
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)random_u32();
}
