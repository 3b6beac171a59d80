/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/group_msg.h"

#include <string.h>

#include "lib/wire/bytes.h"

#define RECORD_HDR_LEN 4u /* type, length of auxiliary data, sources */

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

void roost_group_report_begin(struct roost_group_report *report, size_t records,
			      size_t max_bytes, size_t addr_bytes)
{
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
	uint8_t *hdr = report->frame + report->len_bytes;

	if (need > report->max_bytes - report->len_bytes)
		return false;
	hdr[0] = (uint8_t)type;
	hdr[1] = 0;
	roost_be16_put(hdr + 2, (uint16_t)nb_sources);
	report->len_bytes += RECORD_HDR_LEN;
	append(report, group);
	for (unsigned int i = 0; i < nb_sources; i++)
		append(report, &sources[i]);
	report->nb_records++;
	return true;
}

uint32_t roost_group_code8(uint8_t code)
{
	if (code < 0x80)
		return code;
	return (0x10u | (code & 0xfu)) << ((code >> 4 & 7) + 3);
}
