/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_ADDR_H
#define ROOST_CONFIG_ADDR_H

/*
 * IP addresses as users write them, to and from GIDs. Pure.
 *
 * Only addresses that one host can have pass: not unspecified, loopback,
 * multicast or broadcast, nor an IPv4 address written as IPv6. On failure cause
 * (ROOST_CONFIG_ERR_MAX bytes) has the error and the fix.
 */

#include <stdbool.h>
#include <stddef.h>

#include <roost/config.h>

#define ROOST_PREFIX_STRLEN 50 /* the longest "ADDR/LEN", zero included */

/* "198.18.0.1" or "fd00::1". Returns 0, -EINVAL. */
int roost_addr_parse(const char *text, struct roost_gid *gid, char *cause);

/* "198.18.0.1/24" or "fd00::1/64". Returns 0, -EINVAL. */
int roost_prefix_parse(const char *text, struct roost_prefix *prefix,
		       char *cause);

/* buf: ROOST_PREFIX_STRLEN bytes. Both return buf. */
const char *roost_addr_format(const struct roost_gid *gid, char *buf);
const char *roost_prefix_format(const struct roost_prefix *prefix, char *buf);

/* Is gid of the same family as the prefix and inside its subnet? */
bool roost_prefix_contains(const struct roost_prefix *prefix,
			   const struct roost_gid *gid);

#endif
