/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/check.h"
#include "lib/wire/bytes.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct roost_sw_mad room;
static struct roost_sw_pkt pkt;

static enum roost_sw_drop check(const struct world *w, unsigned int i,
				const struct roost_sw_frame *frame)
{
	enum roost_sw_drop drop = roost_check(w->lease, &w->port, w->client[i],
					      frame, &room, &pkt);

	if (drop == ROOST_SW_OK && pkt.mad)
		drop = roost_check_mad(w->lease, w->seen, w->client[i], &pkt);
	return drop;
}

static void assert_drop(const char *name, enum roost_sw_drop is,
			enum roost_sw_drop want)
{
	if (is != want)
		fail_msg("%s: %s, not %s", name, roost_sw_drop_name(is),
			 roost_sw_drop_name(want));
}

/* What client 0 changes in a frame that would pass. */
struct row {
	const char *name;
	void (*change)(const struct world *w, struct maker *m);
	enum roost_sw_drop want;
};

/* The peer asks client 0, with the number that mad_of() answers. */
static void ask(const struct world *w)
{
	const struct maker m = mad_to(w, 0, ROOST_CM_REQ);
	struct roost_sw_frame frame = make(&m);

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	assert_int_equal(roost_seen_in(w->seen, w->client[0], &pkt),
			 ROOST_SW_OK);
}

static void run_rows(const struct row *rows, size_t nb,
		     struct maker (*base)(const struct world *w))
{
	struct world w;

	world_init(&w);
	ask(&w);
	for (size_t i = 0; i < nb; i++) {
		struct maker m = base(&w);
		struct roost_sw_frame frame;

		rows[i].change(&w, &m);
		frame = make(&m);
		assert_drop(rows[i].name, check(&w, 0, &frame), rows[i].want);
	}
	world_fini(&w);
}

#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])

#define CHANGE(name, ...)                                                      \
	static void name(const struct world *w, struct maker *m)               \
	{                                                                      \
		(void)w;                                                       \
		__VA_ARGS__;                                                   \
	}

CHANGE(nothing, (void)m)

/* ---- data ---------------------------------------------------------------- */

CHANGE(v6, m->flow.sgid = gid_v6; m->flow.dgid = gid_peer_v6)
CHANGE(mac, m->flow.src_mac[5] ^= 1)
CHANGE(any_dst_mac, m->flow.dst_mac[3] = 9)
CHANGE(group_dst_mac, m->flow.dst_mac[0] |= 1)
CHANGE(tagged, m->flow.tagged = true; m->flow.vlan_tci = 0x2005)
CHANGE(priority, m->flow.tagged = true; m->flow.vlan_tci = 0xe000)
CHANGE(foreign_src, m->flow.sgid = gid_peer_v4)
CHANGE(others_src, m->flow.sgid = gid_own)
CHANGE(group_src, m->flow.sgid = gid_group)
CHANGE(zero_src, memset(&m->flow.sgid.b[12], 0, 4))
CHANGE(broadcast_dst, memset(&m->flow.dgid.b[12], 0xff, 4))
CHANGE(loopback_dst, m->flow.dgid.b[12] = 127)
CHANGE(zero_dst, memset(&m->flow.dgid.b[12], 0, 4))
CHANGE(pkey_of_port, m->pkey = 0x8001)
CHANGE(pkey, m->pkey = 0x8002)
CHANGE(no_qp, m->dest_qpn = 0)
CHANGE(too_long, m->payload_bytes = 4400)
CHANGE(to_group, m->flow.dgid = gid_group; m->dest_qpn = 0xffffff;
       roost_gid_multicast_mac(&gid_group, m->flow.dst_mac))
