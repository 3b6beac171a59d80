/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per packet sent. No allocation, system call, log or
 * lock.
 */

#include <string.h>

#include "lib/wire/emit.h"
#include "lib/wire/guard.h"
#include "lib/wire/icrc.h"

#define IPV4_DONT_FRAGMENT 0x4000u

/* ---- template ----------------------------------------------------------- */

static uint8_t *put_eth(uint8_t *p, const struct roost_flow *flow, bool ipv6)
{
	memcpy(p, flow->dst_mac, sizeof(flow->dst_mac));
	memcpy(p + 6, flow->src_mac, sizeof(flow->src_mac));
	p += 12;
	if (flow->tagged) {
		roost_be16_put(p, ETHERTYPE_VLAN);
		roost_be16_put(p + 2, flow->vlan_tci);
		p += ROOST_VLAN_LEN;
	}
	roost_be16_put(p, ipv6 ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
	return p + 2;
}

static uint8_t *put_ipv4(uint8_t *p, const struct roost_flow *flow,
			 uint32_t *sum)
{
	size_t i;

	memset(p, 0, ROOST_IPV4_LEN);
	p[0] = IPV4_VER_IHL;
	p[1] = flow->tclass;
	roost_be16_put(p + 6, IPV4_DONT_FRAGMENT);
	p[8] = flow->hop_limit;
	p[9] = PROTO_UDP;
	memcpy(p + 12, flow->sgid.b + 12, 4);
	memcpy(p + 16, flow->dgid.b + 12, 4);

	*sum = 0;
	for (i = 0; i < ROOST_IPV4_LEN; i += 2)
		*sum += roost_be16_get(p + i);
	return p + ROOST_IPV4_LEN;
}

static uint8_t *put_ipv6(uint8_t *p, const struct roost_flow *flow)
{
	memset(p, 0, ROOST_IPV6_LEN);
	roost_be32_put(p, IPV6_VERSION << 28 | (uint32_t)flow->tclass << 20 |
				  (flow->flow_label & IPV6_FLOW_LABEL_MASK));
	p[6] = PROTO_UDP;
	p[7] = flow->hop_limit;
	memcpy(p + 8, flow->sgid.b, sizeof(flow->sgid.b));
	memcpy(p + 24, flow->dgid.b, sizeof(flow->dgid.b));
	return p + ROOST_IPV6_LEN;
}

void roost_hdr_template_init(struct roost_hdr_template *t,
			     const struct roost_flow *flow)
{
	uint8_t *p;

	memset(t, 0, sizeof(*t));
	t->ipv6 = !roost_gid_is_v4(&flow->dgid);
	p = put_eth(t->bytes, flow, t->ipv6);
	t->l3_off_bytes = (uint8_t)(p - t->bytes);
	p = t->ipv6 ? put_ipv6(p, flow) : put_ipv4(p, flow, &t->ipv4_sum);
	roost_be16_put(p, flow->udp_src);
	roost_be16_put(p + 2, ROOST_UDP_PORT);
	p += ROOST_UDP_LEN + ROOST_BTH_LEN;
	t->len_bytes = (uint8_t)(p - t->bytes);
}

void roost_hdr_template_set_dst_mac(struct roost_hdr_template *t,
				    const uint8_t mac[6])
{
	memcpy(t->bytes, mac, 6);
}

void roost_hdr_template_set_src_mac(struct roost_hdr_template *t,
				    const uint8_t mac[6])
{
	memcpy(t->bytes + 6, mac, 6);
}

void roost_hdr_template_set_tclass(struct roost_hdr_template *t, uint8_t tclass)
{
	uint8_t *l3 = t->bytes + t->l3_off_bytes;
	uint32_t word;

	if (t->ipv6) {
		word = roost_be32_get(l3) & ~(0xffu << 20);
		roost_be32_put(l3, word | (uint32_t)tclass << 20);
		return;
	}
	t->ipv4_sum += tclass;
	t->ipv4_sum -= l3[1];
	l3[1] = tclass;
}

void roost_hdr_template_set_priority(struct roost_hdr_template *t,
				     uint8_t priority)
{
	uint8_t *tci = t->bytes + 14;

	if (t->l3_off_bytes == ROOST_ETH_LEN)
		return;
	roost_be16_put(tci, (uint16_t)((roost_be16_get(tci) & 0x1fff) |
				       priority << ROOST_VLAN_PCP_SHIFT));
}

/* ---- packet ------------------------------------------------------------- */

size_t roost_hdr_emit(const struct roost_hdr_template *t, uint8_t *buf,
		      const struct roost_bth *bth, size_t after_bth_bytes)
{
	return roost_hdr_emit_words(t, buf, roost_bth_words(bth),
				    after_bth_bytes);
}

void roost_xrceth_put(uint8_t *p, uint32_t srqn)
{
	roost_be32_put(p, srqn & MASK24);
}

void roost_deth_put(uint8_t *p, uint32_t qkey, uint32_t src_qpn)
{
	roost_be32_put(p, qkey);
	roost_be32_put(p + 4, src_qpn & MASK24);
}

void roost_feth_put(uint8_t *p, uint32_t type, uint32_t level)
{
	roost_be32_put(p, (level & FETH_LEVEL_MASK) << FETH_LEVEL_SHIFT |
				  (type & FETH_TYPE_MASK));
}

void roost_reth_put(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t len)
{
	roost_be64_put(p, va);
	roost_be32_put(p + 8, rkey);
	roost_be32_put(p + 12, len);
}

void roost_atomiceth_put(uint8_t *p, uint64_t va, uint32_t rkey,
			 uint64_t swap_add, uint64_t compare)
{
	roost_be64_put(p, va);
	roost_be32_put(p + 8, rkey);
	roost_be64_put(p + 12, swap_add);
	roost_be64_put(p + 20, compare);
}

void roost_aeth_put(uint8_t *p, uint8_t syndrome, uint32_t msn)
{
	roost_be32_put(p, (uint32_t)syndrome << 24 | (msn & MASK24));
}

void roost_atomicacketh_put(uint8_t *p, uint64_t orig)
{
	roost_be64_put(p, orig);
}

void roost_immdt_put(uint8_t *p, uint32_t imm_be)
{
	memcpy(p, &imm_be, sizeof(imm_be));
}

void roost_ieth_put(uint8_t *p, uint32_t rkey)
{
	roost_be32_put(p, rkey);
}

/* ---- ICRC --------------------------------------------------------------- */

/* From this payload length on, folding while copying costs less than copying
 * and then reading the whole frame, headers included.
 */
#define FOLD_MIN 512u

static uint32_t frame_icrc(struct roost_unsealed unsealed, const uint8_t *frame,
			   size_t len_bytes)
{
	return roost_icrc(frame + unsealed.l3_off_bytes, unsealed.ipv6,
			  len_bytes - unsealed.l3_off_bytes);
}

static void put_icrc(uint8_t *p, uint32_t icrc)
{
	uint32_t icrc_le = htole32(icrc);

	memcpy(p, &icrc_le, sizeof(icrc_le));
}

void roost_frame_seal_late(const struct roost_unsealed *unsealed,
			   uint8_t *frame, size_t len_bytes)
{
	put_icrc(frame + len_bytes, frame_icrc(*unsealed, frame, len_bytes));
}

void roost_frame_seal(const struct roost_hdr_template *t, uint8_t *frame,
		      size_t len_bytes)
{
	const struct roost_unsealed unsealed = roost_frame_unsealed(t);

	roost_frame_seal_late(&unsealed, frame, len_bytes);
}

/* Rare, so that put_bth() need not know of BECN. The ICRC takes its byte of the
 * BTH as ones.
 */
size_t roost_cnp_build(const struct roost_hdr_template *t, uint8_t *buf,
		       uint16_t pkey, uint32_t dest_qpn)
{
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_CNP,
		.pkey = pkey,
		.dest_qpn = dest_qpn,
	};
	size_t len = roost_hdr_emit(t, buf, &bth, ROOST_CNP_LEN);

	buf[len - ROOST_BTH_LEN + 4] |= BTH_BECN >> 24;
	memset(buf + len, 0, ROOST_CNP_LEN);
	len += ROOST_CNP_LEN;
	roost_frame_seal(t, buf, len);
	return len + ROOST_ICRC_LEN;
}

