/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/group_msg.h"

#include <errno.h>
#include <linux/igmp.h>
#include <string.h>

#include <rte_byteorder.h>

#define S 1000000000ull

/* The header of a record, up to the group. MLD has it and the header of a
 * report, struct igmpv3_report, from IGMP (RFC 3810, 5.2).
 */
#define RECORD_HDR_LEN offsetof(struct igmpv3_grec, grec_mca)

/* What a query of V3 has behind one of V2, in both protocols. */
struct query_v3 {
	uint8_t flags; /* robustness: 3 bits */
	uint8_t interval_code;
	rte_be16_t nb_sources;
};

struct roost_gid roost_group_msg_source(const struct roost_group_msg *msg,
					unsigned int index)
{
	const uint8_t *p = msg->sources + index * msg->addr_bytes;
	struct roost_gid gid;

	if (msg->addr_bytes == 4)
		return roost_gid_from_v4(p);
	memcpy(gid.b, p, sizeof(gid.b));
	return gid;
}

int roost_group_query_v3(struct roost_group_msg *msg, const uint8_t *p,
			 size_t len_bytes, size_t addr_bytes)
{
	struct query_v3 q;

	if (len_bytes < sizeof(q))
		return -EINVAL;
	memcpy(&q, p, sizeof(q));
	msg->version = ROOST_GROUP_V3;
	msg->robustness = q.flags & 7;
	msg->query_interval_ns = roost_group_code8(q.interval_code) * S;
	msg->nb_sources = rte_be_to_cpu_16(q.nb_sources);
	msg->sources = p + sizeof(q);
	msg->addr_bytes = addr_bytes;
	return msg->nb_sources > (len_bytes - sizeof(q)) / addr_bytes ||
			       (msg->is_general && msg->nb_sources)
		       ? -EINVAL
		       : 0;
}

void roost_group_report_begin(struct roost_group_report *report,
			      size_t off_bytes, size_t max_bytes,
			      size_t addr_bytes)
{
	size_t records = off_bytes + sizeof(struct igmpv3_report);
	size_t least = records + RECORD_HDR_LEN + addr_bytes;

	if (max_bytes < least)
		max_bytes = least;
	if (max_bytes > sizeof(report->frame))
		max_bytes = sizeof(report->frame);
	report->max_bytes = max_bytes;
	report->len_bytes = records;
	report->addr_bytes = addr_bytes;
	report->nb_records = 0;
}

/* Append an address; an IPv4 address is in the last 4 bytes of its GID. */
static void append(struct roost_group_report *report,
		   const struct roost_gid *addr)
{
	memcpy(report->frame + report->len_bytes,
	       addr->b + sizeof(addr->b) - report->addr_bytes,
	       report->addr_bytes);
	report->len_bytes += report->addr_bytes;
}

bool roost_group_report_add(struct roost_group_report *report,
			    enum roost_group_record type,
			    const struct roost_gid *group,
			    const struct roost_gid *sources,
			    unsigned int nb_sources)
{
	size_t need = RECORD_HDR_LEN + (1 + nb_sources) * report->addr_bytes;
	struct igmpv3_grec hdr = {
		.grec_type = (uint8_t)type,
		.grec_nsrcs = rte_cpu_to_be_16((uint16_t)nb_sources),
	};

	if (need > report->max_bytes - report->len_bytes)
		return false;
	memcpy(report->frame + report->len_bytes, &hdr, RECORD_HDR_LEN);
	report->len_bytes += RECORD_HDR_LEN;
	append(report, group);
	for (unsigned int i = 0; i < nb_sources; i++)
		append(report, &sources[i]);
	report->nb_records++;
	return true;
}

void roost_group_report_end(struct roost_group_report *report, size_t off_bytes,
			    uint8_t type)
{
	const struct igmpv3_report hdr = {
		.type = type,
		.ngrec = rte_cpu_to_be_16(report->nb_records),
	};

	memcpy(report->frame + off_bytes, &hdr, sizeof(hdr));
}

uint32_t roost_group_code8(uint8_t code)
{
	if (code < 0x80)
		return code;
	return (0x10u | (code & 0xfu)) << ((code >> 4 & 7) + 3);
}
