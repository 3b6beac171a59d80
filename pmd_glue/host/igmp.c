/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/igmp.h"

#include <errno.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"

#define PROTO_IGMP 2
#define TYPE_QUERY 0x11
#define TYPE_V1_REPORT 0x12
#define TYPE_V2_REPORT 0x16
#define TYPE_LEAVE 0x17
#define TYPE_V3_REPORT 0x22

#define IPV4_FRAGMENT_BITS 0x3fff /* more fragments, offset */
#define IPV4_DONT_FRAGMENT 0x4000
#define TOS_CONTROL 0xc0 /* internetwork control (RFC 3376, 4) */
#define OPT_END 0
#define OPT_NOP 1
#define OPT_ROUTER_ALERT 0x94
#define OPT_ROUTER_ALERT_LEN 4
#define ETH_LEN_MIN 60u

#define IGMP_LEN 8u      /* of V1 and V2 */
#define V3_QUERY_LEN 12u /* and sources */
#define TENTH_NS 100000000ull
#define S 1000000000ull
#define V1_MAX_RESP_NS (10 * S) /* RFC 2236, 4 */

/* Offsets from the start of the frame. */
enum {
	OFF_IP = ROOST_ETH_LEN,
	OFF_IP_LEN = OFF_IP + 2,
	OFF_IP_FRAG = OFF_IP + 6,
	OFF_IP_TTL = OFF_IP + 8,
	OFF_IP_PROTO = OFF_IP + 9,
	OFF_IP_SUM = OFF_IP + 10,
	OFF_IP_SRC = OFF_IP + 12,
	OFF_IP_DST = OFF_IP + 16,
	OFF_IP_OPTS = OFF_IP + ROOST_IPV4_LEN,
	/* In the frames that we send: after one option. */
	OFF_IGMP = OFF_IP_OPTS + OPT_ROUTER_ALERT_LEN,
	OFF_SUM = OFF_IGMP + 2,
	OFF_GROUP = OFF_IGMP + 4,
	OFF_NB_RECORDS = OFF_IGMP + 6,
	OFF_RECORDS = OFF_IGMP + 8,
};

static const uint8_t all_routers[4] = { 224, 0, 0, 2 };
static const uint8_t all_v3_routers[4] = { 224, 0, 0, 22 };

/* ---- parse ------------------------------------------------------------- */

static bool has_router_alert(const uint8_t *opts, size_t len_bytes)
{
	while (len_bytes && opts[0] != OPT_END) {
		if (opts[0] == OPT_NOP) {
			opts++;
			len_bytes--;
			continue;
		}
		if (len_bytes < 2 || opts[1] < 2 || opts[1] > len_bytes)
			return false;
		if (opts[0] == OPT_ROUTER_ALERT)
			return opts[1] == OPT_ROUTER_ALERT_LEN &&
			       opts[2] == 0 && opts[3] == 0;
		len_bytes -= opts[1];
		opts += opts[1];
	}
	return false;
}

/* Find the IGMP message in a complete, undamaged packet. */
static int find_igmp(const uint8_t *frame, size_t len_bytes,
		     const uint8_t **igmp, size_t *igmp_bytes)
{
	size_t hdr_bytes, ip_bytes;

	if (len_bytes < OFF_IP_OPTS ||
	    roost_ether_type(frame) != ROOST_ETHERTYPE_IPV4 ||
	    frame[OFF_IP] >> 4 != 4 || frame[OFF_IP_PROTO] != PROTO_IGMP)
		return -EINVAL;
	hdr_bytes = (size_t)(frame[OFF_IP] & 0xf) * 4;
	ip_bytes = roost_be16_get(frame + OFF_IP_LEN);
	if (hdr_bytes < ROOST_IPV4_LEN || ip_bytes < hdr_bytes + IGMP_LEN ||
	    ip_bytes > len_bytes - OFF_IP ||
	    (roost_be16_get(frame + OFF_IP_FRAG) & IPV4_FRAGMENT_BITS) ||
	    roost_inet_fold(roost_inet_sum(0, frame + OFF_IP, hdr_bytes)) != 0)
		return -EINVAL;
	*igmp = frame + OFF_IP + hdr_bytes;
	*igmp_bytes = ip_bytes - hdr_bytes;
	if (roost_inet_fold(roost_inet_sum(0, *igmp, *igmp_bytes)) != 0)
		return -EINVAL;
	return 0;
}

static int parse_v3_query(const uint8_t *igmp, size_t igmp_bytes,
			  struct roost_group_msg *msg)
{
	unsigned int nb = roost_be16_get(igmp + 10);

	if (nb > (igmp_bytes - V3_QUERY_LEN) / 4 || (msg->is_general && nb))
		return -EINVAL;
	msg->version = ROOST_GROUP_V3;
	msg->max_resp_ns = roost_group_code8(igmp[1]) * TENTH_NS;
	msg->robustness = igmp[8] & 7;
	msg->query_interval_ns = roost_group_code8(igmp[9]) * S;
	msg->nb_sources = nb;
	msg->sources = igmp + V3_QUERY_LEN;
	msg->addr_bytes = 4;
	return 0;
}

