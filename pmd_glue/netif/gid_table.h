/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_GID_TABLE_H
#define ROOST_PMD_GLUE_NETIF_GID_TABLE_H

/*
 * A port's GID table in the order of Linux for RoCE: the link-local address of
 * the MAC, then IPv4 addresses, then IPv6 addresses. RoCEv2 only, one entry per
 * address. Pure.
 */

#include <roost/config.h>
#include "lib/engine/core/dev.h"

/* Fill gids; the remaining entries become zero. Returns the number of GIDs. */
unsigned int roost_gid_table_fill(struct roost_gid gids[ROOST_GID_TABLE_LEN],
				  const uint8_t mac[6],
				  const struct roost_prefixes *addrs);

#endif
