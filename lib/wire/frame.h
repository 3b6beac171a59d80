/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_FRAME_H
#define ROOST_WIRE_FRAME_H

/*
 * RoCEv2 frames, outer to inner: Ethernet [802.1Q] IPv4|IPv6 UDP BTH
 * [extension headers] [payload] [pad] ICRC.
 *
 * Parse in three steps, so that the caller can look between them in the order
 * that is safe: roost_frame_parse() finds the BTH, the caller checks that the
 * destination is its own, roost_frame_icrc_ok() proves the bytes, and only
 * then roost_pkt_parse() believes the BTH. Nothing here keeps state, reads a
 * clock or allocates; every length is known positive before it is subtracted.
 *
 * Build with a per-path template that holds all constant bytes: emit it, add
 * extension headers and payload behind it, then seal with the ICRC.
 *
 * Thread: any, for every function here; memory stays the caller's.
 *
 * Sources: IBTA 9.2, 9.3, Annex A17 (RoCEv2).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/drop.h>
#include <roost/gid.h>
#include "lib/wire/opcode.h"
#include "lib/wire/psn.h"

#define ROOST_UDP_PORT 4791
#define ROOST_ETH_LEN 14u
#define ROOST_VLAN_LEN 4u
#define ROOST_IPV4_LEN 20u
#define ROOST_IPV6_LEN 40u
#define ROOST_UDP_LEN 8u
#define ROOST_BTH_LEN 12u
#define ROOST_ICRC_LEN 4u
#define ROOST_PATH_HDR_MAX                                                     \
	(ROOST_ETH_LEN + ROOST_VLAN_LEN + ROOST_IPV6_LEN + ROOST_UDP_LEN +     \
	 ROOST_BTH_LEN)
/* The largest size of headers and trailer around a payload, in bytes: XRCETH
 * and ATOMICETH behind the BTH, and pad and ICRC.
 */
#define ROOST_FRAME_OVERHEAD_MAX                                               \
	(ROOST_PATH_HDR_MAX + ROOST_XRCETH_LEN + ROOST_ATOMICETH_LEN + 3u +    \
	 ROOST_ICRC_LEN)
/* The largest overhead of IP and transport headers around a path-MTU payload
 * (IPv6, RETH, ImmDt), in bytes.
 */
#define ROOST_IP_OVERHEAD_MAX                                                  \
	(ROOST_IPV6_LEN + ROOST_UDP_LEN + ROOST_BTH_LEN + ROOST_XRCETH_LEN +   \
	 ROOST_RETH_LEN + ROOST_IMMDT_LEN + ROOST_ICRC_LEN)

/* ---- receive ---------------------------------------------------------- */

enum roost_frame_class {
	ROOST_FRAME_ROCE,  /* UDP to port 4791: frame is filled in */
	ROOST_FRAME_OTHER, /* ARP, ND, ICMP and all other frames */
	ROOST_FRAME_BAD,   /* RoCEv2 but broken, or any frame with two tags:
			    * frame->drop has the reason */
};

/* The outer headers of a frame. Pointers point into the frame given. */
struct roost_frame {
	const uint8_t *l3; /* IP header */
	const uint8_t *bth;
	/* The IP header in the whole frame, if l3 and bth point into a copy of
	 * its headers; NULL: they point into the frame. Writer: the receiver.
	 */
	const uint8_t *whole_l3;
	uint16_t l3_len_bytes; /* from l3 to the end of the ICRC */
	uint16_t ib_len_bytes; /* from bth to the end of the ICRC */
	bool ipv6;
	uint8_t tclass;      /* IPv4 TOS or IPv6 traffic class */
	uint8_t hop_limit;   /* TTL or hop limit */
	uint8_t drop;        /* enum roost_drop, for ROOST_FRAME_BAD */
	uint32_t flow_label; /* IPv6; 0 for IPv4 */
	uint16_t udp_src;
	uint16_t vlan_tci; /* 0: untagged, or tagged with VLAN 0, priority 0 */
	uint8_t src_mac[6];
	bool looped; /* writer: the receiver; true: this device sent the frame,
		      * and it was on no wire */
	uint32_t from; /* writer: the receiver; who sent it, in the port's
			* numbers; 0: not known, or anybody may have */
	struct roost_gid sgid; /* source address */
	struct roost_gid dgid; /* destination address */
};

