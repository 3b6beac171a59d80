/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/mld.h"

#include <errno.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"

#define NEXT_HOP_BY_HOP 0
#define NEXT_ICMP6 58
#define TYPE_QUERY 130
#define TYPE_V1_REPORT 131
#define TYPE_V1_DONE 132
#define TYPE_V2_REPORT 143

#define MLD_HOP_LIMIT 1
#define OPT_PAD1 0
#define OPT_PADN 1
#define OPT_ROUTER_ALERT 5
#define EXT_UNIT 8u /* extension headers are multiples of it */

#define MLD_LEN 24u      /* of MLDv1 */
#define V2_QUERY_LEN 28u /* and sources */
#define MS 1000000ull
#define S (1000 * MS)

/* Offsets from the start of the frame. */
enum {
	OFF_IP = ROOST_ETH_LEN,
	OFF_IP_LEN = OFF_IP + 4,
	OFF_IP_NEXT = OFF_IP + 6,
	OFF_IP_HOPS = OFF_IP + 7,
	OFF_IP_SRC = OFF_IP + 8,
	OFF_IP_DST = OFF_IP + 24,
	OFF_EXT = OFF_IP + ROOST_IPV6_LEN,
	/* In the frames that we send: after one option. */
	OFF_MLD = OFF_EXT + EXT_UNIT,
	OFF_SUM = OFF_MLD + 2,
	OFF_NB_RECORDS = OFF_MLD + 6,
	OFF_GROUP = OFF_MLD + 8, /* of MLDv1 */
	OFF_RECORDS = OFF_MLD + 8,
};

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
		if (opts[0] == OPT_PAD1) {
			opts++;
			len_bytes--;
			continue;
		}
		if (len_bytes < 2 || opts[1] > len_bytes - 2)
			return false;
		opt_bytes = 2u + opts[1];
		if (opts[0] == OPT_ROUTER_ALERT)
			return opts[1] == 2 && opts[2] == 0 && opts[3] == 0;
		opts += opt_bytes;
		len_bytes -= opt_bytes;
	}
	return false;
}

/* Find the MLD message in a complete, undamaged packet. */
static int find_mld(const uint8_t *frame, size_t len_bytes, const uint8_t **mld,
		    size_t *mld_bytes)
{
	size_t ip_bytes, ext_bytes;
	uint32_t sum;

	if (len_bytes < OFF_MLD + MLD_LEN ||
	    roost_ether_type(frame) != ROOST_ETHERTYPE_IPV6 ||
	    frame[OFF_IP] >> 4 != 6 || frame[OFF_IP_NEXT] != NEXT_HOP_BY_HOP ||
	    frame[OFF_IP_HOPS] != MLD_HOP_LIMIT || frame[OFF_EXT] != NEXT_ICMP6)
		return -EINVAL;
	ip_bytes = roost_be16_get(frame + OFF_IP_LEN);
	ext_bytes = (frame[OFF_EXT + 1] + 1u) * EXT_UNIT;
	if (ip_bytes > len_bytes - OFF_EXT || ip_bytes < ext_bytes + MLD_LEN ||
	    !has_router_alert(frame + OFF_EXT + 2, ext_bytes - 2))
		return -EINVAL;
	*mld = frame + OFF_EXT + ext_bytes;
	*mld_bytes = ip_bytes - ext_bytes;
	sum = roost_icmp6_sum(frame + OFF_IP_SRC, frame + OFF_IP_DST,
			      *mld_bytes);
	if (roost_inet_fold(roost_inet_sum(sum, *mld, *mld_bytes)) != 0)
		return -EINVAL;
	return 0;
}

/* The 16-bit floating point of a response time (RFC 3810, 5.1.3). */
static uint32_t code16(uint16_t code)
{
	if (code < 0x8000)
		return code;
	return (0x1000u | (code & 0xfffu)) << ((code >> 12 & 7) + 3);
}

/* The length of a query tells its version (RFC 3810, 8.1). */
static int parse_query(const uint8_t *mld, size_t mld_bytes,
		       struct roost_group_msg *msg)
{
	uint16_t code = roost_be16_get(mld + 4);