CHANGE(to_group_qp, to_group(w, m); m->dest_qpn = 77)
CHANGE(others_qpn, m->src_qpn = w->qpn[1])
CHANGE(nobodys_qpn, m->src_qpn = 4711)
CHANGE(src_qpn_0, m->src_qpn = 0)
CHANGE(as_gsi, m->src_qpn = 1)
CHANGE(to_gsi, m->dest_qpn = 1)
CHANGE(gsi_key, m->dest_qpn = 1; m->qkey = ROOST_SW_GSI_QKEY)
CHANGE(gsi_no_mad, gsi_key(w, m); m->src_qpn = 1)
CHANGE(cnp, m->opcode = ROOST_OPCODE_CNP; m->payload_bytes = 16)
CHANGE(ack, m->opcode = ROOST_OPCODE_RC_ACK; m->payload_bytes = 4)
CHANGE(report, m->opcode = ROOST_OPCODE_REPORT; m->payload_bytes = 4)
CHANGE(opcode, m->opcode = 0x1f)
CHANGE(others_dest, m->dest_qpn = w->qpn[1])

static struct maker base_ud(const struct world *w)
{
	return ud_of(w, 0);
}

static struct maker base_rc(const struct world *w)
{
	return rc_of(w, 0);
}

static void ud__rows(void **state)
{
	static const struct row rows[] = {
		{ "good", nothing, ROOST_SW_OK },
		{ "IPv6", v6, ROOST_SW_OK },
		{ "source MAC", mac, ROOST_SW_SRC_MAC },
		{ "any next hop", any_dst_mac, ROOST_SW_OK },
		{ "unicast to a group MAC", group_dst_mac, ROOST_SW_MALFORMED },
		{ "VLAN", tagged, ROOST_SW_VLAN },
		{ "priority", priority, ROOST_SW_OK },
		{ "foreign source", foreign_src, ROOST_SW_SRC_ADDR },
		{ "another client's own source", others_src,
		  ROOST_SW_SRC_ADDR },
		{ "group as source", group_src, ROOST_SW_MALFORMED },
		{ "no source", zero_src, ROOST_SW_MALFORMED },
		{ "broadcast", broadcast_dst, ROOST_SW_DST_ADDR },
		{ "loopback", loopback_dst, ROOST_SW_DST_ADDR },
		{ "no destination", zero_dst, ROOST_SW_DST_ADDR },
		{ "second P_Key", pkey_of_port, ROOST_SW_OK },
		{ "P_Key", pkey, ROOST_SW_PKEY },
		{ "QPN 0", no_qp, ROOST_SW_DST_QPN },
		{ "MTU", too_long, ROOST_SW_LENGTH },
		{ "group", to_group, ROOST_SW_OK },
		{ "group, a QP", to_group_qp, ROOST_SW_DST_ADDR },
		{ "another client's QPN", others_qpn, ROOST_SW_SRC_QPN },
		{ "nobody's QPN", nobodys_qpn, ROOST_SW_SRC_QPN },
		{ "source QPN 0", src_qpn_0, ROOST_SW_SRC_QPN },
		{ "source QPN 1", as_gsi, ROOST_SW_SRC_QPN },
		{ "to QP1", to_gsi, ROOST_SW_DST_QPN },
		{ "to QP1 with its Q_Key", gsi_key, ROOST_SW_DST_QPN },
		{ "to QP1, no MAD", gsi_no_mad, ROOST_SW_MAD_CLASS },
		{ "to another client", others_dest, ROOST_SW_OK },
	};

	run_rows(ROWS(rows), base_ud);
}

static void rc__rows(void **state)
{
	static const struct row rows[] = {
		{ "good", nothing, ROOST_SW_OK },
		{ "IPv6", v6, ROOST_SW_OK },
		{ "any QPN", others_dest, ROOST_SW_OK },
		{ "ACK", ack, ROOST_SW_OK },
		{ "CNP", cnp, ROOST_SW_OK },
		{ "report", report, ROOST_SW_OK },
		{ "opcode", opcode, ROOST_SW_MALFORMED },
		{ "QPN 0", no_qp, ROOST_SW_DST_QPN },
		{ "QPN 1", to_gsi, ROOST_SW_DST_QPN },
		{ "group", to_group, ROOST_SW_DST_ADDR },
		{ "foreign source", foreign_src, ROOST_SW_SRC_ADDR },
		{ "source MAC", mac, ROOST_SW_SRC_MAC },
		{ "P_Key", pkey, ROOST_SW_PKEY },
	};

	run_rows(ROWS(rows), base_rc);
}

