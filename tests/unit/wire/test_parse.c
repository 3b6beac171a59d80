/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Every frame is parsed where its last byte is the last that can be read, so
 * a read beyond it ends the test.
 */

#include <string.h>

#include "lib/wire/frame.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/fixture.h"

/* ---- what was built is what is parsed ------------------------------------ */

static void check_frame(const struct roost_frame *frame,
			const struct roost_flow *flow)
{
	assert_int_equal(frame->ipv6, !roost_gid_is_v4(&flow->dgid));
	assert_int_equal(frame->tclass, flow->tclass);
	assert_int_equal(frame->hop_limit, flow->hop_limit);
	assert_int_equal(frame->flow_label, flow->flow_label);
	assert_int_equal(frame->udp_src, flow->udp_src);
	assert_int_equal(frame->vlan_tci, flow->vlan_tci);
	assert_int_equal(frame->drop, ROOST_DROP_NONE);
	assert_memory_equal(frame->src_mac, flow->src_mac, 6);
	assert_true(roost_gid_eq(&frame->sgid, &flow->sgid));
	assert_true(roost_gid_eq(&frame->dgid, &flow->dgid));
}

static void check_bth(const struct roost_pkt *pkt, const struct roost_pkt *want)
{
	assert_ptr_equal(pkt->info, &roost_opcodes[want->opcode]);
	assert_int_equal(pkt->opcode, want->opcode);
	assert_int_equal(pkt->pad_bytes, want->pad_bytes);
	assert_int_equal(pkt->solicited, want->solicited);
	assert_int_equal(pkt->migreq, want->migreq);
	assert_int_equal(pkt->ackreq, want->ackreq);
	assert_false(pkt->fecn);
	assert_false(pkt->becn);
	assert_int_equal(pkt->pkey, want->pkey);
	assert_int_equal(pkt->dest_qpn, want->dest_qpn);
	assert_int_equal(pkt->psn.v, want->psn.v);
	assert_int_equal(pkt->payload_len_bytes, want->payload_len_bytes);
	assert_memory_equal(pkt->payload, want->payload,
			    want->payload_len_bytes);
}

static void check_hdr(const struct roost_pkt *pkt, const struct roost_pkt *want,
		      char letter)
{
	switch (letter) {
	case 'X':
		assert_int_equal(pkt->xrc_srqn, want->xrc_srqn);
		break;
	case 'D':
		assert_int_equal(pkt->qkey, want->qkey);
		assert_int_equal(pkt->src_qpn, want->src_qpn);
		break;
	case 'F':
		assert_int_equal(pkt->flush_type, want->flush_type);
		assert_int_equal(pkt->flush_level, want->flush_level);
		break;
	case 'R':
		assert_int_equal(pkt->va, want->va);
		assert_int_equal(pkt->rkey, want->rkey);
		assert_int_equal(pkt->dma_len_bytes, want->dma_len_bytes);
		break;
	case 'A':
		assert_int_equal(pkt->va, want->va);
		assert_int_equal(pkt->rkey, want->rkey);
		assert_int_equal(pkt->swap_add, want->swap_add);
		assert_int_equal(pkt->compare, want->compare);
		break;
	case 'E':
		assert_int_equal(pkt->syndrome, want->syndrome);
		assert_int_equal(pkt->msn, want->msn);
		break;
	case 'K':
		assert_int_equal(pkt->orig, want->orig);
		break;
	case 'I':
		assert_int_equal(pkt->imm_be, want->imm_be);
		break;
	case 'V':
		assert_int_equal(pkt->inv_rkey, want->inv_rkey);
		break;
	default:
		assert_int_equal(letter, 'C');
	}
}

static void check_round_trip(const struct roost_flow *flow,
			     const struct spec_opcode *spec, size_t payload_len)
{
	struct roost_pkt want = make_pkt(spec, payload_len), pkt;
	static uint8_t buf[FRAME_MAX];
	size_t len = make_frame(buf, flow, spec, &want);
	struct roost_frame frame;
	const char *letter;

	assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
	check_frame(&frame, flow);
	assert_int_equal(frame.ib_len_bytes, spec->hdr_len_bytes + payload_len +
						     want.pad_bytes + 4);
	assert_true(roost_frame_icrc_ok(&frame));
	memset(&pkt, 0x5a, sizeof(pkt));
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_NONE);
	check_bth(&pkt, &want);
	for (letter = spec->hdrs; *letter; letter++)
		check_hdr(&pkt, &want, *letter);
}

