/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_TWIN_SORT_H
#define ROOST_PMD_GLUE_NETIF_TWIN_SORT_H

/*
 * Who gets a frame that a port with a twin has received: RoCEv2 packets never
 * leave the engine; of the rest the kernel behind the twin gets all, and our
 * own host a copy of what it listens to as well. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A frame that is not RoCEv2: does our host (pmd_glue/host/host.h) or our group
 * membership (pmd_glue/host/membership.h) want to hear it, too? That is ARP,
 * ICMP, ICMPv6 (Neighbour Discovery, MLD), IGMP and RoCEv1. A frame too short
 * to tell is nothing to them. Thread: any.
 */
bool roost_twin_frame_is_shared(const uint8_t *frame, size_t len_bytes);

#endif
