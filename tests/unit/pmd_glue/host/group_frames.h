/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_GROUP_FRAMES_H
#define ROOST_TESTS_UNIT_PMD_GLUE_GROUP_FRAMES_H

/*
 * Frames of IGMP and MLD that scapy 2.5 made: queries of a router, 198.18.0.1
 * and fe80::1, and reports of the host under test, 198.18.0.2 and
 * fe80::11:22ff:fe33:4402, which is (or was) in 239.1.1.1 and ff0e::1:1.
 */

#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/host/group_msg.h"

struct group_frame {
	size_t len_bytes;
	uint8_t bytes[144];
};

/* What the host hears. */
/* max resp 10 s, QRV 3, QQIC 0x8a */
extern const struct group_frame igmp_v3_general;
/* of 239.1.1.1, 1 s, QRV 2, QQIC 125 */
extern const struct group_frame igmp_v3_group;
/* and of 10.0.0.1, 10.0.0.2 */
extern const struct group_frame igmp_v3_sources;
/* 10 s */
extern const struct group_frame igmp_v2_general;
/* of 239.1.1.1, 1 s */
extern const struct group_frame igmp_v2_group;
extern const struct group_frame igmp_v1_general;
/* 198.18.0.3 is in 239.1.1.1 */
extern const struct group_frame igmp_v2_report_other;
/* 10 s, QRV 3, QQIC 0x8a */
extern const struct group_frame mld_v2_general;
/* of ff0e::1:1, 1 s */
extern const struct group_frame mld_v2_group;
/* and of 2001:db8::1, ::2 */
extern const struct group_frame mld_v2_sources;
/* 10 s */
extern const struct group_frame mld_v1_general;
/* fe80::3 is in ff0e::1:1 */
extern const struct group_frame mld_v1_report_other;

/* What it says. */
extern const struct group_frame igmp_v1_report;
extern const struct group_frame igmp_v2_report;
extern const struct group_frame igmp_v2_leave;
extern const struct group_frame igmp_v3_join;
extern const struct group_frame igmp_v3_leave;
/* IS_EXCLUDE 239.1.1.1 {}, IS_INCLUDE 232.7.8.9 {...} */
extern const struct group_frame igmp_v3_two;
extern const struct group_frame mld_v1_report;
extern const struct group_frame mld_v1_done;
extern const struct group_frame mld_v2_join;
extern const struct group_frame mld_v2_leave;
/* as igmp_v3_two; ff3e::7 */
extern const struct group_frame mld_v2_two;

/* "239.1.1.1", "ff0e::1:1". */
struct roost_gid group_addr(const char *text);

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

#endif