static void parse__what_was_built(void **state)
{
	static const size_t lens[] = { 0,   1,   2,   3,   4,    5,    63,  64,
				       255, 256, 257, 511, 1024, 2047, 4096 };
	size_t op, len;
	int path;

	for (op = 0; op < spec_opcodes_count; op++) {
		const struct spec_opcode *spec = &spec_opcodes[op];
		bool payload = strchr(spec->flags, 'p');
		size_t n = payload ? sizeof(lens) / sizeof(lens[0]) : 1;

		for (path = 0; path < 4; path++) {
			struct roost_flow flow = make_flow(path & 1, path & 2);

			for (len = 0; len < n; len++)
				check_round_trip(&flow, spec, lens[len]);
		}
	}
}

static void parse__cnp_of_hardware(void **state)
{
	struct roost_frame frame;
	struct roost_pkt pkt;

	assert_int_equal(parse(cnp_connectx4, sizeof(cnp_connectx4), &frame),
			 ROOST_FRAME_ROCE);
	assert_true(roost_frame_icrc_ok(&frame));
	assert_int_equal(frame.tclass, 0xc2);
	assert_int_equal(frame.hop_limit, 64);
	assert_int_equal(frame.udp_src, 0);
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_NONE);
	assert_int_equal(pkt.info->op, ROOST_OP_CNP);
	assert_false(pkt.fecn);
	assert_true(pkt.becn);
	assert_int_equal(pkt.dest_qpn, 0x118);
	assert_int_equal(pkt.pkey, 0xffff);
	assert_int_equal(pkt.payload_len_bytes, 0);
}

static void parse__fecn_and_becn(void **state)
{
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 0);
	struct roost_frame frame;
	struct roost_pkt pkt;

	buf[46] = 0x80;
	assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_NONE);
	assert_true(pkt.fecn && !pkt.becn);
	buf[46] = 0x40;
	assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_NONE);
	assert_true(!pkt.fecn && pkt.becn);
}

/* ---- lengths ------------------------------------------------------------- */

/* Cut anywhere, a frame is never taken for one, and reads end with it. */
static void parse__every_truncation(void **state)
{
	static uint8_t buf[FRAME_MAX];
	size_t op, cut;
	int path;

	for (op = 0; op < spec_opcodes_count; op++)
		for (path = 0; path < 4; path++) {
			struct roost_flow flow = make_flow(path & 1, path & 2);
			const struct spec_opcode *spec = &spec_opcodes[op];
			struct roost_pkt pkt = make_pkt(spec, 5);
			size_t len = make_frame(buf, &flow, spec, &pkt);
			size_t udp_end = (path & 2 ? 18u : 14u) +
					 (path & 1 ? 40u : 20u) + 8u;

			for (cut = 0; cut < udp_end; cut++)
				check_other(buf, cut);
			for (; cut < len; cut++)
				check_bad(buf, cut, ROOST_DROP_LENGTH);
		}
}

/* The same with IP and UDP lengths that agree with the cut. */
static void parse__every_truncation_with_its_lengths(void **state)
{
	static uint8_t buf[FRAME_MAX];
	struct roost_frame frame;
	struct roost_pkt got;
	size_t op, ib_len;
	int path;

	for (op = 0; op < spec_opcodes_count; op++)
		for (path = 0; path < 4; path++) {
			bool v6 = path & 1, tagged = path & 2;
			struct roost_flow flow = make_flow(v6, tagged);
			const struct spec_opcode *spec = &spec_opcodes[op];
			struct roost_pkt pkt = make_pkt(spec, 5);
			size_t len = make_frame(buf, &flow, spec, &pkt);
			size_t bth =
				(tagged ? 18u : 14u) + (v6 ? 40u : 20u) + 8u;
			size_t full = spec->hdr_len_bytes + 3u + 4u;

			for (ib_len = 0; ib_len < 16; ib_len++) {
				set_ib_len(buf, v6, tagged, ib_len);
				check_bad(buf, bth + ib_len, ROOST_DROP_LENGTH);
			}
			for (; ib_len < len - bth; ib_len++) {
				set_ib_len(buf, v6, tagged, ib_len);
				assert_int_equal(parse(buf, bth + ib_len,
						       &frame),
						 ROOST_FRAME_ROCE);
				assert_false(roost_frame_icrc_ok(&frame));
				assert_int_equal(roost_pkt_parse(&frame, &got),
						 ib_len < full
							 ? ROOST_DROP_HDR_LEN
							 : ROOST_DROP_NONE);
			}
		}
}