void roost_fill_begin(struct roost_fill *fill,
		      const struct roost_hdr_template *t, uint8_t *frame,
		      size_t len_bytes, size_t payload_bytes)
{
	*fill = (struct roost_fill){
		.t = t,
		.frame = frame,
		.len_bytes = len_bytes,
		.folding = payload_bytes >= FOLD_MIN,
	};
	if (fill->folding)
		fill->crc =
			frame_icrc(roost_frame_unsealed(t), frame, len_bytes);
}

void roost_fill_copy(struct roost_fill *fill, const void *src, size_t len_bytes)
{
	uint8_t *dst = fill->frame + fill->len_bytes;

	if (fill->folding)
		fill->crc = roost_crc_copy(fill->crc, dst, src, len_bytes,
					   &fill->gone);
	else if (roost_guard_copy(dst, src, len_bytes))
		fill->gone = true;
	fill->len_bytes += len_bytes;
}

size_t roost_fill_end(struct roost_fill *fill, size_t pad_bytes, bool *sealed)
{
	static const uint8_t zeros[4];

	if (pad_bytes > 0)
		roost_fill_copy(fill, zeros, pad_bytes);
	*sealed = fill->folding;
	if (fill->folding)
		put_icrc(fill->frame + fill->len_bytes, fill->crc);
	return fill->len_bytes + ROOST_ICRC_LEN;
}