/*
 * Classify len bytes at data and fill *frame for ROOST_FRAME_ROCE.
 * IP trailing padding (Ethernet minimum size) is cut off by the IP length. A
 * frame that leads to port 4791 is BAD if it has IPv4 options, IPv6 extension
 * headers before UDP, a wrong IPv4 header checksum, a UDP length that disagrees
 * with IP, a source that no host can have, or an IPv4 address in an IPv6
 * header, or if it is a first fragment. A frame that does not show its UDP
 * header (a runt or a later fragment) is OTHER. Reads only inside [data, data +
 * len). A UDP checksum is not checked: the ICRC covers more (Annex A17.9.2
 * sends 0).
 * Returns the class. For OTHER, *frame is undefined except vlan_tci; for BAD,
 * except vlan_tci and drop. Of a frame of IPv4, or of IPv6 whose next header is
 * UDP, no byte behind the BTH is read.
 */
enum roost_frame_class roost_frame_parse(const void *data, size_t len,
					 struct roost_frame *frame);

/*
 * Outer headers that were parsed. The frames of a flow have the same bytes
 * before the BTH as long as they have the same length, and the same bytes are
 * parsed to the same: they need only be compared. All zeros: none yet.
 */
#define ROOST_KNOWN_MAX 64u
struct roost_frame_known {
	uint8_t bytes[ROOST_KNOWN_MAX]; /* Ethernet to UDP */
	uint16_t len_bytes;             /* of them; 0: none is known */
	uint16_t whole_bytes;           /* the least length of the frame */
	struct roost_frame frame;
};

/* As roost_frame_parse(), which fills known->frame; remembers the headers if
 * the frame is a ROOST_FRAME_ROCE.
 */
enum roost_frame_class roost_frame_learn(struct roost_frame_known *known,
					 const void *data, size_t len);

typedef uint64_t roost_frame_v16
	__attribute__((vector_size(16), may_alias, aligned(1)));

/* True if the frame is a ROOST_FRAME_ROCE whose headers are known: then
 * known->frame is filled in, with pointers into it.
 */
static inline bool roost_frame_is_known(struct roost_frame_known *known,
					const uint8_t *data, size_t len)
{
	const roost_frame_v16 *head = (const void *)data, *tail;
	const roost_frame_v16 *known_head = (const void *)known->bytes;
	const roost_frame_v16 *known_tail;
	roost_frame_v16 differ;

	if (known->len_bytes == 0 || len < known->whole_bytes)
		return false;
	tail = (const void *)(data + known->len_bytes);
	known_tail = (const void *)(known->bytes + known->len_bytes);
	differ = (head[0] ^ known_head[0]) | (head[1] ^ known_head[1]) |
		 (tail[-2] ^ known_tail[-2]) | (tail[-1] ^ known_tail[-1]);
	if ((differ[0] | differ[1]) != 0)
		return false;
	known->frame.bth = data + known->len_bytes;
	known->frame.l3 = known->frame.bth - (known->frame.l3_len_bytes -
					      known->frame.ib_len_bytes);
	return true;
}

/* The ECN field: the low two bits of the traffic class (RFC 3168). */
#define ROOST_ECN_MASK 0x03u
#define ROOST_ECN_ECT0 0x02u /* switches may mark the packet */
#define ROOST_ECN_CE 0x03u   /* a switch has marked it: congestion */

static inline bool roost_frame_is_marked(const struct roost_frame *frame)
{
	return (frame->tclass & ROOST_ECN_MASK) == ROOST_ECN_CE;
}

static inline uint32_t roost_bth_dest_qpn(const uint8_t *bth)
{
	return (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7];
}

/* The destination QPN of a ROOST_FRAME_ROCE, before any other check of the
 * frame.
 */
static inline uint32_t roost_frame_dest_qpn(const struct roost_frame *frame)
{
	return roost_bth_dest_qpn(frame->bth);
}

/* The address of the BTH, on the unchecked assumption that the frame is RoCEv2;
 * for prefetching. NULL: the frame is too short, or is not IP without options.
 */
const uint8_t *roost_frame_guess_bth(const void *data, size_t len);

/* Recompute the ICRC over a ROOST_FRAME_ROCE and compare. */
bool roost_frame_icrc_ok(const struct roost_frame *frame);

/* The same for a frame of which only the headers were parsed, in a copy; l3:
 * the IP header in the whole frame.
 */
bool roost_frame_icrc_ok_at(const struct roost_frame *frame, const uint8_t *l3);

