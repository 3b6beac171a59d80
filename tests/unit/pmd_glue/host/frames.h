/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_FRAMES_H
#define ROOST_TESTS_UNIT_PMD_GLUE_FRAMES_H

/*
 * What the tests of pmd_glue share: two stations, addresses from text, and
 * frames that Scapy made for them (frames.py), which frames.c reads from
 * frames.pcap before main().
 */

#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

extern const uint8_t mac_a[6]; /* 02:11:22:33:44:01, 198.18.0.1, fd00::1 */
extern const uint8_t mac_b[6]; /* 02:11:22:33:44:02, 198.18.0.2, fd00::2 */

/* "198.18.0.1", "fd00::1". */
struct roost_gid addr(const char *text);

struct golden_frame {
	size_t len_bytes;
	uint8_t bytes[144];
};

/*
 * In the order of the file. ARP, ND and echo are between a and b. The queries
 * of IGMP and MLD are of a router, 198.18.0.1 and fe80::1; the reports are of
 * the host under test, 198.18.0.2 and fe80::11:22ff:fe33:4402, which is (or
 * was) in 239.1.1.1 and ff0e::1:1.
 */
/* clang-format off */
#define ROOST_GOLDEN_FRAMES(X)                                                 \
	X(arp_request) /* a asks for b */                                      \
	X(arp_reply) /* b answers */                                           \
	X(arp_announcement) /* of a */                                         \
	X(nd_solicit) /* a asks for b */                                       \
	X(nd_solicit_dad) /* nobody asks for b */                              \
	X(nd_advert) /* b answers */                                           \
	X(nd_advert_no_mac) /* without the option */                           \
	X(nd_advert_all) /* b to all nodes */                                  \
	X(echo4_request) /* a pings b, 13 bytes */                             \
	X(echo4_reply)                                                         \
	X(echo6_request)                                                       \
	X(echo6_reply)                                                         \
	X(refusal4) /* b has nobody for what a sent to port 4791 */            \
	X(refusal6)                                                            \
	/* What a host hears. */                                               \
	X(igmp_v3_general) /* max resp 10 s, QRV 3, QQIC 0x8a */               \
	X(igmp_v3_group) /* of 239.1.1.1, 1 s, QRV 2, QQIC 125 */              \
	X(igmp_v3_sources) /* and of 10.0.0.1, 10.0.0.2 */                     \
	X(igmp_v2_general) /* 10 s */                                          \
	X(igmp_v2_group) /* of 239.1.1.1, 1 s */                               \
	X(igmp_v1_general)                                                     \
	X(igmp_v2_report_other) /* 198.18.0.3 is in 239.1.1.1 */               \
	X(mld_v2_general) /* 10 s, QRV 3, QQIC 0x8a */                         \
	X(mld_v2_group) /* of ff0e::1:1, 1 s */                                \
	X(mld_v2_sources) /* and of 2001:db8::1, ::2 */                        \
	X(mld_v1_general) /* 10 s */                                           \
	X(mld_v1_report_other) /* fe80::3 is in ff0e::1:1 */                   \
	/* What it says. */                                                    \
	X(igmp_v1_report)                                                      \
	X(igmp_v2_report)                                                      \
	X(igmp_v2_leave)                                                       \
	X(igmp_v3_join)                                                        \
	X(igmp_v3_leave)                                                       \
	X(igmp_v3_two) /* and of 232.7.8.9, from two sources */                \
	X(mld_v1_report)                                                       \
	X(mld_v1_done)                                                         \
	X(mld_v2_join)                                                         \
	X(mld_v2_leave)                                                        \
	X(mld_v2_two) /* as igmp_v3_two; ff3e::7 */
/* clang-format on */

#define ROOST_DECLARE_FRAME(name) extern struct golden_frame name;
ROOST_GOLDEN_FRAMES(ROOST_DECLARE_FRAME)
#undef ROOST_DECLARE_FRAME

#endif