static void parse__pad_against_length(void **state)
{
	struct roost_frame frame;
	struct roost_pkt pkt;
	uint8_t buf[256];
	size_t payload;
	uint8_t pad;

	for (payload = 0; payload <= 4; payload++)
		for (pad = 0; pad <= 3; pad++) {
			size_t len;

			send_frame(buf, false, false, 8);
			buf[43] = (uint8_t)(pad << 4);
			len = 14 + 20 + 8 + 12 + payload + 4;
			set_ib_len(buf, false, false, 16 + payload);
			assert_int_equal(parse(buf, len, &frame),
					 ROOST_FRAME_ROCE);
			if (pad > payload) {
				assert_int_equal(roost_pkt_parse(&frame, &pkt),
						 ROOST_DROP_HDR_LEN);
				continue;
			}
			assert_int_equal(roost_pkt_parse(&frame, &pkt),
					 ROOST_DROP_NONE);
			assert_int_equal(pkt.pad_bytes, pad);
			assert_int_equal(pkt.payload_len_bytes, payload - pad);
		}
}

/* A short packet is filled up to 60 bytes on the wire; IP says where it ends */
static void parse__ethernet_padding(void **state)
{
	uint8_t buf[256] = { 0 };
	size_t len = send_frame(buf, false, false, 0);
	struct roost_frame frame;
	struct roost_pkt pkt;
	size_t more;

	assert_int_equal(len, 58);
	for (more = 1; more <= 64; more++) {
		memset(buf + len, 0xee, more);
		assert_int_equal(parse(buf, len + more, &frame),
				 ROOST_FRAME_ROCE);
		assert_int_equal(frame.l3_len_bytes, 44);
		assert_int_equal(frame.ib_len_bytes, 16);
		assert_true(roost_frame_icrc_ok(&frame));
		assert_int_equal(roost_pkt_parse(&frame, &pkt),
				 ROOST_DROP_NONE);
		assert_int_equal(pkt.payload_len_bytes, 0);
	}
}

/* ---- not RoCEv2 ---------------------------------------------------------- */

static void parse__other_protocols(void **state)
{
	uint8_t buf[256];
	size_t len;
	int ipv6;

	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		uint8_t *proto = buf + (ipv6 ? 20 : 23);
		uint8_t *port = buf + (ipv6 ? 56 : 36);

		len = send_frame(buf, ipv6, false, 16);
		*proto = ipv6 ? 58 : 1;
		check_other(buf, len);
		*proto = 6;
		check_other(buf, len);
		*proto = 17;
		port[1] ^= 1;
		check_other(buf, len);
		port[1] ^= 1;
		port[0] ^= 0x80;
		check_other(buf, len);
	}
	len = send_frame(buf, false, true, 16);
	buf[12] = 0x08; /* ARP */
	buf[13] = 0x06;
	check_other(buf, len);
}

/* ---- BTH ----------------------------------------------------------------- */

/* Of several faults the first in the order of the checks is the one. */
static void parse__order_of_bth_checks(void **state)
{
	struct roost_frame frame;
	struct roost_pkt pkt;
	uint8_t buf[256];
	int opcode, tver;

	send_frame(buf, true, true, 0);
	set_ib_len(buf, true, true, 16);
	buf[67] = 0x30; /* pad 3 of no payload: too short, all of them */
	for (opcode = 0; opcode < 256; opcode++)
		for (tver = 0; tver < 16; tver++) {
			enum roost_drop want = ROOST_DROP_HDR_LEN;

			buf[66] = (uint8_t)opcode;
			buf[67] = (uint8_t)(0x30 | tver);
			if (tver)
				want = ROOST_DROP_TVER;
			else if (!spec_opcode_find((uint8_t)opcode))
				want = ROOST_DROP_OPCODE;
			assert_int_equal(parse(buf, 82, &frame),
					 ROOST_FRAME_ROCE);
			assert_int_equal(roost_pkt_parse(&frame, &pkt), want);
		}
}