/* A checked packet: BTH and extension headers in host order. */
struct roost_pkt {
	const struct roost_opcode_info *info; /* never NULL once parsed */
	uint8_t opcode;
	uint8_t pad_bytes; /* 0..3 */
	uint16_t vlan_tci; /* as in struct roost_frame */
	bool ipv6;
	bool solicited;
	bool migreq;
	bool ackreq;
	bool selective; /* as in struct roost_bth */
	bool fecn;
	bool becn;
	uint16_t pkey;
	uint32_t dest_qpn;
	struct roost_psn psn;
	const uint8_t *payload;
	uint16_t payload_len_bytes; /* pad not counted */
	/* Extension headers; each valid when info->hdrs has its bit. */
	uint32_t xrc_srqn;
	uint32_t qkey, src_qpn;     /* DETH */
	uint32_t flush_type;        /* FETH: placement type, 4 bits */
	uint32_t flush_level;       /* FETH: selectivity level, 2 bits */
	uint64_t va;                /* RETH, AtomicETH */
	uint32_t rkey;              /* RETH, AtomicETH */
	uint32_t dma_len_bytes;     /* RETH */
	uint64_t swap_add, compare; /* AtomicETH */
	uint8_t syndrome;           /* AETH */
	uint32_t msn;               /* AETH, 24 bits */
	uint64_t orig;              /* AtomicAckETH */
	uint32_t imm_be;            /* ImmDt, as it stands on the wire */
	uint32_t inv_rkey;          /* IETH */
};

/*
 * Check TVer, opcode and lengths, in that order, and decode.
 * Returns ROOST_DROP_NONE or the reason; *pkt is undefined then.
 */
enum roost_drop roost_pkt_parse(const struct roost_frame *frame,
				struct roost_pkt *pkt);

/* ---- VLANs (802.1Q) ---------------------------------------------------- */

#define ROOST_VLAN_ID_MAX 4094u
#define ROOST_VLAN_ID_MASK 0xfffu
#define ROOST_VLAN_PCP_SHIFT 13

/* The VLAN ID of a tag; 0: none, the tag gives a priority only. */
static inline uint16_t roost_vlan_id(uint16_t tci)
{
	return tci & ROOST_VLAN_ID_MASK;
}

/* pcp: the priority, 0 to 7. */
static inline uint16_t roost_vlan_tci(uint16_t id, uint8_t pcp)
{
	return (uint16_t)(pcp << ROOST_VLAN_PCP_SHIFT | id);
}

/* ---- transmit --------------------------------------------------------- */

/* The header fields that are equal in all packets of one path. */
struct roost_flow {
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	bool tagged; /* insert an 802.1Q tag with vlan_tci */
	uint16_t vlan_tci;
	struct roost_gid sgid; /* both v4-mapped or both IPv6 */
	struct roost_gid dgid;
	uint8_t tclass;
	uint8_t hop_limit;
	uint32_t flow_label; /* IPv6 only, 20 bits */
	uint16_t udp_src;    /* 0xC000..0xFFFF */
};

#define ROOST_ETHERTYPE_ROCE_V1 0x8915u

/* Constant bytes of a path, Ethernet to BTH. */
struct roost_hdr_template {
	uint32_t ipv4_sum;    /* checksum of the constant words, not folded */
	uint8_t len_bytes;    /* Ethernet .. BTH */
	uint8_t l3_off_bytes; /* 14 or 18 */
	bool ipv6;
	uint8_t bytes[ROOST_PATH_HDR_MAX];
};

/*
 * Fill in *t for packets of this flow. IPv4: DF set, id 0. UDP checksum 0 (IPv4
 * and IPv6: RFC 6936, A17).
 */
void roost_hdr_template_init(struct roost_hdr_template *t,
			     const struct roost_flow *flow);

/* The destination has another MAC (neighbour update): replace it. */
void roost_hdr_template_set_dst_mac(struct roost_hdr_template *t,
				    const uint8_t mac[6]);

/* This port has another MAC: replace it. */
void roost_hdr_template_set_src_mac(struct roost_hdr_template *t,
				    const uint8_t mac[6]);

/* Packets of the flow have another traffic class: replace it. A VLAN tag keeps
 * its priority.
 */
void roost_hdr_template_set_tclass(struct roost_hdr_template *t,
				   uint8_t tclass);

/* The priority of the VLAN tag, 0 to 7; does nothing without a tag. */
void roost_hdr_template_set_priority(struct roost_hdr_template *t,
				     uint8_t priority);

struct roost_bth {
	uint8_t opcode;    /* enum roost_opcode */
	uint8_t pad_bytes; /* 0..3 */
	bool solicited;
	bool migreq;
	bool ackreq;
	/* The sender can repeat selectively (doc/protocol.md): the upper one of
	 * the seven reserved bits beside AckReq.
	 */
	bool selective;
	uint16_t pkey;
	uint32_t dest_qpn;
	struct roost_psn psn;
};

/*
 * Write Ethernet..BTH at buf. after_bth_bytes: all that will follow the BTH,
 * extension headers, payload and pad, without the ICRC; small enough for IP's
 * 16-bit length. Writes nothing behind the BTH.
 * Returns the number of bytes written (t->len_bytes).
 */
size_t roost_hdr_emit(const struct roost_hdr_template *t, uint8_t *buf,
		      const struct roost_bth *bth, size_t after_bth_bytes);

