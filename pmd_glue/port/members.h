/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_MEMBERS_H
#define ROOST_PMD_GLUE_PORT_MEMBERS_H

/*
 * The members of a bond. net_bonding needs its members plugged in before it,
 * and refers to them by name. Users write a member as slave=(DEVARGS), or
 * slave=ADDRESS for a PCI device. This file plugs the member in and replaces
 * the argument with slave=NAME; DPDK 23.11 and later: member=NAME.
 *
 * A driver that needs a gate cannot be a member, because a gate belongs to one
 * port of Roost's.
 *
 * Thread: the control thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/config.h>
#include "pmd_glue/port/driver.h"

#define ROOST_MEMBERS_MAX 8u

struct roost_member {
	char name[64];
	bool was_there; /* the application had plugged it in */
};

struct roost_members {
	unsigned int nb;
	struct roost_member v[ROOST_MEMBERS_MAX];
	bool of_taps; /* the peer of each member is the kernel */
};

/*
 * Get the next member in devargs, from offset *at on: its devargs without
 * parentheses. *begin becomes the member's offset, *at the offset of its end.
 * Returns 0; -ENOENT (no more), -EINVAL (a parenthesis is missing),
 * -ENAMETOOLONG.
 */
int roost_members_next(const char *devargs, size_t *at, size_t *begin,
		       char member[ROOST_DEVARGS_MAX]);

/*
 * Plug in all members in devargs (of size bytes), and replace them with their
 * names. Returns 0; -EINVAL, -ENODEV, -ENAMETOOLONG, with cause and fix in why.
 * *members has the members that were plugged in, also on error.
 */
int roost_members_plug_in(struct roost_members *members, char *devargs,
			  size_t size, char *why, size_t why_size);
/*
 * Check the links of members that do not tell the bond when they lose it
 * (net_tap). In active-backup mode, if the primary has no link, switch to a
 * member that has. Thread: holder of the turn. Returns true if any member has a
 * link.
 */
bool roost_members_watch(const struct roost_members *members, uint16_t bond);
/* Unplug the members; nothing uses them any more. */
void roost_members_plug_out(struct roost_members *members);

#endif
