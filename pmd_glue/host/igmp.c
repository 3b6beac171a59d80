/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/group_msg.h"

#include <errno.h>
#include <linux/igmp.h>
#include <netinet/ip.h>
#include <string.h>

#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/ip.h"

#define OPT_ROUTER_ALERT_LEN 4
#define ETH_LEN_MIN 60u

#define TENTH_NS 100000000ull
#define V1_MAX_RESP_NS 10000000000ull /* RFC 2236, 4 */

/* What we send in front of an IGMP message. */
struct headers {
	struct rte_ether_hdr ether;
	struct rte_ipv4_hdr ip;
	uint8_t option[OPT_ROUTER_ALERT_LEN];
};

#define OFF_IGMP sizeof(struct headers)
_Static_assert(OFF_IGMP == 38, "no padding");

static const uint8_t all_routers[4] = { 224, 0, 0, 2 };
static const uint8_t all_v3_routers[4] = { 224, 0, 0, 22 };

/* ---- parse ------------------------------------------------------------- */

static bool has_router_alert(const uint8_t *opts, size_t len_bytes)
{
	while (len_bytes && opts[0] != IPOPT_END) {
		if (opts[0] == IPOPT_NOP) {
			opts++;
			len_bytes--;
			continue;
		}
		if (len_bytes < 2 || opts[1] < 2 || opts[1] > len_bytes)
			return false;
		if (opts[0] == IPOPT_RA)
			return opts[1] == OPT_ROUTER_ALERT_LEN &&
			       opts[2] == 0 && opts[3] == 0;
		len_bytes -= opts[1];
		opts += opts[1];
	}
	return false;
}

/* The length of a query tells its version (RFC 3376, 7.1). */
static int parse_query(const struct igmphdr *hdr, const uint8_t *rest,
		       size_t rest_bytes, struct roost_group_msg *msg)
{
	msg->is_query = true;
	msg->is_general = hdr->group == 0;
	if (rest_bytes) {
		msg->max_resp_ns = roost_group_code8(hdr->code) * TENTH_NS;
		return roost_group_query_v3(msg, rest, rest_bytes, 4);
	}
	if (hdr->code == 0) {
		msg->is_general = true;
		msg->version = ROOST_GROUP_V1;
		msg->max_resp_ns = V1_MAX_RESP_NS;
	} else {
		msg->version = ROOST_GROUP_V2;
		msg->max_resp_ns = hdr->code * TENTH_NS;
	}
	return 0;
}

static int parse_message(const uint8_t *igmp, size_t igmp_bytes,
			 struct roost_group_msg *msg)
{
	struct igmphdr hdr;

	if (igmp_bytes < sizeof(hdr) ||
	    rte_raw_cksum(igmp, igmp_bytes) != ROOST_INET_OK)
		return -EINVAL;
	memcpy(&hdr, igmp, sizeof(hdr));
	msg->group = roost_gid_from_v4((const uint8_t *)&hdr.group);
	if (hdr.type == IGMP_HOST_MEMBERSHIP_QUERY)
		return parse_query(&hdr, igmp + sizeof(hdr),
				   igmp_bytes - sizeof(hdr), msg);
	if (hdr.type == IGMP_HOST_MEMBERSHIP_REPORT)
		msg->version = ROOST_GROUP_V1;
	else if (hdr.type == IGMPV2_HOST_MEMBERSHIP_REPORT)
		msg->version = ROOST_GROUP_V2;
	else
		return -EINVAL;
	/* A report is sent to the group that it reports. */
	return roost_gid_eq(&msg->group, &msg->dst) ? 0 : -EINVAL;
}

static int parse(const uint8_t *frame, size_t len_bytes,
		 struct roost_group_msg *msg)
{
	const size_t opts = ROOST_IP_OFF + sizeof(struct rte_ipv4_hdr);
	struct roost_ip_packet ip;