/* A whole CNP (A17.9.3): BECN set, PSN 0, 16 bytes of zeros. Returns the
 * length of the frame with its ICRC, at most ROOST_CNP_FRAME_MAX.
 */
#define ROOST_CNP_FRAME_MAX                                                    \
	(ROOST_PATH_HDR_MAX + ROOST_CNP_LEN + ROOST_ICRC_LEN)
size_t roost_cnp_build(const struct roost_hdr_template *t, uint8_t *buf,
		       uint16_t pkey, uint32_t dest_qpn);

/*
 * A report (ROOST_OPCODE_REPORT): its PSN is the first request packet that is
 * missing. Bit i of the payload, counted from the lowest bit of the first byte,
 * says that the packet at PSN + 1 + i was received; the last word has a bit
 * set. One word of 32 bits at least, and so many at most.
 */
#define ROOST_REPORT_MAX_BITS 1024u

/* Extension headers; each writes its fixed length at p. */
void roost_xrceth_put(uint8_t *p, uint32_t srqn);
void roost_deth_put(uint8_t *p, uint32_t qkey, uint32_t src_qpn);
void roost_feth_put(uint8_t *p, uint32_t type, uint32_t level);
void roost_reth_put(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t len);
void roost_atomiceth_put(uint8_t *p, uint64_t va, uint32_t rkey,
			 uint64_t swap_add, uint64_t compare);
void roost_aeth_put(uint8_t *p, uint8_t syndrome, uint32_t msn);
void roost_atomicacketh_put(uint8_t *p, uint64_t orig);
void roost_immdt_put(uint8_t *p, uint32_t imm_be);
void roost_ieth_put(uint8_t *p, uint32_t rkey);

/*
 * Compute the ICRC over frame[0 .. len_bytes) and store it behind: the frame
 * is then len_bytes + ROOST_ICRC_LEN long. t is the template it came from.
 */
void roost_frame_seal(const struct roost_hdr_template *t, uint8_t *frame,
		      size_t len_bytes);

/* Position of the IP header in a frame that has no ICRC yet. */
struct roost_unsealed {
	uint8_t l3_off_bytes; /* 0: the frame is sealed */
	bool ipv6;
};

static inline struct roost_unsealed
roost_frame_unsealed(const struct roost_hdr_template *t)
{
	return (struct roost_unsealed){ t->l3_off_bytes, t->ipv6 };
}
/* As roost_frame_seal(), with roost_frame_unsealed() of the template. */
void roost_frame_seal_late(const struct roost_unsealed *unsealed,
			   uint8_t *frame, size_t len_bytes);

/*
 * A frame while its payload is copied behind the headers, in any number of
 * pieces. A long payload is folded into the ICRC while it is copied. For a
 * short payload, reading the whole frame once more costs less. The caller does
 * that (roost_frame_seal_late()), some time after the frame was written, when
 * it costs least: small stores can then be read back by large loads.
 */
struct roost_fill {
	const struct roost_hdr_template *t;
	uint8_t *frame;
	size_t len_bytes; /* present length */
	bool folding;
	bool gone;    /* some of what was copied; zeros stand for it */
	uint32_t crc; /* of the present bytes, while folding */
};

/* Begin. The frame holds len_bytes of headers; payload_bytes will follow. */
void roost_fill_begin(struct roost_fill *fill,
		      const struct roost_hdr_template *t, uint8_t *frame,
		      size_t len_bytes, size_t payload_bytes);
/* Append from src, an application's memory (lib/wire/guard.h). */
void roost_fill_copy(struct roost_fill *fill, const void *src,
		     size_t len_bytes);
/* Append pad_bytes (0..3), and the ICRC if the payload was folded. Returns the
 * length of the frame with its ICRC; *sealed: the ICRC is filled in.
 */
size_t roost_fill_end(struct roost_fill *fill, size_t pad_bytes, bool *sealed);

/* ---- AETH syndromes (IBTA 9.7.5.1) ------------------------------------ */

#define ROOST_AETH_ACK 0x00u     /* + credit count in the low five bits */
#define ROOST_AETH_RNR_NAK 0x20u /* + RNR timer code in the low five bits */
#define ROOST_AETH_NAK 0x60u     /* + NAK code in the low five bits */
#define ROOST_AETH_TYPE_MASK 0xe0u
#define ROOST_AETH_VALUE_MASK 0x1fu
#define ROOST_AETH_CREDIT_INVALID 0x1fu /* no end-to-end credits */
#define ROOST_NAK_PSN_SEQ 0x60u
#define ROOST_NAK_INV_REQ 0x61u
#define ROOST_NAK_REM_ACCESS 0x62u
#define ROOST_NAK_REM_OP 0x63u

/* RNR timer code (0..31) to its delay (IBTA table 45), in ns. */
uint64_t roost_rnr_timer_ns(uint8_t code);

#endif
