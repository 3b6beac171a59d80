/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per packet received. No allocation, system call, log or
 * lock.
 */

#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/fields.h"
#include "lib/wire/frame.h"
#include "lib/wire/icrc.h"

#define PROTO_HOP_BY_HOP 0u
#define PROTO_ROUTING 43u
#define PROTO_FRAGMENT 44u
#define PROTO_DEST_OPTIONS 60u

#define IPV4_MORE_FRAGMENTS 0x2000u
#define IPV4_FRAGMENT_OFFSET 0x1fffu
#define IPV6_FRAGMENT_OFFSET 0xfff8u
#define IPV6_EXT_UNIT 8u /* extension headers are multiples of it */

/* The smallest valid UDP length. */
#define UDP_LEN_MIN (ROOST_UDP_LEN + ROOST_BTH_LEN + ROOST_ICRC_LEN)

/* Known headers are stored as their first and last bytes, which overlap. */
#define KNOWN_HEAD 32u
_Static_assert(ROOST_ETH_LEN + ROOST_IPV4_LEN + ROOST_UDP_LEN >= KNOWN_HEAD &&
		       ROOST_KNOWN_MAX <= 2 * KNOWN_HEAD,
	       "both parts stay inside, and leave no gap");

#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- outer headers ------------------------------------------------------ */

static enum roost_frame_class bad(struct roost_frame *frame,
				  enum roost_drop reason)
{
	frame->drop = (uint8_t)reason;
	return ROOST_FRAME_BAD;
}

static enum roost_frame_class good(struct roost_frame *frame, const uint8_t *l3,
				   size_t l3_len, const uint8_t *udp)
{
	frame->drop = ROOST_DROP_NONE;
	frame->l3 = l3;
	frame->l3_len_bytes = (uint16_t)l3_len;
	frame->bth = udp + ROOST_UDP_LEN;
	frame->ib_len_bytes = (uint16_t)(l3 + l3_len - frame->bth);
	frame->udp_src = roost_be16_get(udp);
	return ROOST_FRAME_ROCE;
}

static bool udp_is_ours(const uint8_t *udp)
{
	return roost_be16_get(udp + 2) == ROOST_UDP_PORT;
}