/* The 48 bytes that took other stacks down: opcode 0xff. */
static void parse__opcode_ff(void **state)
{
	struct roost_frame frame;
	struct roost_pkt pkt;
	uint8_t buf[256];
	size_t len = send_frame(buf, false, false, 0);

	buf[42] = 0xff;
	assert_int_equal(parse(buf, len, &frame), ROOST_FRAME_ROCE);
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_OPCODE);
}

/* ---- anything ------------------------------------------------------------ */

/* Whatever the bytes are, what is said of them lies inside of them. */
static void check_invariants(const uint8_t *data, size_t len)
{
	const uint8_t *p = at_end(data, len);
	const uint8_t *guess = roost_frame_guess_bth(p, len);
	struct roost_frame frame;
	struct roost_pkt pkt;

	if (guess != NULL)
		assert_true(guess >= p && guess + ROOST_BTH_LEN <= p + len);
	switch (roost_frame_parse(p, len, &frame)) {
	case ROOST_FRAME_OTHER:
		return;
	case ROOST_FRAME_BAD:
		assert_true((frame.drop > ROOST_DROP_NONE &&
			     frame.drop <= ROOST_DROP_NOT_OURS) ||
			    frame.drop == ROOST_DROP_SRC_ADDR);
		return;
	case ROOST_FRAME_ROCE:
		break;
	}
	assert_ptr_equal(frame.bth, guess);
	assert_true(frame.l3 == p + 14 || frame.l3 == p + 18);
	assert_true(frame.l3 + frame.l3_len_bytes <= p + len);
	assert_ptr_equal(frame.bth + frame.ib_len_bytes,
			 frame.l3 + frame.l3_len_bytes);
	assert_true(frame.ib_len_bytes >= 16);
	(void)roost_frame_icrc_ok(&frame);
	if (roost_pkt_parse(&frame, &pkt) != ROOST_DROP_NONE)
		return;
	assert_true(pkt.info->op != ROOST_OP_NONE);
	assert_ptr_equal(pkt.payload + pkt.payload_len_bytes + pkt.pad_bytes +
				 4,
			 frame.bth + frame.ib_len_bytes);
	assert_ptr_equal(pkt.payload, frame.bth + pkt.info->hdr_len_bytes);
}

static void parse__random_bytes(void **state)
{
	uint8_t buf[256];
	int i;

	random_seed();
	for (i = 0; i < 200000; i++) {
		size_t len = random_below(sizeof(buf) + 1);

		random_fill(buf, len);
		if (len > 14 && random_below(8)) {
			bool ipv6 = random_below(2);

			memcpy(buf + 12, ipv6 ? "\x86\xdd" : "\x08\x00", 2);
			buf[14] = ipv6 ? 0x60 : 0x45;
		}
		check_invariants(buf, len);
	}
}

static uint8_t drop_of(const uint8_t *buf, size_t len)
{
	struct roost_frame frame;

	assert_int_equal(roost_frame_parse(buf, len, &frame), ROOST_FRAME_BAD);
	return frame.drop;
}

/* The tag's fields, of RoCEv2 and of all else; DEI is not looked at. */
static void parse__vlan_tag(void **state)
{
	uint8_t buf[FRAME_MAX] = { 0 };
	size_t len = send_frame(buf, false, true, 8);
	struct roost_frame frame;
	struct roost_pkt pkt;

	memcpy(buf + 14, "\xbf\xfe", 2); /* priority 5, DEI, VLAN 4094 */
	assert_int_equal(roost_frame_parse(buf, len, &frame), ROOST_FRAME_ROCE);
	assert_int_equal(roost_vlan_id(frame.vlan_tci), ROOST_VLAN_ID_MAX);
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_NONE);
	assert_int_equal(pkt.vlan_tci, 0xbffe);
	memcpy(buf + 16, "\x08\x06", 2); /* ARP */
	assert_int_equal(roost_frame_parse(buf, len, &frame),
			 ROOST_FRAME_OTHER);
	assert_int_equal(frame.vlan_tci, 0xbffe);
	assert_int_equal(roost_frame_parse(buf, 17, &frame), ROOST_FRAME_OTHER);
	assert_int_equal(frame.vlan_tci, 0);
}

