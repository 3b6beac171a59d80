/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_GROUP_MSG_H
#define ROOST_PMD_GLUE_HOST_GROUP_MSG_H

/*
 * Messages of IGMP and MLD in one form. MLD is IGMP for IPv6 (RFC 2710, RFC
 * 3810), so one state machine (pmd_glue/host/membership.h) uses this form for
 * both. igmp.c and mld.c encode and decode it. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

/* MLDv1 is IGMPv2 in IPv6, MLDv2 is IGMPv3. */
enum roost_group_version {
	ROOST_GROUP_V1, /* IGMPv1 only: there is no leave message */
	ROOST_GROUP_V2, /* one message per group; a report of another host
			 * suppresses ours */
	ROOST_GROUP_V3, /* many records per report; no suppression */
	ROOST_GROUP_VERSIONS,
};

/* A query, or another host's report of V1 or V2. */
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
	uint32_t robustness;        /* 0: not given */
	uint64_t query_interval_ns; /* 0: not given */
	unsigned int nb_sources;    /* sources in the query; 0: all sources */
	/* nb_sources addresses inside the frame, addr_bytes each. */
	const uint8_t *sources;
	size_t addr_bytes;
};

/* The source number index of a query. */
struct roost_gid roost_group_msg_source(const struct roost_group_msg *msg,
					unsigned int index);

/* The sender of our messages. */
struct roost_group_sender {
	uint8_t mac[6];
	struct roost_gid ip; /* IPv4: 0.0.0.0 if there is no address yet */
};

/* A message of V1 or V2 of a host, padded to Ethernet's least length. */
#define ROOST_GROUP_FRAME_LEN 86u

/* The types of a V3 record (RFC 3376, 4.2.12; RFC 3810, 5.2.12). */
enum roost_group_record {
	ROOST_GROUP_IS_INCLUDE = 1,
	ROOST_GROUP_IS_EXCLUDE = 2,
	ROOST_GROUP_TO_INCLUDE = 3,
	ROOST_GROUP_TO_EXCLUDE = 4,
};

#define ROOST_GROUP_REPORT_MAX 1514u /* a full Ethernet frame */

/*
 * A V3 report that is being built: report_begin() of the protocol, then
 * roost_group_report_add(), then its report_end().
 */
struct roost_group_report {
	uint8_t frame[ROOST_GROUP_REPORT_MAX];
	size_t max_bytes;
	size_t len_bytes; /* so far */
	size_t addr_bytes;
	uint16_t nb_records;
};

/*
 * Start a report of at most max_bytes, but with room for one record. off_bytes:
 * the offset of the message in the frame.
 */
void roost_group_report_begin(struct roost_group_report *report,
			      size_t off_bytes, size_t max_bytes,
			      size_t addr_bytes);

/*
 * Add a record with nb_sources sources. Returns false if there is no room; then
 * the report is unchanged.
 */
bool roost_group_report_add(struct roost_group_report *report,
			    enum roost_group_record type,
			    const struct roost_gid *group,
			    const struct roost_gid *sources,
			    unsigned int nb_sources);

/* Write the header of the message at off_bytes, without its checksum. */
void roost_group_report_end(struct roost_group_report *report, size_t off_bytes,
			    uint8_t type);

/*
 * Decode the len_bytes that a query of V3 has behind one of V2 (RFC 3376,
 * 4.1.5; RFC 3810, 5.1.7). Returns 0, or -EINVAL: too short, or sources in a
 * general query.
 */
int roost_group_query_v3(struct roost_group_msg *msg, const uint8_t *p,
			 size_t len_bytes, size_t addr_bytes);

/* The 8-bit floating point of both protocols (RFC 3376, 4.1.1, 4.1.7). */
uint32_t roost_group_code8(uint8_t code);

/* Encodes and decodes the messages of IGMP or MLD. */
struct roost_group_protocol {
	/*
	 * Decode a frame that starts with its Ethernet header: a query, or a
	 * report of V1 or V2. Reads only inside the frame; msg->sources points
	 * into it. IGMP queries of V2 or V3 without the router alert option are
	 * ignored (RFC 3376, 9.1). MLD messages pass all checks of RFC 3810
	 * (6.2): hop limit, link-local source, router alert, lengths.
	 * Returns 0, or -EINVAL: another message, or a damaged one.
	 */
	int (*parse)(const uint8_t *frame, size_t len_bytes,
		     struct roost_group_msg *msg);
	/*
	 * Write a report of V1 or V2; with leave, the leave message of V2.
	 * Returns the frame's length.
	 */
	size_t (*build)(const struct roost_group_sender *self,
			enum roost_group_version version, bool leave,
			const struct roost_gid *group,
			uint8_t frame[ROOST_GROUP_FRAME_LEN]);
	/* Start a report of V3 of at most ip_mtu_bytes. */
	void (*report_begin)(struct roost_group_report *report,
			     uint32_t ip_mtu_bytes);
	/* Write everything around the records. Returns the frame's length. */
	size_t (*report_end)(struct roost_group_report *report,
			     const struct roost_group_sender *self);
};

extern const struct roost_group_protocol roost_igmp; /* RFC 1112, 2236, 3376 */
extern const struct roost_group_protocol roost_mld;  /* RFC 2710, 3810 */

#endif