	if (roost_ipv4_parse(frame, len_bytes, IPPROTO_IGMP, &ip))
		return -EINVAL;
	*msg = (struct roost_group_msg){ .src = ip.src, .dst = ip.dst };
	if (parse_message(frame + ip.off_bytes, ip.len_bytes, msg) ||
	    roost_gid_is_multicast(&msg->src) ||
	    (!msg->is_general && !roost_gid_is_multicast(&msg->group)))
		return -EINVAL;
	if (msg->is_query && msg->version != ROOST_GROUP_V1 &&
	    !has_router_alert(frame + opts, ip.off_bytes - opts))
		return -EINVAL;
	return 0;
}

/* ---- build ------------------------------------------------------------- */

/* Write the headers and the checksum of an IGMP message that is otherwise
 * complete. Returns the frame's length.
 */
static size_t wrap(uint8_t *frame, const struct roost_group_sender *self,
		   const uint8_t dst[4], size_t igmp_bytes)
{
	struct roost_gid to = roost_gid_from_v4(dst);
	size_t end = OFF_IGMP + igmp_bytes;
	struct headers h = {
		.ip.version_ihl =
			IPVERSION << 4 | (OFF_IGMP - ROOST_IP_OFF) / 4,
		.ip.type_of_service = IPTOS_PREC_INTERNETCONTROL,
		.ip.total_length =
			rte_cpu_to_be_16((uint16_t)(end - ROOST_IP_OFF)),
		.ip.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.ip.time_to_live = 1,
		.ip.next_proto_id = IPPROTO_IGMP,
		.option = { IPOPT_RA, OPT_ROUTER_ALERT_LEN },
	};
	uint8_t mac[6];

	memcpy(&h.ip.src_addr, &self->ip.b[12], sizeof(h.ip.src_addr));
	memcpy(&h.ip.dst_addr, dst, sizeof(h.ip.dst_addr));
	memcpy(frame, &h, sizeof(h));
	roost_gid_multicast_mac(&to, mac);
	roost_ether_put(frame, mac, self->mac, RTE_ETHER_TYPE_IPV4);
	roost_inet_seal(frame + offsetof(struct headers, ip.hdr_checksum),
			frame + ROOST_IP_OFF, OFF_IGMP - ROOST_IP_OFF);
	roost_inet_seal(frame + OFF_IGMP + offsetof(struct igmphdr, csum),
			frame + OFF_IGMP, igmp_bytes);
	if (end < ETH_LEN_MIN) {
		memset(frame + end, 0, ETH_LEN_MIN - end);
		end = ETH_LEN_MIN;
	}
	return end;
}

static size_t build(const struct roost_group_sender *self,
		    enum roost_group_version version, bool leave,
		    const struct roost_gid *group,
		    uint8_t frame[ROOST_GROUP_FRAME_LEN])
{
	const uint8_t *group_v4 = &group->b[12];
	struct igmphdr hdr = {
		.type = leave ? IGMP_HOST_LEAVE_MESSAGE
			: version == ROOST_GROUP_V1
				? IGMP_HOST_MEMBERSHIP_REPORT
				: IGMPV2_HOST_MEMBERSHIP_REPORT,
	};

	memcpy(&hdr.group, group_v4, sizeof(hdr.group));
	memcpy(frame + OFF_IGMP, &hdr, sizeof(hdr));
	return wrap(frame, self, leave ? all_routers : group_v4, sizeof(hdr));
}

static void report_begin(struct roost_group_report *report,
			 uint32_t ip_mtu_bytes)
{
	roost_group_report_begin(report, OFF_IGMP, ROOST_IP_OFF + ip_mtu_bytes,
				 4);
}

static size_t report_end(struct roost_group_report *report,
			 const struct roost_group_sender *self)
{
	roost_group_report_end(report, OFF_IGMP, IGMPV3_HOST_MEMBERSHIP_REPORT);
	return wrap(report->frame, self, all_v3_routers,
		    report->len_bytes - OFF_IGMP);
}

const struct roost_group_protocol roost_igmp = {
	.parse = parse,
	.build = build,
	.report_begin = report_begin,
	.report_end = report_end,
};