/* Bytes of a datagram over IPv4 or IPv6 that are changed; the checksum of the
 * header is right again.
 */
static const struct {
	const char *name;
	bool ipv6;
	unsigned int at;
	uint16_t value; /* 16 bits at that place */
	enum roost_sw_drop want;
} bytes[] = {
	{ "ARP", false, 12, 0x0806, ROOST_SW_NOT_ROCE },
	{ "two tags", false, 12, 0x88a8, ROOST_SW_MALFORMED },
	{ "RoCEv1", false, 12, 0x8915, ROOST_SW_MALFORMED },
	{ "IPv4 options", false, 14, 0x4600, ROOST_SW_NOT_ROCE },
	{ "IP version", false, 14, 0x5500, ROOST_SW_MALFORMED },
	{ "total length +1", false, 16, 20 + 8 + 12 + 8 + 64 + 4 + 1,
	  ROOST_SW_MALFORMED },
	{ "total length -1", false, 16, 20 + 8 + 12 + 8 + 64 + 4 - 1,
	  ROOST_SW_MALFORMED },
	{ "total length 0", false, 16, 0, ROOST_SW_MALFORMED },
	{ "first fragment", false, 20, 0x2000, ROOST_SW_MALFORMED },
	{ "later fragment", false, 20, 0x0001, ROOST_SW_NOT_ROCE },
	{ "TCP", false, 22, 0x4006, ROOST_SW_NOT_ROCE },
	{ "ICMP", false, 22, 0x4001, ROOST_SW_NOT_ROCE },
	{ "UDP port", false, 36, 4790, ROOST_SW_NOT_ROCE },
	{ "UDP length", false, 38, 8 + 12 + 8 + 64 + 3, ROOST_SW_MALFORMED },
	{ "TVer", false, 42, 0x6441, ROOST_SW_MALFORMED },
	{ "IPv6 version", true, 14, 0x7000, ROOST_SW_MALFORMED },
	{ "IPv6 length", true, 18, 8 + 12 + 8 + 64 + 5, ROOST_SW_MALFORMED },
	{ "ICMPv6", true, 20, 58 << 8 | 64, ROOST_SW_NOT_ROCE },
	{ "hop-by-hop", true, 20, 0 << 8 | 64, ROOST_SW_NOT_ROCE },
	{ "fragment", true, 20, 44 << 8 | 64, ROOST_SW_NOT_ROCE },
};

static void hostile__bytes(void **state)
{
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct maker m = ud_of(&w, 0);
		struct roost_sw_frame frame;
		uint8_t head[ROOST_SW_HEAD_MAX];

		if (bytes[i].ipv6)
			v6(&w, &m);
		frame = make(&m);
		roost_be16_put(bytes_of(&frame) + bytes[i].at, bytes[i].value);
		mend(&frame);
		assert_drop(bytes[i].name, check(&w, 0, &frame), bytes[i].want);
		/* The same in two parts. */
		memcpy(head, frame.head, sizeof(head));
		frame.payload = frame.head + sizeof(head);
		frame.head = head;
		frame.head_len_bytes = sizeof(head);
		assert_drop(bytes[i].name, check(&w, 0, &frame), bytes[i].want);
	}
	world_fini(&w);
}

