/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_GROUP_MSG_H
#define ROOST_PMD_GLUE_HOST_GROUP_MSG_H

/*
 * What IGMP and MLD say about groups, in one form. MLD is IGMP said in IPv6
 * (RFC 2710, RFC 3810), so one state machine (pmd_glue/host/membership.h)
 * speaks both through this; the bytes are igmp.h's and mld.h's. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

/* MLDv1 is IGMPv2 in IPv6, MLDv2 is IGMPv3. */
enum roost_group_version {
	ROOST_GROUP_V1, /* IGMPv1 only: nobody says that he leaves */
	ROOST_GROUP_V2, /* one message per group; hosts listen to each other */
	ROOST_GROUP_V3, /* records; hosts do not */
	ROOST_GROUP_VERSIONS,
};

/* A query, or what another host reports in V1 or V2. */
struct roost_group_msg {
	bool is_query;
	bool is_general; /* a query for all groups; group means nothing */
	enum roost_group_version version;
	struct roost_gid src;
	struct roost_gid dst;
	struct roost_gid group;
	/* Queries only. */
	uint64_t max_resp_ns; /* answer within that time */
	/* Queries of V3 only. */
	uint32_t robustness;        /* 0: not said */
	uint64_t query_interval_ns; /* 0: not said */
	unsigned int nb_sources;    /* asked for; 0: all */
	/* nb_sources addresses as they stand in the frame, addr_bytes each. */
	const uint8_t *sources;
	size_t addr_bytes;
};

/* Source index of a query. */
struct roost_gid roost_group_msg_source(const struct roost_group_msg *msg,
					unsigned int index);

/* Who sends. */
struct roost_group_sender {
	uint8_t mac[6];
	struct roost_gid ip; /* IPv4 may be 0.0.0.0: none yet */
};

/* A message of V1 or V2 of a host, padded to Ethernet's least length. */
#define ROOST_GROUP_FRAME_LEN 86u

/* What a record of V3 says (RFC 3376, 4.2.12; RFC 3810, 5.2.12). */
enum roost_group_record {
	ROOST_GROUP_IS_INCLUDE = 1,
	ROOST_GROUP_IS_EXCLUDE = 2,
	ROOST_GROUP_TO_INCLUDE = 3,
	ROOST_GROUP_TO_EXCLUDE = 4,
};

#define ROOST_GROUP_REPORT_MAX 1514u /* a full Ethernet frame */

/*
 * A report of V3 in the making: begin (igmp.h, mld.h), add records, end.
 */
struct roost_group_report {
	uint8_t frame[ROOST_GROUP_REPORT_MAX];
	size_t max_bytes;
	size_t len_bytes; /* so far */
	size_t addr_bytes;
	uint16_t nb_records;
};

/*
 * Start a report of at most max_bytes, or as many as one record needs; the
 * first record will stand at offset records.
 */
void roost_group_report_begin(struct roost_group_report *report, size_t records,
			      size_t max_bytes, size_t addr_bytes);

/*
 * Add a record with sources. Returns false when there is no room for it, and
 * leaves the report as it was.
 */
bool roost_group_report_add(struct roost_group_report *report,
			    enum roost_group_record type,
			    const struct roost_gid *group,
			    const struct roost_gid *sources,
			    unsigned int nb_sources);

/* The 8-bit floating point of both protocols (RFC 3376, 4.1.1, 4.1.7). */
uint32_t roost_group_code8(uint8_t code);

#endif
