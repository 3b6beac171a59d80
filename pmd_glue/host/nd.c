/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/nd.h"

#include <errno.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"

#define IPPROTO_ICMP6 58
#define ND_HOP_LIMIT 255 /* not forwarded: the sender is on this link */
#define ND_FLAG_ROUTER 0x80
#define ND_FLAG_SOLICITED 0x40
#define ND_FLAG_OVERRIDE 0x20
#define ND_OPT_SOURCE_MAC 1
#define ND_OPT_TARGET_MAC 2
#define ND_OPT_MAC_LEN 8

/* Offsets from the start of the frame. */
enum {
	OFF_IP = ROOST_ETH_LEN,
	OFF_IP_LEN = OFF_IP + 4,
	OFF_IP_NEXT = OFF_IP + 6,
	OFF_IP_HOPS = OFF_IP + 7,
	OFF_IP_SRC = OFF_IP + 8,
	OFF_IP_DST = OFF_IP + 24,
	OFF_ICMP = OFF_IP + ROOST_IPV6_LEN,
	OFF_CODE = OFF_ICMP + 1,
	OFF_SUM = OFF_ICMP + 2,
	OFF_FLAGS = OFF_ICMP + 4,
	OFF_TARGET = OFF_ICMP + 8,
	OFF_OPTS = OFF_TARGET + 16,
};

static bool is_multicast(const struct roost_gid *gid)
{
	return gid->b[0] == 0xff;
}

/* The length of the ICMPv6 message, 0: this is none. */
static size_t icmp_len(const uint8_t *frame, size_t len_bytes)
{
	size_t icmp_bytes;

	if (len_bytes < OFF_OPTS ||
	    roost_ether_type(frame) != ROOST_ETHERTYPE_IPV6 ||
	    frame[OFF_IP] >> 4 != 6 || frame[OFF_IP_NEXT] != IPPROTO_ICMP6)
		return 0;
	icmp_bytes = roost_be16_get(frame + OFF_IP_LEN);
	if (icmp_bytes < OFF_OPTS - OFF_ICMP ||
	    icmp_bytes > len_bytes - OFF_ICMP)
		return 0;
	return icmp_bytes;
}

/* Options have units of eight bytes; unknown options are skipped. */
static int parse_options(const uint8_t *p, size_t len_bytes, uint8_t mac_type,
			 struct roost_nd *nd)
{
	nd->has_mac = false;
	while (len_bytes) {
		size_t opt_bytes;

		if (len_bytes < 8 || p[1] == 0)
			return -EINVAL;
		opt_bytes = (size_t)p[1] * 8;
		if (opt_bytes > len_bytes)
			return -EINVAL;
		if (p[0] == mac_type && opt_bytes == ND_OPT_MAC_LEN &&
		    roost_mac_is_station(p + 2)) {
			nd->has_mac = true;
			memcpy(nd->mac, p + 2, 6);
		}
		p += opt_bytes;
		len_bytes -= opt_bytes;
	}
	return 0;
}

/* What holds between the addresses (RFC 4861, 7.1.1 and 7.1.2). */
static bool addresses_fit(const struct roost_nd *nd)
{
	struct roost_gid group = roost_nd_solicited_node(&nd->target);

	if (!roost_gid_is_unicast(&nd->target) ||
	    !(roost_gid_is_zero(&nd->src) || roost_gid_is_unicast(&nd->src)))
		return false;
	/* No IPv4-mapped address in an IPv6 header (RFC 4291, 2.5.5.2) */
	if (roost_gid_is_v4(&nd->target) || roost_gid_is_v4(&nd->src) ||
	    roost_gid_is_v4(&nd->dst))
		return false;
	if (nd->type == ROOST_ND_ADVERT)
		return !roost_gid_is_zero(&nd->src) &&
		       !(is_multicast(&nd->dst) && nd->solicited);
	if (roost_gid_is_zero(&nd->src))
		return roost_gid_eq(&nd->dst, &group) && !nd->has_mac;
	return true;
}