static void parse__two_tags(void **state)
{
	uint8_t buf[FRAME_MAX] = { 0 };
	size_t len = send_frame(buf, false, true, 8);

	memcpy(buf + 16, "\x81\x00", 2);
	assert_int_equal(drop_of(buf, len), ROOST_DROP_QINQ);
	memcpy(buf + 16, "\x88\xa8", 2);
	assert_int_equal(drop_of(buf, len), ROOST_DROP_QINQ);
	memcpy(buf + 12, "\x88\xa8", 2);
	memcpy(buf + 16, "\x08\x00", 2);
	assert_int_equal(drop_of(buf, len), ROOST_DROP_QINQ);
}

static void vlan__tci(void **state)
{
	assert_int_equal(roost_vlan_tci(100, 0), 100);
	assert_int_equal(roost_vlan_tci(100, 1), 1 << 13 | 100);
	assert_int_equal(roost_vlan_tci(4094, 7), 7 << 13 | 4094);
}

static void parse__random_damage(void **state)
{
	static uint8_t buf[FRAME_MAX];
	int i;

	random_seed();
	for (i = 0; i < 200000; i++) {
		bool ipv6 = random_below(2), tagged = random_below(2);
		struct roost_flow flow = make_flow(ipv6, tagged);
		const struct spec_opcode *spec = &spec_opcodes[random_below(
			(uint32_t)spec_opcodes_count)];
		struct roost_pkt pkt = make_pkt(spec, random_below(40));
		size_t len = make_frame(buf, &flow, spec, &pkt);
		uint32_t hits = random_below(4);

		while (hits--)
			buf[random_below((uint32_t)len)] =
				(uint8_t)random_u32();
		if (random_below(2))
			fix_ipv4_sum(buf + (tagged ? 18 : 14));
		if (!random_below(4))
			len = random_below((uint32_t)len + 1);
		check_invariants(buf, len);
	}
}

/* Any other byte before the BTH, or less of the frame: not the same. */
static void known__is_what_is_the_same(void **state)
{
	static uint8_t buf[FRAME_MAX];

	for (int i = 0; i < 3; i++) {
		bool ipv6 = i == 1, tagged = i == 2;
		struct roost_frame_known known = { 0 };
		size_t len = send_frame(buf, ipv6, tagged, 20), hdr_len;
		struct roost_frame frame;

		assert_false(roost_frame_is_known(&known, buf, len));
		assert_int_equal(roost_frame_learn(&known, at_end(buf, len),
						   len),
				 ROOST_FRAME_ROCE);
		assert_int_equal(roost_frame_parse(buf, len, &frame),
				 ROOST_FRAME_ROCE);
		hdr_len = (size_t)(frame.bth - buf);
		for (size_t at = 0; at < hdr_len; at++) {
			buf[at] ^= 1;
			assert_false(roost_frame_is_known(&known, buf, len));
			buf[at] ^= 1;
		}
		assert_false(roost_frame_is_known(&known, buf, len - 1));
		buf[hdr_len] ^= 1; /* of the BTH */
		assert_true(roost_frame_is_known(&known, buf, len));
		assert_ptr_equal(known.frame.l3, frame.l3);
		assert_ptr_equal(known.frame.bth, frame.bth);
		assert_int_equal(known.frame.ib_len_bytes, frame.ib_len_bytes);
		assert_true(roost_gid_eq(&known.frame.sgid, &frame.sgid));
		/* What is no RoCEv2 frame is forgotten, and all before it. */
		buf[0] ^= 1;
		assert_int_not_equal(roost_frame_learn(&known, buf, 10),
				     ROOST_FRAME_ROCE);
		buf[0] ^= 1;
		assert_false(roost_frame_is_known(&known, buf, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known__is_what_is_the_same),
		cmocka_unit_test(parse__what_was_built),
		cmocka_unit_test(parse__cnp_of_hardware),
		cmocka_unit_test(parse__fecn_and_becn),
		cmocka_unit_test(parse__every_truncation),
		cmocka_unit_test(parse__every_truncation_with_its_lengths),
		cmocka_unit_test(parse__pad_against_length),
		cmocka_unit_test(parse__ethernet_padding),
		cmocka_unit_test(parse__other_protocols),
		cmocka_unit_test(parse__order_of_bth_checks),
		cmocka_unit_test(parse__opcode_ff),
		cmocka_unit_test(parse__vlan_tag),
		cmocka_unit_test(parse__two_tags),
		cmocka_unit_test(vlan__tci),
		cmocka_unit_test(parse__random_bytes),
		cmocka_unit_test(parse__random_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