/* The length of a query tells its version (RFC 3376, 7.1). */
static int parse_query(const uint8_t *igmp, size_t igmp_bytes,
		       struct roost_group_msg *msg)
{
	msg->is_query = true;
	msg->is_general = roost_be32_get(igmp + 4) == 0;
	if (igmp_bytes >= V3_QUERY_LEN)
		return parse_v3_query(igmp, igmp_bytes, msg);
	if (igmp_bytes != IGMP_LEN)
		return -EINVAL;
	if (igmp[1] == 0) {
		msg->is_general = true;
		msg->version = ROOST_GROUP_V1;
		msg->max_resp_ns = V1_MAX_RESP_NS;
	} else {
		msg->version = ROOST_GROUP_V2;
		msg->max_resp_ns = igmp[1] * TENTH_NS;
	}
	return 0;
}

static int parse_report(const uint8_t *igmp, struct roost_group_msg *msg)
{
	msg->version =
		igmp[0] == TYPE_V1_REPORT ? ROOST_GROUP_V1 : ROOST_GROUP_V2;
	/* A report is sent to the group that it reports. */
	return roost_gid_eq(&msg->group, &msg->dst) ? 0 : -EINVAL;
}

int roost_igmp_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_group_msg *msg)
{
	const uint8_t *igmp;
	size_t igmp_bytes;
	int ret;

	ret = find_igmp(frame, len_bytes, &igmp, &igmp_bytes);
	if (ret)
		return ret;
	*msg = (struct roost_group_msg){
		.src = roost_gid_from_v4(frame + OFF_IP_SRC),
		.dst = roost_gid_from_v4(frame + OFF_IP_DST),
		.group = roost_gid_from_v4(igmp + 4),
	};
	if (igmp[0] == TYPE_QUERY)
		ret = parse_query(igmp, igmp_bytes, msg);
	else if (igmp[0] == TYPE_V1_REPORT || igmp[0] == TYPE_V2_REPORT)
		ret = parse_report(igmp, msg);
	else
		ret = -EINVAL;
	if (ret)
		return ret;
	if (roost_gid_is_multicast(&msg->src) ||
	    (!msg->is_general && !roost_gid_is_multicast(&msg->group)))
		return -EINVAL;
	if (msg->is_query && msg->version != ROOST_GROUP_V1 &&
	    !has_router_alert(frame + OFF_IP_OPTS,
			      (size_t)(igmp - (frame + OFF_IP_OPTS))))
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
	uint8_t mac[6];

	memset(frame, 0, OFF_IGMP);
	roost_gid_multicast_mac(&to, mac);
	roost_ether_put(frame, mac, self->mac, ROOST_ETHERTYPE_IPV4);
	frame[OFF_IP] = 4 << 4 | (OFF_IGMP - OFF_IP) / 4;
	frame[OFF_IP + 1] = TOS_CONTROL;
	roost_be16_put(frame + OFF_IP_LEN, (uint16_t)(end - OFF_IP));
	roost_be16_put(frame + OFF_IP_FRAG, IPV4_DONT_FRAGMENT);
	frame[OFF_IP_TTL] = 1;
	frame[OFF_IP_PROTO] = PROTO_IGMP;
	memcpy(frame + OFF_IP_SRC, &self->ip.b[12], 4);
	memcpy(frame + OFF_IP_DST, dst, 4);
	frame[OFF_IP_OPTS] = OPT_ROUTER_ALERT;
	frame[OFF_IP_OPTS + 1] = OPT_ROUTER_ALERT_LEN;
	roost_be16_put(frame + OFF_IP_SUM,
		       roost_inet_fold(roost_inet_sum(0, frame + OFF_IP,
						      OFF_IGMP - OFF_IP)));
	roost_be16_put(frame + OFF_SUM, 0);
	roost_be16_put(frame + OFF_SUM,
		       roost_inet_fold(roost_inet_sum(0, frame + OFF_IGMP,
						      igmp_bytes)));
	if (end < ETH_LEN_MIN) {
		memset(frame + end, 0, ETH_LEN_MIN - end);
		end = ETH_LEN_MIN;
	}
	return end;
}

size_t roost_igmp_build(const struct roost_group_sender *self,
			enum roost_group_version version, bool leave,
			const struct roost_gid *group,
			uint8_t frame[ROOST_GROUP_FRAME_LEN])
{
	const uint8_t *group_v4 = &group->b[12];

	frame[OFF_IGMP] = leave                       ? TYPE_LEAVE
			  : version == ROOST_GROUP_V1 ? TYPE_V1_REPORT
						      : TYPE_V2_REPORT;
	frame[OFF_IGMP + 1] = 0;
	memcpy(frame + OFF_GROUP, group_v4, 4);
	return wrap(frame, self, leave ? all_routers : group_v4, IGMP_LEN);
}

void roost_igmp_report_begin(struct roost_group_report *report,
			     uint32_t ip_mtu_bytes)
{
	roost_group_report_begin(report, OFF_RECORDS, OFF_IP + ip_mtu_bytes, 4);
}

size_t roost_igmp_report_end(struct roost_group_report *report,
			     const struct roost_group_sender *self)
{
	memset(report->frame + OFF_IGMP, 0, OFF_RECORDS - OFF_IGMP);
	report->frame[OFF_IGMP] = TYPE_V3_REPORT;
	roost_be16_put(report->frame + OFF_NB_RECORDS, report->nb_records);
	return wrap(report->frame, self, all_v3_routers,
		    report->len_bytes - OFF_IGMP);
}
