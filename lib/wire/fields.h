/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_FIELDS_H
#define ROOST_WIRE_FIELDS_H

/*
 * Constants that parse.c, build.c and emit.h share: protocol numbers of the
 * outer headers, and fields within a byte or word of the inner ones. For these
 * files only, and those that include emit.h.
 */

#define ETHERTYPE_IPV4 0x0800u
#define ETHERTYPE_IPV6 0x86ddu
#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_QINQ 0x88a8u /* 802.1ad, outer of two tags */

#define IPV4_VER_IHL 0x45u
#define IPV6_VERSION 6u
#define IPV6_FLOW_LABEL_MASK 0xfffffu

#define PROTO_UDP 17u

/* BTH, second byte. */
#define BTH_SOLICITED 0x80u
#define BTH_MIGREQ 0x40u
#define BTH_PAD_SHIFT 4
#define BTH_PAD_MASK 0x3u
#define BTH_TVER_MASK 0x0fu
/* BTH, word with the destination QPN. */
#define BTH_FECN 0x80000000u
#define BTH_BECN 0x40000000u
/* BTH, word with the PSN. */
#define BTH_ACKREQ 0x80000000u
#define BTH_SELECTIVE 0x40000000u /* one of resv7: see frame.h */

/* FLUSH: placement type and selectivity level (IBTA Annex A19). */
#define FETH_TYPE_MASK 0xfu
#define FETH_LEVEL_SHIFT 4
#define FETH_LEVEL_MASK 0x3u

/* QPNs, SRQ numbers and MSNs. */
#define MASK24 0xffffffu

#endif
