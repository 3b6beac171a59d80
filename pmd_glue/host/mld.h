/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_MLD_H
#define ROOST_PMD_GLUE_HOST_MLD_H

/*
 * Multicast Listener Discovery (RFC 2710, 3810): decodes queries, encodes
 * reports. MLDv1 is ROOST_GROUP_V2 here, MLDv2 is ROOST_GROUP_V3. Pure;
 * pmd_glue/host/membership.h decides when to send which report.
 */

#include "pmd_glue/host/group_msg.h"

/*
 * Decode a frame that starts with its Ethernet header: a query, or a report of
 * MLDv1, with all checks of RFC 3810 (6.2): hop limit, link-local source,
 * router alert, checksum, lengths. Reads only inside the frame; msg->sources
 * points into it. Returns 0, or -EINVAL: another message, or a damaged one.
 */
int roost_mld_parse(const uint8_t *frame, size_t len_bytes,
		    struct roost_group_msg *msg);

/*
 * Write a report of MLDv1 (version is ROOST_GROUP_V2); with leave, the done
 * message of MLDv1. Returns the frame's length.
 */
size_t roost_mld_build(const struct roost_group_sender *self,
		       enum roost_group_version version, bool leave,
		       const struct roost_gid *group,
		       uint8_t frame[ROOST_GROUP_FRAME_LEN]);

/* Start a report of MLDv2 of at most ip_mtu_bytes. */
void roost_mld_report_begin(struct roost_group_report *report,
			    uint32_t ip_mtu_bytes);
/* Write everything around the records. Returns the frame's length. */
size_t roost_mld_report_end(struct roost_group_report *report,
			    const struct roost_group_sender *self);

#endif
