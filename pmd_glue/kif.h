/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KIF_H
#define ROOST_PMD_GLUE_KIF_H

/*
 * What the kernel knows about a network interface of this network namespace.
 * Reads it when asked; keeps nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"

struct roost_kif {
	uint8_t mac[6];
	uint32_t mtu_bytes;
	bool running; /* up, and with a carrier */
};

/* Returns 0; -ENODEV (no such interface), or what socket(2) gives. */
int roost_kif_read(const char *name, struct roost_kif *kif);

/* Its addresses, IPv4 and IPv6; at most ROOST_PORT_IPS_MAX.
 * Returns 0, or what getifaddrs(3) gives.
 */
int roost_kif_addrs(const char *name, struct roost_prefixes *addrs);

/* Returns 0; -EPERM, -EINVAL (not for this interface), -ENODEV. */
int roost_kif_set_mtu(const char *name, uint32_t mtu_bytes);

/*
 * Have the interface pass all groups up as long as the returned descriptor is
 * open. Returns it, or -EPERM, -ENODEV...
 */
int roost_kif_join_all_groups(const char *name);

#endif
