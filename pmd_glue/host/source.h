/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_SOURCE_H
#define ROOST_PMD_GLUE_HOST_SOURCE_H

/*
 * Source address selection: the address of a port from which to send to a
 * destination. Pure.
 *
 * IPv6: rules 1 (same address), 2 (scope), 6 (label) and 8 (longest prefix)
 * of RFC 6724, section 5, with its default policy table. The other rules
 * compare interfaces, or need properties that only the kernel knows
 * (deprecated, temporary): if the kernel shares the port, it is asked first
 * (roost_host_source()).
 *
 * IPv4: as Linux does without a preferred source: the scope; then the address
 * whose subnet has the destination, or else the gateway.
 *
 * Among equal addresses the first one is taken; the link-local address of the
 * MAC is the last.
 */

#include <stdbool.h>

#include "pmd_glue/host/route.h"

/* Returns false: the port has no address of dgid's family. */
bool roost_source_select(const struct roost_routes *routes,
			 const struct roost_gid *link_local,
			 const struct roost_gid *dgid, struct roost_gid *sgid);

#endif
