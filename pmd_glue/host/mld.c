/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/group_msg.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <string.h>

#include "pmd_glue/host/ip.h"

#define MLD_V2_REPORT 143 /* RFC 3810, 5.2 */
#define MLD_HOP_LIMIT 1
#define EXT_UNIT 8u /* extension headers are multiples of it */
#define MS 1000000ull

#define OFF_EXT ROOST_IPV6_PAYLOAD_OFF
/* In the frames that we send: after one option. */
#define OFF_MLD (OFF_EXT + EXT_UNIT)

static const struct roost_gid all_routers = {
	.b = { [0] = 0xff, [1] = 0x02, [15] = 0x02 },
};
static const struct roost_gid all_v2_routers = {
	.b = { [0] = 0xff, [1] = 0x02, [15] = 0x16 },
};

/* ---- parse ------------------------------------------------------------- */

/* The options of a hop-by-hop header; MLD's value is 0 (RFC 2711, 2.1). */
static bool has_router_alert(const uint8_t *opts, size_t len_bytes)
{
	size_t opt_bytes;

	while (len_bytes) {
		if (opts[0] == IP6OPT_PAD1) {
			opts++;
			len_bytes--;
			continue;
		}
		if (len_bytes < 2 || opts[1] > len_bytes - 2)
			return false;
		opt_bytes = 2u + opts[1];
		if (opts[0] == IP6OPT_ROUTER_ALERT)
			return opts[1] == 2 && opts[2] == 0 && opts[3] == 0;
		opts += opt_bytes;
		len_bytes -= opt_bytes;
	}
	return false;
}

/* Find the MLD message behind the hop-by-hop header: moves ip's payload. */
static int find_mld(const uint8_t *frame, size_t len_bytes,
		    struct roost_ip_packet *ip)
{
	struct ip6_hbh hbh;
	size_t ext_bytes;

	if (roost_ipv6_parse(frame, len_bytes, IPPROTO_HOPOPTS, ip) ||
	    ip->hop_limit != MLD_HOP_LIMIT || ip->len_bytes < sizeof(hbh))
		return -EINVAL;
	memcpy(&hbh, frame + OFF_EXT, sizeof(hbh));
	ext_bytes = (hbh.ip6h_len + 1u) * EXT_UNIT;
	if (hbh.ip6h_nxt != IPPROTO_ICMPV6 ||
	    ip->len_bytes < ext_bytes + sizeof(struct mld_hdr) ||
	    !has_router_alert(frame + OFF_EXT + sizeof(hbh),
			      ext_bytes - sizeof(hbh)))
		return -EINVAL;
	ip->off_bytes += ext_bytes;
	ip->len_bytes -= ext_bytes;
	return roost_icmp6_ok(ip->src.b, ip->dst.b, frame + ip->off_bytes,
			      ip->len_bytes)
		       ? 0
		       : -EINVAL;
}

/* The 16-bit floating point of a response time (RFC 3810, 5.1.3). */
static uint32_t code16(uint16_t code)
{
	if (code < 0x8000)
		return code;
	return (0x1000u | (code & 0xfffu)) << ((code >> 12 & 7) + 3);
}

/* The length of a query tells its version (RFC 3810, 8.1). */
static int parse_query(const struct mld_hdr *hdr, const uint8_t *rest,
		       size_t rest_bytes, struct roost_group_msg *msg)
{
	uint16_t code = rte_be_to_cpu_16(hdr->mld_maxdelay);

	msg->is_query = true;
	msg->is_general = roost_gid_is_zero(&msg->group);
	msg->version = ROOST_GROUP_V2;
	msg->max_resp_ns = code * MS;
	if (rest_bytes == 0)
		return 0;
	msg->max_resp_ns = code16(code) * MS;
	return roost_group_query_v3(msg, rest, rest_bytes, 16);
}

static int parse_message(const uint8_t *mld, size_t mld_bytes,
			 struct roost_group_msg *msg)
{
	struct mld_hdr hdr;