	msg->is_query = true;
	msg->is_general = roost_gid_is_zero(&msg->group);
	msg->version = ROOST_GROUP_V2;
	msg->max_resp_ns = code * MS;
	if (mld_bytes == MLD_LEN)
		return 0;
	if (mld_bytes < V2_QUERY_LEN)
		return -EINVAL;
	msg->version = ROOST_GROUP_V3;
	msg->max_resp_ns = code16(code) * MS;
	msg->robustness = mld[24] & 7;
	msg->query_interval_ns = roost_group_code8(mld[25]) * S;
	msg->nb_sources = roost_be16_get(mld + 26);
	msg->sources = mld + V2_QUERY_LEN;
	msg->addr_bytes = 16;
	if (msg->nb_sources > (mld_bytes - V2_QUERY_LEN) / 16 ||
	    (msg->is_general && msg->nb_sources))
		return -EINVAL;
	return 0;
}

static int parse_report(struct roost_group_msg *msg)
{
	msg->version = ROOST_GROUP_V2;
	/* A report is sent to the group that it reports. */
	return roost_gid_eq(&msg->group, &msg->dst) ? 0 : -EINVAL;
}

int roost_mld_parse(const uint8_t *frame, size_t len_bytes,
		    struct roost_group_msg *msg)
{
	const uint8_t *mld;
	size_t mld_bytes;
	int ret;

	ret = find_mld(frame, len_bytes, &mld, &mld_bytes);
	if (ret)
		return ret;
	*msg = (struct roost_group_msg){ .is_query = false };
	memcpy(msg->src.b, frame + OFF_IP_SRC, 16);
	memcpy(msg->dst.b, frame + OFF_IP_DST, 16);
	memcpy(msg->group.b, mld + 8, 16);
	if (mld[0] == TYPE_QUERY)
		ret = parse_query(mld, mld_bytes, msg);
	else if (mld[0] == TYPE_V1_REPORT)
		ret = parse_report(msg);
	else
		ret = -EINVAL;
	if (ret)
		return ret;
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
		NEXT_ICMP6, 0, OPT_ROUTER_ALERT, 2, 0, 0, OPT_PADN, 0,
	};
	uint8_t mac[6];
	uint32_t sum;

	memset(frame, 0, OFF_EXT);
	roost_gid_multicast_mac(dst, mac);
	roost_ether_put(frame, mac, self->mac, ROOST_ETHERTYPE_IPV6);
	frame[OFF_IP] = 0x60;
	roost_be16_put(frame + OFF_IP_LEN, (uint16_t)(EXT_UNIT + mld_bytes));
	frame[OFF_IP_NEXT] = NEXT_HOP_BY_HOP;
	frame[OFF_IP_HOPS] = MLD_HOP_LIMIT;
	memcpy(frame + OFF_IP_SRC, self->ip.b, 16);
	memcpy(frame + OFF_IP_DST, dst->b, 16);
	memcpy(frame + OFF_EXT, ext, EXT_UNIT);
	roost_be16_put(frame + OFF_SUM, 0);
	sum = roost_icmp6_sum(self->ip.b, dst->b, mld_bytes);
	roost_be16_put(frame + OFF_SUM,
		       roost_inet_fold(roost_inet_sum(sum, frame + OFF_MLD,
						      mld_bytes)));
	return OFF_MLD + mld_bytes;
}

size_t roost_mld_build(const struct roost_group_sender *self,
		       enum roost_group_version version __attribute__((unused)),
		       bool leave, const struct roost_gid *group,
		       uint8_t frame[ROOST_GROUP_FRAME_LEN])
{
	memset(frame + OFF_MLD, 0, MLD_LEN);
	frame[OFF_MLD] = leave ? TYPE_V1_DONE : TYPE_V1_REPORT;
	memcpy(frame + OFF_GROUP, group->b, 16);
	return wrap(frame, self, leave ? &all_routers : group, MLD_LEN);
}

void roost_mld_report_begin(struct roost_group_report *report,
			    uint32_t ip_mtu_bytes)
{
	roost_group_report_begin(report, OFF_RECORDS, OFF_IP + ip_mtu_bytes,
				 16);
}

size_t roost_mld_report_end(struct roost_group_report *report,
			    const struct roost_group_sender *self)
{
	memset(report->frame + OFF_MLD, 0, OFF_RECORDS - OFF_MLD);
	report->frame[OFF_MLD] = TYPE_V2_REPORT;
	roost_be16_put(report->frame + OFF_NB_RECORDS, report->nb_records);
	return wrap(report->frame, self, &all_v2_routers,
		    report->len_bytes - OFF_MLD);
}