static void hostile__lengths(void **state)
{
	struct world w;
	struct maker m;
	struct roost_sw_frame frame;
	uint32_t whole;

	world_init(&w);
	m = ud_of(&w, 0);
	frame = make(&m);
	whole = frame.len_bytes;
	/* Each memory ends where the frame ends. */
	for (uint32_t len = 0; len < whole; len++) {
		struct roost_sw_frame cut = frame;

		cut.head = malloc(len == 0 ? 1 : len);
		assert_non_null(cut.head);
		memcpy(bytes_of(&cut), frame.head, len);
		cut.len_bytes = cut.head_len_bytes = len;
		assert_int_not_equal(check(&w, 0, &cut), ROOST_SW_OK);
		free(bytes_of(&cut));
	}
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	/* Bytes behind the ICRC would leave unseen. */
	frame.len_bytes++;
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_LENGTH);
	world_fini(&w);
}

static void vlan__of_the_port_only(void **state)
{
	struct roost_sw_frame frame;
	struct world w;
	struct maker m;

	world_init(&w);
	w.port.vlan_id = 5;
	m = ud_of(&w, 0);
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_VLAN);
	priority(&w, &m);
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_VLAN);
	tagged(&w, &m);
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	m.flow.vlan_tci = 0x2006;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_VLAN);
	world_fini(&w);
}

static void address__of_ones_own(void **state)
{
	struct roost_sw_frame frame;
	struct world w;
	struct maker m;

	world_init(&w);
	m = ud_of(&w, 2);
	frame = make(&m);
	assert_int_equal(check(&w, 2, &frame), ROOST_SW_OK);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_SRC_ADDR);
	/* It does not share the port's. */
	m.flow.sgid = gid_v4;
	frame = make(&m);
	assert_int_equal(check(&w, 2, &frame), ROOST_SW_SRC_ADDR);
	world_fini(&w);
}

/* The head is what counts: the payload may change at any time. */
static void payload__is_not_read(void **state)
{
	uint8_t head[ROOST_SW_HEAD_MAX];
	struct roost_sw_frame frame;
	struct world w;
	struct maker m;

	world_init(&w);
	m = ud_of(&w, 0);
	m.payload_bytes = 1024;
	frame = make(&m);
	memcpy(head, frame.head, sizeof(head));
	frame.head = head;
	frame.head_len_bytes = sizeof(head);
	frame.payload = (const uint8_t *)16; /* nothing is there */
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	world_fini(&w);
}

/* ---- MADs ---------------------------------------------------------------- */

static enum roost_cm_msg_type base_type;

static struct maker base_mad(const struct world *w)
{
	return mad_of(w, 0, base_type);
}

CHANGE(others_id, m->msg.local_id = w->comm[1])
CHANGE(nobodys_id, m->msg.local_id = 0x77777777)
CHANGE(no_id, m->msg.local_id = 0)
CHANGE(others_qpn_in, m->msg.qpn = w->qpn[1])
CHANGE(others_eecn, m->msg.eecn = w->qpn[1])
CHANGE(own_eecn, m->msg.eecn = m->msg.qpn; m->msg.qpn = 0)
CHANGE(primary, m->msg.primary.local_gid = gid_peer_v4)
CHANGE(primary_own, m->msg.primary.local_gid = gid_own)
CHANGE(alternate, m->msg.alternate.local_lid = 0xffff;
       m->msg.alternate.local_gid = gid_own)
CHANGE(alternate_v6, m->msg.alternate.local_lid = 0xffff;
       m->msg.alternate.local_gid = gid_v6;
       m->msg.alternate.remote_gid = gid_peer_v6)
CHANGE(not_asked, m->msg.remote_id++)
CHANGE(about_rep, m->msg.remote_id++; m->msg.about = ROOST_CM_ABOUT_REP)
CHANGE(mad_from_qp, m->src_qpn = w->qpn[0])
CHANGE(mad_qkey, m->qkey = 0x80010001)
CHANGE(mad_imm, m->opcode = ROOST_OPCODE_UD_SEND_ONLY_IMM)

static void put_ip_hdr(struct maker *m, const struct roost_gid *src)
{
	const struct roost_cm_ip_hdr ip = { .src = *src,
					    .dst = m->flow.dgid,
					    .src_port = 40000 };

	roost_cm_ip_hdr_encode(&ip, m->msg.data);
}

