/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/nd.h"

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/ip.h"

#define ND_HOP_LIMIT 255 /* not forwarded: the sender is on this link */
#define OPT_UNIT 8u      /* options are multiples of it */

struct mac_option {
	struct nd_opt_hdr hdr;
	uint8_t mac[6];
};

_Static_assert(sizeof(struct mac_option) == OPT_UNIT, "one unit");
/* A solicitation has the same layout, without flags. */
_Static_assert(sizeof(struct nd_neighbor_advert) ==
		       sizeof(struct nd_neighbor_solicit),
	       "target");

static uint8_t mac_option_of(enum roost_nd_type type)
{
	return type == ROOST_ND_SOLICIT ? ND_OPT_SOURCE_LINKADDR
					: ND_OPT_TARGET_LINKADDR;
}

/* Unknown options are skipped. */
static int parse_options(const uint8_t *p, size_t len_bytes,
			 struct roost_nd *nd)
{
	struct mac_option opt;
	size_t opt_bytes;

	nd->has_mac = false;
	for (; len_bytes; p += opt_bytes, len_bytes -= opt_bytes) {
		if (len_bytes < sizeof(opt))
			return -EINVAL;
		memcpy(&opt, p, sizeof(opt));
		opt_bytes = opt.hdr.nd_opt_len * OPT_UNIT;
		if (opt_bytes == 0 || opt_bytes > len_bytes)
			return -EINVAL;
		if (opt.hdr.nd_opt_type == mac_option_of(nd->type) &&
		    opt_bytes == sizeof(opt) && roost_mac_is_station(opt.mac)) {
			nd->has_mac = true;
			memcpy(nd->mac, opt.mac, sizeof(nd->mac));
		}
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
		       !(roost_gid_is_multicast(&nd->dst) && nd->solicited);
	if (roost_gid_is_zero(&nd->src))
		return roost_gid_eq(&nd->dst, &group) && !nd->has_mac;
	return true;
}

int roost_nd_parse(const uint8_t *frame, size_t len_bytes, struct roost_nd *nd)
{
	const uint8_t *icmp = frame + ROOST_IPV6_PAYLOAD_OFF;
	struct nd_neighbor_advert msg;
	struct roost_ip_packet ip;

	if (roost_ipv6_parse(frame, len_bytes, IPPROTO_ICMPV6, &ip) ||
	    ip.hop_limit != ND_HOP_LIMIT || ip.len_bytes < sizeof(msg))
		return -EINVAL;
	memcpy(&msg, icmp, sizeof(msg));
	if ((msg.nd_na_type != ROOST_ND_SOLICIT &&
	     msg.nd_na_type != ROOST_ND_ADVERT) ||
	    msg.nd_na_code != 0 ||
	    !roost_icmp6_ok(ip.src.b, ip.dst.b, icmp, ip.len_bytes))
		return -EINVAL;
	nd->type = (enum roost_nd_type)msg.nd_na_type;
	nd->src = ip.src;
	nd->dst = ip.dst;
	memcpy(nd->target.b, &msg.nd_na_target, sizeof(nd->target.b));
	nd->router = msg.nd_na_flags_reserved & ND_NA_FLAG_ROUTER;
	nd->solicited = msg.nd_na_flags_reserved & ND_NA_FLAG_SOLICITED;
	nd->override = msg.nd_na_flags_reserved & ND_NA_FLAG_OVERRIDE;
	if (parse_options(icmp + sizeof(msg), ip.len_bytes - sizeof(msg), nd))
		return -EINVAL;
	return addresses_fit(nd) ? 0 : -EINVAL;
}

size_t roost_nd_build(const struct roost_nd *nd, const uint8_t src_mac[6],
		      const uint8_t dst_mac[6],
		      uint8_t frame[ROOST_ND_FRAME_MAX])
{
	uint8_t *icmp = frame + ROOST_IPV6_PAYLOAD_OFF;
	struct nd_neighbor_advert msg = { .nd_na_type = (uint8_t)nd->type };
	struct mac_option opt = {
		.hdr.nd_opt_type = mac_option_of(nd->type),
		.hdr.nd_opt_len = 1,
	};
	struct roost_ip_packet ip = {
		.src = nd->src,
		.dst = nd->dst,
		.hop_limit = ND_HOP_LIMIT,
		.len_bytes = sizeof(msg) + (nd->has_mac ? sizeof(opt) : 0),
	};

	if (nd->type == ROOST_ND_ADVERT)
		msg.nd_na_flags_reserved =
			(nd->router ? ND_NA_FLAG_ROUTER : 0) |
			(nd->solicited ? ND_NA_FLAG_SOLICITED : 0) |
			(nd->override ? ND_NA_FLAG_OVERRIDE : 0);
	memcpy(&msg.nd_na_target, nd->target.b, sizeof(nd->target.b));
	memcpy(opt.mac, nd->mac, sizeof(opt.mac));
	memset(frame, 0, ROOST_ND_FRAME_MAX);
	roost_ipv6_put(frame, dst_mac, src_mac, IPPROTO_ICMPV6, &ip);
	memcpy(icmp, &msg, sizeof(msg));
	if (nd->has_mac)
		memcpy(icmp + sizeof(msg), &opt, sizeof(opt));
	roost_icmp6_seal(nd->src.b, nd->dst.b, icmp, ip.len_bytes);
	return ROOST_IPV6_PAYLOAD_OFF + ip.len_bytes;
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
