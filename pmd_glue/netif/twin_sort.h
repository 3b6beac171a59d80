/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_TWIN_SORT_H
#define ROOST_PMD_GLUE_NETIF_TWIN_SORT_H

/*
 * Where a received frame goes if the port has a twin. RoCEv2 packets stay in
 * the engine. All other frames go to the kernel by the twin, and the frames
 * that Roost's host needs go to the host as a copy. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Does our host (pmd_glue/host/host.h) or our group membership
 * (pmd_glue/host/membership.h) need this frame, too? frame: not RoCEv2. They
 * need ARP, ICMP, ICMPv6 (Neighbour Discovery, MLD), IGMP and RoCEv1, but no
 * frame that is too short for its header. Thread: any.
 */
bool roost_twin_frame_is_shared(const uint8_t *frame, size_t len_bytes);

#endif
