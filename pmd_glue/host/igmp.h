/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_IGMP_H
#define ROOST_PMD_GLUE_HOST_IGMP_H

/*
 * IGMP (RFC 1112, 2236, 3376): decodes queries, encodes reports. Pure;
 * pmd_glue/host/membership.h decides when to send which report.
 */

#include "pmd_glue/host/group_msg.h"

/*
 * Decode a frame that starts with its Ethernet header: a query, or a report of
 * V1 or V2. Reads only inside the frame; msg->sources points into it. A query
 * of V2 or V3 without the router alert option is ignored (RFC 3376, 9.1).
 * Returns 0, or -EINVAL: another message, or a damaged one.
 */
int roost_igmp_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_group_msg *msg);

/*
 * Write a report of V1 or V2; with leave, the leave message of V2. Returns the
 * frame's length.
 */
size_t roost_igmp_build(const struct roost_group_sender *self,
			enum roost_group_version version, bool leave,
			const struct roost_gid *group,
			uint8_t frame[ROOST_GROUP_FRAME_LEN]);

/* Start a report of V3 of at most ip_mtu_bytes. */
void roost_igmp_report_begin(struct roost_group_report *report,
			     uint32_t ip_mtu_bytes);
/* Write everything around the records. Returns the frame's length. */
size_t roost_igmp_report_end(struct roost_group_report *report,
			     const struct roost_group_sender *self);

#endif