static bool ipv4_sum_ok(const uint8_t *l3)
{
	uint32_t words[ROOST_IPV4_LEN / 4];
	uint64_t sum;

	/* Ones' complement sums are the same in any byte order (RFC 1071). */
	memcpy(words, l3, sizeof(words));
	sum = (uint64_t)words[0] + words[1] + words[2] + words[3] + words[4];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* True for addresses that may be invalid: those that no host can have begin
 * with 64 zero bits or 0xff, as few others do.
 */
static bool is_ipv6_doubtful(const uint8_t *addr)
{
	uint64_t prefix;

	memcpy(&prefix, addr, sizeof(prefix));
	return prefix == 0 || addr[0] == 0xff;
}

/* An IPv6 header must not carry an IPv4-mapped address (RFC 4291, 2.5.5.2). */
static enum roost_drop check_ipv6_addrs(const struct roost_frame *frame)
{
	if (roost_gid_is_v4(&frame->sgid) ||
	    !roost_gid_is_unicast(&frame->sgid))
		return ROOST_DROP_SRC_ADDR;
	return roost_gid_is_v4(&frame->dgid) ? ROOST_DROP_NOT_OURS
					     : ROOST_DROP_NONE;
}

/* Before an address is looked at as a whole, which few need. */
static bool is_ipv4_doubtful(const uint8_t *addr)
{
	return (uint8_t)(addr[0] - 1u) >= 223 || addr[0] == 127;
}

static enum roost_frame_class parse_ipv4(const uint8_t *l3, size_t avail,
					 struct roost_frame *frame)
{
	size_t hdr_len, total;
	const uint8_t *udp;
	uint16_t frag;

	if (avail < ROOST_IPV4_LEN || l3[9] != PROTO_UDP)
		return ROOST_FRAME_OTHER;
	hdr_len = (l3[0] & 0x0fu) * 4;
	if (hdr_len < ROOST_IPV4_LEN)
		hdr_len = ROOST_IPV4_LEN;
	frag = roost_be16_get(l3 + 6);
	if (avail < hdr_len + ROOST_UDP_LEN || (frag & IPV4_FRAGMENT_OFFSET))
		return ROOST_FRAME_OTHER;
	udp = l3 + hdr_len;
	if (!udp_is_ours(udp))
		return ROOST_FRAME_OTHER;

	total = roost_be16_get(l3 + 2);
	if (total < hdr_len + UDP_LEN_MIN || total > avail)
		return bad(frame, ROOST_DROP_LENGTH);
	if (l3[0] != IPV4_VER_IHL || !ipv4_sum_ok(l3))
		return bad(frame, ROOST_DROP_IP_HEADER);
	/* Before the UDP length, which a first fragment has from the whole
	 * datagram.
	 */
	if (frag & IPV4_MORE_FRAGMENTS)
		return bad(frame, ROOST_DROP_FRAGMENT);
	if (roost_be16_get(udp + 4) != total - hdr_len)
		return bad(frame, ROOST_DROP_LENGTH);
	if (unlikely(is_ipv4_doubtful(l3 + 12) &&
		     !roost_v4_is_unicast(l3 + 12)))
		return bad(frame, ROOST_DROP_SRC_ADDR);

	frame->ipv6 = false;
	frame->tclass = l3[1];
	frame->hop_limit = l3[8];
	frame->flow_label = 0;
	frame->sgid = roost_gid_from_v4(l3 + 12);
	frame->dgid = roost_gid_from_v4(l3 + 16);
	return good(frame, l3, total, udp);
}

/* IPv6 with extension headers: nothing we take, bad if it is for our port. */
static enum roost_frame_class parse_ipv6_ext(const uint8_t *l3, size_t avail,
					     struct roost_frame *frame)
{
	enum roost_drop reason = ROOST_DROP_IP_HEADER;
	size_t off = ROOST_IPV6_LEN;
	uint8_t next = l3[6];

	while (next != PROTO_UDP) {
		size_t len = IPV6_EXT_UNIT;

		if (avail < off + IPV6_EXT_UNIT)
			return ROOST_FRAME_OTHER;
		switch (next) {
		case PROTO_HOP_BY_HOP:
		case PROTO_ROUTING:
		case PROTO_DEST_OPTIONS:
			len *= l3[off + 1] + 1u;
			break;
		case PROTO_FRAGMENT:
			if (roost_be16_get(l3 + off + 2) & IPV6_FRAGMENT_OFFSET)
				return ROOST_FRAME_OTHER;
			reason = ROOST_DROP_FRAGMENT;
			break;
		default:
			return ROOST_FRAME_OTHER;
		}
		next = l3[off];
		off += len;
	}
	if (avail < off + ROOST_UDP_LEN || !udp_is_ours(l3 + off))
		return ROOST_FRAME_OTHER;
	return bad(frame, reason);
}

static enum roost_frame_class parse_ipv6(const uint8_t *l3, size_t avail,
					 struct roost_frame *frame)
{
	const uint8_t *udp = l3 + ROOST_IPV6_LEN;
	enum roost_drop reason;
	size_t payload_len, total;
	uint32_t word;

	if (avail < ROOST_IPV6_LEN + ROOST_UDP_LEN)
		return ROOST_FRAME_OTHER;
	if (unlikely(l3[6] != PROTO_UDP))
		return parse_ipv6_ext(l3, avail, frame);
	if (!udp_is_ours(udp))
		return ROOST_FRAME_OTHER;

	payload_len = roost_be16_get(l3 + 4);
	total = ROOST_IPV6_LEN + payload_len;
	if (payload_len < UDP_LEN_MIN || total > avail || total > UINT16_MAX)
		return bad(frame, ROOST_DROP_LENGTH);
	word = roost_be32_get(l3);
	if (word >> 28 != IPV6_VERSION)
		return bad(frame, ROOST_DROP_IP_HEADER);
	if (roost_be16_get(udp + 4) != payload_len)
		return bad(frame, ROOST_DROP_LENGTH);

	frame->ipv6 = true;
	frame->tclass = (uint8_t)(word >> 20);
	frame->hop_limit = l3[7];
	frame->flow_label = word & IPV6_FLOW_LABEL_MASK;
	memcpy(frame->sgid.b, l3 + 8, sizeof(frame->sgid.b));
	memcpy(frame->dgid.b, l3 + 24, sizeof(frame->dgid.b));
	if (unlikely(is_ipv6_doubtful(l3 + 8) || is_ipv6_doubtful(l3 + 24))) {
		reason = check_ipv6_addrs(frame);
		if (reason != ROOST_DROP_NONE)
			return bad(frame, reason);
	}
	return good(frame, l3, total, udp);
}

/* The bit of broadcast and multicast MACs. */
#define MAC_GROUP_BIT 1u

/* True for a unicast IP address in a broadcast or multicast frame (RFC 1122,
 * 3.3.6).
 */
static bool is_spread(const uint8_t *mac, const struct roost_frame *frame)
{
	return unlikely(mac[0] & MAC_GROUP_BIT) &&
	       !roost_gid_is_multicast(&frame->dgid);
}

enum roost_frame_class roost_frame_parse(const void *data, size_t len,
					 struct roost_frame *frame)
{
	enum roost_frame_class class = ROOST_FRAME_OTHER;
	const uint8_t *p = data;
	size_t l3_off = ROOST_ETH_LEN;
	uint16_t ethertype;

	frame->vlan_tci = 0;
	if (len < ROOST_ETH_LEN + ROOST_VLAN_LEN)
		return ROOST_FRAME_OTHER;
	ethertype = roost_be16_get(p + 12);
	if (ethertype == ETHERTYPE_VLAN) {
		frame->vlan_tci = roost_be16_get(p + 14);
		ethertype = roost_be16_get(p + 16);
		l3_off += ROOST_VLAN_LEN;
		if (unlikely(ethertype == ETHERTYPE_VLAN))
			return bad(frame, ROOST_DROP_QINQ);
	}
	if (unlikely(ethertype == ETHERTYPE_QINQ))
		return bad(frame, ROOST_DROP_QINQ);
	memcpy(frame->src_mac, p + 6, sizeof(frame->src_mac));
	if (ethertype == ETHERTYPE_IPV4)
		class = parse_ipv4(p + l3_off, len - l3_off, frame);
	else if (ethertype == ETHERTYPE_IPV6)
		class = parse_ipv6(p + l3_off, len - l3_off, frame);
	else if (unlikely(ethertype == ROOST_ETHERTYPE_ROCE_V1))
		return bad(frame, ROOST_DROP_ROCE_V1);
	if (class == ROOST_FRAME_ROCE && is_spread(p, frame))
		return bad(frame, ROOST_DROP_GROUP_MAC);
	return class;
}

enum roost_frame_class roost_frame_learn(struct roost_frame_known *known,
					 const void *data, size_t len)
{
	struct roost_frame *frame = &known->frame;
	enum roost_frame_class class = roost_frame_parse(data, len, frame);
	size_t hdr_len, whole;

	known->len_bytes = 0;
	if (class != ROOST_FRAME_ROCE)
		return class;
	hdr_len = (size_t)(frame->bth - (const uint8_t *)data);
	whole = (size_t)(frame->l3 - (const uint8_t *)data) +
		frame->l3_len_bytes;
	if (hdr_len > ROOST_KNOWN_MAX || whole > UINT16_MAX)
		return class;
	memcpy(known->bytes, data, KNOWN_HEAD);
	memcpy(known->bytes + hdr_len - KNOWN_HEAD,
	       (const uint8_t *)data + hdr_len - KNOWN_HEAD, KNOWN_HEAD);
	known->len_bytes = (uint16_t)hdr_len;
	known->whole_bytes = (uint16_t)whole;
	return class;
}

const uint8_t *roost_frame_guess_bth(const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t off = ROOST_ETH_LEN;
	uint16_t ethertype;

	if (len < ROOST_ETH_LEN + ROOST_VLAN_LEN)
		return NULL;
	ethertype = roost_be16_get(p + off - 2);
	if (ethertype == ETHERTYPE_VLAN) {
		off += ROOST_VLAN_LEN;
		ethertype = roost_be16_get(p + off - 2);
	}
	if (ethertype == ETHERTYPE_IPV4)
		off += ROOST_IPV4_LEN;
	else if (ethertype == ETHERTYPE_IPV6)
		off += ROOST_IPV6_LEN;
	else
		return NULL;
	off += ROOST_UDP_LEN;
	return len < off + ROOST_BTH_LEN ? NULL : p + off;
}

bool roost_frame_icrc_ok_at(const struct roost_frame *frame, const uint8_t *l3)
{
	size_t covered = (size_t)frame->l3_len_bytes - ROOST_ICRC_LEN;
	uint32_t icrc_le;

	memcpy(&icrc_le, l3 + covered, sizeof(icrc_le));
	return le32toh(icrc_le) == roost_icrc(l3, frame->ipv6, covered);
}

bool roost_frame_icrc_ok(const struct roost_frame *frame)
{
	return roost_frame_icrc_ok_at(frame, frame->l3);
}

/* ---- BTH and extension headers ------------------------------------------ */

static void decode_feth(const uint8_t *p, struct roost_pkt *pkt)
{
	uint32_t word = roost_be32_get(p);

	pkt->flush_type = word & FETH_TYPE_MASK;
	pkt->flush_level = (word >> FETH_LEVEL_SHIFT) & FETH_LEVEL_MASK;
}

static void decode_atomiceth(const uint8_t *p, struct roost_pkt *pkt)
{
	pkt->va = roost_be64_get(p);
	pkt->rkey = roost_be32_get(p + 8);
	pkt->swap_add = roost_be64_get(p + 12);
	pkt->compare = roost_be64_get(p + 20);
}

/* Decode the headers of rare packets. */
static void decode_rare(const uint8_t *bth, unsigned int hdrs,
			const uint8_t *off, struct roost_pkt *pkt)
{
	if (hdrs & ROOST_HDR_BIT(XRCETH))
		pkt->xrc_srqn =
			roost_be32_get(bth + off[ROOST_HDR_XRCETH]) & MASK24;
	if (hdrs & ROOST_HDR_BIT(FETH))
		decode_feth(bth + off[ROOST_HDR_FETH], pkt);
	if (hdrs & ROOST_HDR_BIT(ATOMICETH))
		decode_atomiceth(bth + off[ROOST_HDR_ATOMICETH], pkt);
	if (hdrs & ROOST_HDR_BIT(ATOMICACKETH))
		pkt->orig = roost_be64_get(bth + off[ROOST_HDR_ATOMICACKETH]);
	if (hdrs & ROOST_HDR_BIT(IETH))
		pkt->inv_rkey = roost_be32_get(bth + off[ROOST_HDR_IETH]);
}

static void decode_hdrs(const uint8_t *bth, unsigned int hdrs,
			const uint8_t *off, struct roost_pkt *pkt)
{
	const unsigned int common = ROOST_HDR_BIT(AETH) | ROOST_HDR_BIT(RETH) |
				    ROOST_HDR_BIT(IMMDT) | ROOST_HDR_BIT(DETH);
	const uint8_t *p;

	if (hdrs & ROOST_HDR_BIT(AETH)) {
		p = bth + off[ROOST_HDR_AETH];
		pkt->syndrome = p[0];
		pkt->msn = roost_be32_get(p) & MASK24;
	}
	if (hdrs & ROOST_HDR_BIT(RETH)) {
		p = bth + off[ROOST_HDR_RETH];
		pkt->va = roost_be64_get(p);
		pkt->rkey = roost_be32_get(p + 8);
		pkt->dma_len_bytes = roost_be32_get(p + 12);
	}
	if (hdrs & ROOST_HDR_BIT(IMMDT))
		memcpy(&pkt->imm_be, bth + off[ROOST_HDR_IMMDT],
		       sizeof(pkt->imm_be));
	if (hdrs & ROOST_HDR_BIT(DETH)) {
		p = bth + off[ROOST_HDR_DETH];
		pkt->qkey = roost_be32_get(p);
		pkt->src_qpn = roost_be32_get(p + 4) & MASK24;
	}
	if (hdrs & ~common)
		decode_rare(bth, hdrs, off, pkt);
}

enum roost_drop roost_pkt_parse(const struct roost_frame *frame,
				struct roost_pkt *pkt)
{
	const uint8_t *bth = frame->bth;
	const struct roost_opcode_info *info = &roost_opcodes[bth[0]];
	size_t pad = (bth[1] >> BTH_PAD_SHIFT) & BTH_PAD_MASK;
	size_t around = info->hdr_len_bytes + pad + ROOST_ICRC_LEN;
	uint32_t word;

	if (unlikely(bth[1] & BTH_TVER_MASK))
		return ROOST_DROP_TVER;
	if (unlikely(info->op == ROOST_OP_NONE))
		return ROOST_DROP_OPCODE;
	if (unlikely(frame->ib_len_bytes < around))
		return ROOST_DROP_HDR_LEN;

	pkt->info = info;
	pkt->opcode = bth[0];
	pkt->pad_bytes = (uint8_t)pad;
	pkt->vlan_tci = frame->vlan_tci;
	pkt->ipv6 = frame->ipv6;
	pkt->solicited = bth[1] & BTH_SOLICITED;
	pkt->migreq = bth[1] & BTH_MIGREQ;
	pkt->pkey = roost_be16_get(bth + 2);
	word = roost_be32_get(bth + 4);
	pkt->fecn = word & BTH_FECN;
	pkt->becn = word & BTH_BECN;
	pkt->dest_qpn = word & MASK24;
	word = roost_be32_get(bth + 8);
	pkt->ackreq = word & BTH_ACKREQ;
	pkt->selective = word & BTH_SELECTIVE;
	pkt->psn = roost_psn(word);
	pkt->payload = bth + info->hdr_len_bytes;
	pkt->payload_len_bytes = (uint16_t)(frame->ib_len_bytes - around);
	if (info->hdrs)
		decode_hdrs(bth, info->hdrs, info->hdr_off, pkt);
	return ROOST_DROP_NONE;
}