CHANGE(ip_hdr, put_ip_hdr(m, &gid_v4))
CHANGE(ip_hdr_lies, put_ip_hdr(m, &gid_peer_v4))
CHANGE(ip_hdr_is_data, put_ip_hdr(m, &gid_peer_v4);
       m->msg.service_id = 0x1234567812345678)

static void req__rows(void **state)
{
	static const struct row rows[] = {
		{ "good", nothing, ROOST_SW_OK },
		{ "another's id", others_id, ROOST_SW_MAD_ID },
		{ "nobody's id", nobodys_id, ROOST_SW_MAD_ID },
		{ "no id", no_id, ROOST_SW_MAD_ID },
		{ "another's QPN", others_qpn_in, ROOST_SW_MAD_QPN },
		{ "primary path", primary, ROOST_SW_MAD_ADDR },
		{ "primary path, another's", primary_own, ROOST_SW_MAD_ADDR },
		{ "alternate path", alternate, ROOST_SW_MAD_ADDR },
		{ "alternate path, own", alternate_v6, ROOST_SW_OK },
		{ "IP header", ip_hdr, ROOST_SW_OK },
		{ "IP header lies", ip_hdr_lies, ROOST_SW_MAD_ADDR },
		{ "not an IP header", ip_hdr_is_data, ROOST_SW_OK },
		{ "from a QP", mad_from_qp, ROOST_SW_DST_QPN },
		{ "Q_Key", mad_qkey, ROOST_SW_DST_QPN },
		{ "immediate", mad_imm, ROOST_SW_DST_QPN },
		{ "source", foreign_src, ROOST_SW_SRC_ADDR },
	};

	base_type = ROOST_CM_REQ;
	run_rows(ROWS(rows), base_mad);
}

static void rep__rows(void **state)
{
	static const struct row rows[] = {
		{ "good", nothing, ROOST_SW_OK },
		{ "another's id", others_id, ROOST_SW_MAD_ID },
		{ "another's QPN", others_qpn_in, ROOST_SW_MAD_QPN },
		{ "another's EECN", others_eecn, ROOST_SW_MAD_QPN },
		{ "XRC", own_eecn, ROOST_SW_OK },
		{ "to another's request", not_asked, ROOST_SW_MAD_ANSWER },
	};

	base_type = ROOST_CM_REP;
	run_rows(ROWS(rows), base_mad);
}

static void others__rows(void **state)
{
	static const enum roost_cm_msg_type types[] = {
		ROOST_CM_MRA,      ROOST_CM_RTU, ROOST_CM_DREQ, ROOST_CM_DREP,
		ROOST_CM_SIDR_REQ, ROOST_CM_LAP, ROOST_CM_APR,  ROOST_CM_REJ,
	};
	static const struct row rows[] = {
		{ "good", nothing, ROOST_SW_OK },
		{ "another's id", others_id, ROOST_SW_MAD_ID },
		{ "nobody's id", nobodys_id, ROOST_SW_MAD_ID },
	};
	static const struct row sidr[] = {
		{ "IP header", ip_hdr, ROOST_SW_OK },
		{ "IP header lies", ip_hdr_lies, ROOST_SW_MAD_ADDR },
	};
	static const struct row rej[] = {
		{ "to another's request", not_asked, ROOST_SW_MAD_ANSWER },
		{ "to a REP", about_rep, ROOST_SW_OK },
	};
	static const struct row lap[] = {
		{ "alternate", alternate, ROOST_SW_MAD_ADDR },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		base_type = types[i];
		run_rows(ROWS(rows), base_mad);
	}
	base_type = ROOST_CM_SIDR_REQ;
	run_rows(ROWS(sidr), base_mad);
	base_type = ROOST_CM_LAP;
	run_rows(ROWS(lap), base_mad);
	base_type = ROOST_CM_REJ;
	run_rows(ROWS(rej), base_mad);
	base_type = ROOST_CM_MRA;
	run_rows(ROWS(rej), base_mad);
}