int roost_nd_parse(const uint8_t *frame, size_t len_bytes, struct roost_nd *nd)
{
	size_t icmp_bytes = icmp_len(frame, len_bytes);
	uint32_t sum;

	if (icmp_bytes == 0 || frame[OFF_IP_HOPS] != ND_HOP_LIMIT ||
	    frame[OFF_CODE] != 0)
		return -EINVAL;
	if (frame[OFF_ICMP] != ROOST_ND_SOLICIT &&
	    frame[OFF_ICMP] != ROOST_ND_ADVERT)
		return -EINVAL;
	sum = roost_icmp6_sum(frame + OFF_IP_SRC, frame + OFF_IP_DST,
			      icmp_bytes);
	if (roost_inet_fold(
		    roost_inet_sum(sum, frame + OFF_ICMP, icmp_bytes)) != 0)
		return -EINVAL;
	nd->type = (enum roost_nd_type)frame[OFF_ICMP];
	memcpy(nd->src.b, frame + OFF_IP_SRC, 16);
	memcpy(nd->dst.b, frame + OFF_IP_DST, 16);
	memcpy(nd->target.b, frame + OFF_TARGET, 16);
	nd->router = frame[OFF_FLAGS] & ND_FLAG_ROUTER;
	nd->solicited = frame[OFF_FLAGS] & ND_FLAG_SOLICITED;
	nd->override = frame[OFF_FLAGS] & ND_FLAG_OVERRIDE;
	if (parse_options(frame + OFF_OPTS, icmp_bytes - (OFF_OPTS - OFF_ICMP),
			  nd->type == ROOST_ND_SOLICIT ? ND_OPT_SOURCE_MAC
						       : ND_OPT_TARGET_MAC,
			  nd))
		return -EINVAL;
	return addresses_fit(nd) ? 0 : -EINVAL;
}

size_t roost_nd_build(const struct roost_nd *nd, const uint8_t src_mac[6],
		      const uint8_t dst_mac[6],
		      uint8_t frame[ROOST_ND_FRAME_MAX])
{
	size_t end = OFF_OPTS + (nd->has_mac ? ND_OPT_MAC_LEN : 0);
	size_t icmp_bytes = end - OFF_ICMP;
	uint32_t sum;

	memset(frame, 0, ROOST_ND_FRAME_MAX);
	roost_ether_put(frame, dst_mac, src_mac, ROOST_ETHERTYPE_IPV6);
	frame[OFF_IP] = 0x60;
	roost_be16_put(frame + OFF_IP_LEN, (uint16_t)icmp_bytes);
	frame[OFF_IP_NEXT] = IPPROTO_ICMP6;
	frame[OFF_IP_HOPS] = ND_HOP_LIMIT;
	memcpy(frame + OFF_IP_SRC, nd->src.b, 16);
	memcpy(frame + OFF_IP_DST, nd->dst.b, 16);
	frame[OFF_ICMP] = (uint8_t)nd->type;
	if (nd->type == ROOST_ND_ADVERT)
		frame[OFF_FLAGS] =
			(uint8_t)((nd->router ? ND_FLAG_ROUTER : 0) |
				  (nd->solicited ? ND_FLAG_SOLICITED : 0) |
				  (nd->override ? ND_FLAG_OVERRIDE : 0));
	memcpy(frame + OFF_TARGET, nd->target.b, 16);
	if (nd->has_mac) {
		frame[OFF_OPTS] = nd->type == ROOST_ND_SOLICIT
					  ? ND_OPT_SOURCE_MAC
					  : ND_OPT_TARGET_MAC;
		frame[OFF_OPTS + 1] = ND_OPT_MAC_LEN / 8;
		memcpy(frame + OFF_OPTS + 2, nd->mac, 6);
	}
	sum = roost_icmp6_sum(nd->src.b, nd->dst.b, icmp_bytes);
	roost_be16_put(frame + OFF_SUM,
		       roost_inet_fold(roost_inet_sum(sum, frame + OFF_ICMP,
						      icmp_bytes)));
	return end;
}

struct roost_gid roost_nd_link_local(const uint8_t mac[6])
{
	struct roost_gid gid = { .b = { [0] = 0xfe, [1] = 0x80 } };

	memcpy(&gid.b[8], mac, 3);
	gid.b[8] ^= 2; /* the universal/local bit is inverted */
	gid.b[11] = 0xff;
	gid.b[12] = 0xfe;
	memcpy(&gid.b[13], mac + 3, 3);
	return gid;
}

struct roost_gid roost_nd_solicited_node(const struct roost_gid *target)
{
	struct roost_gid group = {
		.b = { [0] = 0xff, [1] = 0x02, [11] = 0x01, [12] = 0xff },
	};

	memcpy(&group.b[13], &target->b[13], 3);
	return group;
}

void roost_nd_group_mac(const struct roost_gid *group, uint8_t mac[6])
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, &group->b[12], 4);
}
