/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_GROUP_FRAMES_H
#define ROOST_TESTS_UNIT_PMD_GLUE_GROUP_FRAMES_H

/*
 * What the tests of IGMP and MLD share besides the frames of frames.h: the host
 * under test, and frames that are spoilt.
 */

#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/host/group_msg.h"
#include "tests/unit/pmd_glue/host/frames.h"

/* The host under test. */
struct roost_group_sender group_host_v4(void);
struct roost_group_sender group_host_v6(void);

/*
 * Copy the bytes so that the page behind them cannot be touched. Returns where
 * they are, until the next call.
 */
uint8_t *group_frame_at_edge(const uint8_t *bytes, size_t len_bytes);

/* Make the checksums of a frame of IGMP or MLD right again. */
void group_frame_fix_igmp(uint8_t *frame);
void group_frame_fix_mld(uint8_t *frame);

void assert_gid(const struct roost_gid *gid, const char *text);

/* The host writes what Scapy has written: for 239.1.1.1 or ff0e::1:1. */
void group_check_build(const struct roost_group_protocol *p,
		       enum roost_group_version version, bool leave,
		       const struct golden_frame *golden);
/* A V3 report; with other, of a second group with two sources. */
void group_check_report(const struct roost_group_protocol *p,
			enum roost_group_record type,
			const struct golden_frame *golden, const char *other,
			const struct roost_gid sources[2]);

#endif