/* An answer that carries no id of its sender: to what the client was asked. */
static void answers__to_what_was_asked(void **state)
{
	struct roost_sw_frame frame;
	struct maker req, m;
	struct world w;

	world_init(&w);
	m = mad_of(&w, 0, ROOST_CM_REJ);
	m.msg.local_id = 0;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_ANSWER);
	req = mad_to(&w, 0, ROOST_CM_REQ);
	req.msg.local_id = m.msg.remote_id;
	frame = make(&req);
	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	assert_int_equal(roost_seen_in(w.seen, w.client[0], &pkt), ROOST_SW_OK);
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	assert_int_equal(check(&w, 1, &frame), ROOST_SW_MAD_ANSWER);
	/* To this number of this peer. */
	m.msg.remote_id++;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_ANSWER);
	m.msg.remote_id--;
	m.flow.dgid.b[15]++;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_ANSWER);

	m = mad_of(&w, 0, ROOST_CM_SIDR_REP);
	m.msg.local_id = 0x5555;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_ANSWER);
	req = mad_to(&w, 0, ROOST_CM_SIDR_REQ);
	req.msg.local_id = 0x5555;
	frame = make(&req);
	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	assert_int_equal(roost_seen_in(w.seen, w.client[0], &pkt), ROOST_SW_OK);
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	assert_int_equal(check(&w, 1, &frame), ROOST_SW_MAD_ANSWER);
	m.msg.qpn = w.qpn[1];
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_QPN);
	m.msg.status = ROOST_CM_SIDR_REJECT;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	world_fini(&w);
}

static void mad__bytes(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
	} changes[] = {
		{ 0, 2 },     /* base version */
		{ 1, 0x81 },  /* directed route SMP */
		{ 1, 0x03 },  /* SA */
		{ 1, 0x04 },  /* performance management */
		{ 2, 1 },     /* class version */
		{ 3, 0x81 },  /* GetResp */
		{ 17, 0x1b }, /* attribute */
		{ 17, 0x0f },
	};
	struct roost_sw_frame frame;
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_of(&w, 0, ROOST_CM_RTU);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		frame = make(&m);
		bytes_of(&frame)[14 + 20 + 8 + 12 + 8 + changes[i].at] =
			changes[i].value;
		assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_ICRC);
		mend(&frame);
		assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_CLASS);
	}
	/* Not 256 bytes. */
	m.has_msg = false;
	m.payload_bytes = 252;
	frame = make(&m);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_MAD_CLASS);
	world_fini(&w);
}

/* What is sent on is the copy that was checked. */
static void mad__in_two_parts(void **state)
{
	uint8_t head[ROOST_SW_HEAD_MAX], whole[ROOST_SW_GSI_FRAME_MAX];
	struct roost_sw_frame frame;
	struct world w;
	struct maker m;

	world_init(&w);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	frame = make(&m);
	memcpy(whole, frame.head, frame.len_bytes);
	memcpy(head, frame.head, sizeof(head));
	frame.payload = frame.head + sizeof(head);
	frame.head = head;
	frame.head_len_bytes = sizeof(head);
	assert_int_equal(check(&w, 0, &frame), ROOST_SW_OK);
	assert_ptr_equal(pkt.mad, &room);
	assert_memory_equal(room.bytes, whole, frame.len_bytes);
	assert_int_equal(room.msg.qpn, w.qpn[0]);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud__rows),
		cmocka_unit_test(rc__rows),
		cmocka_unit_test(hostile__bytes),
		cmocka_unit_test(hostile__lengths),
		cmocka_unit_test(vlan__of_the_port_only),
		cmocka_unit_test(address__of_ones_own),
		cmocka_unit_test(payload__is_not_read),
		cmocka_unit_test(req__rows),
		cmocka_unit_test(rep__rows),
		cmocka_unit_test(others__rows),
		cmocka_unit_test(answers__to_what_was_asked),
		cmocka_unit_test(mad__bytes),
		cmocka_unit_test(mad__in_two_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