	memcpy(&hdr, mld, sizeof(hdr));
	memcpy(msg->group.b, &hdr.mld_addr, sizeof(msg->group.b));
	if (hdr.mld_type == MLD_LISTENER_QUERY)
		return parse_query(&hdr, mld + sizeof(hdr),
				   mld_bytes - sizeof(hdr), msg);
	msg->version = ROOST_GROUP_V2;
	/* A report is sent to the group that it reports. */
	return hdr.mld_type == MLD_LISTENER_REPORT &&
			       roost_gid_eq(&msg->group, &msg->dst)
		       ? 0
		       : -EINVAL;
}

static int parse(const uint8_t *frame, size_t len_bytes,
		 struct roost_group_msg *msg)
{
	struct roost_ip_packet ip;

	if (find_mld(frame, len_bytes, &ip))
		return -EINVAL;
	*msg = (struct roost_group_msg){ .src = ip.src, .dst = ip.dst };
	if (parse_message(frame + ip.off_bytes, ip.len_bytes, msg))
		return -EINVAL;
	/* The source may be :: in a report (RFC 3590), but not in a query. */
	if (!roost_gid_is_link_local(&msg->src) &&
	    (msg->is_query || !roost_gid_is_zero(&msg->src)))
		return -EINVAL;
	return msg->is_general || msg->group.b[0] == 0xff ? 0 : -EINVAL;
}

/* ---- build ------------------------------------------------------------- */

/* Write the headers and the checksum of an MLD message that is otherwise
 * complete. Returns the frame's length.
 */
static size_t wrap(uint8_t *frame, const struct roost_group_sender *self,
		   const struct roost_gid *dst, size_t mld_bytes)
{
	static const uint8_t ext[EXT_UNIT] = {
		IPPROTO_ICMPV6, 0, IP6OPT_ROUTER_ALERT, 2, 0, 0, IP6OPT_PADN, 0,
	};
	struct roost_ip_packet ip = {
		.src = self->ip,
		.dst = *dst,
		.hop_limit = MLD_HOP_LIMIT,
		.len_bytes = sizeof(ext) + mld_bytes,
	};
	uint8_t mac[6];

	roost_gid_multicast_mac(dst, mac);
	roost_ipv6_put(frame, mac, self->mac, IPPROTO_HOPOPTS, &ip);
	memcpy(frame + OFF_EXT, ext, sizeof(ext));
	roost_icmp6_seal(self->ip.b, dst->b, frame + OFF_MLD, mld_bytes);
	return OFF_MLD + mld_bytes;
}

static size_t build(const struct roost_group_sender *self,
		    enum roost_group_version version __attribute__((unused)),
		    bool leave, const struct roost_gid *group,
		    uint8_t frame[ROOST_GROUP_FRAME_LEN])
{
	struct mld_hdr hdr = {
		.mld_type =
			leave ? MLD_LISTENER_REDUCTION : MLD_LISTENER_REPORT,
	};

	memcpy(&hdr.mld_addr, group->b, sizeof(hdr.mld_addr));
	memcpy(frame + OFF_MLD, &hdr, sizeof(hdr));
	return wrap(frame, self, leave ? &all_routers : group, sizeof(hdr));
}

static void report_begin(struct roost_group_report *report,
			 uint32_t ip_mtu_bytes)
{
	roost_group_report_begin(report, OFF_MLD, ROOST_IP_OFF + ip_mtu_bytes,
				 16);
}

static size_t report_end(struct roost_group_report *report,
			 const struct roost_group_sender *self)
{
	roost_group_report_end(report, OFF_MLD, MLD_V2_REPORT);
	return wrap(report->frame, self, &all_v2_routers,
		    report->len_bytes - OFF_MLD);
}

const struct roost_group_protocol roost_mld = {
	.parse = parse,
	.build = build,
	.report_begin = report_begin,
	.report_end = report_end,
};
