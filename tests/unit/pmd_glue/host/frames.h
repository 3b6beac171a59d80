/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_FRAMES_H
#define ROOST_TESTS_UNIT_PMD_GLUE_FRAMES_H

/*
 * What the tests of pmd_glue share: two stations, addresses from text, and
 * frames that scapy 2.5 made for them.
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
	uint8_t bytes[96];
};

extern const struct golden_frame arp_request;      /* a asks for b */
extern const struct golden_frame arp_reply;        /* b answers */
extern const struct golden_frame arp_announcement; /* of a */
extern const struct golden_frame nd_solicit;       /* a asks for b */
extern const struct golden_frame nd_solicit_dad;   /* nobody asks for b */
extern const struct golden_frame nd_advert;        /* b answers */
extern const struct golden_frame nd_advert_no_mac; /* without the option */
extern const struct golden_frame nd_advert_all;    /* b to all nodes */
extern const struct golden_frame echo4_request;    /* a pings b, 13 bytes */
extern const struct golden_frame echo4_reply;
extern const struct golden_frame echo6_request;
extern const struct golden_frame echo6_reply;

#endif
