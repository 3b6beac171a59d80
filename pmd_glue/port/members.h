/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_MEMBERS_H
#define ROOST_PMD_GLUE_PORT_MEMBERS_H

/*
 * The ports below a port: net_bonding wants its members plugged in before it,
 * and names them. Users write a member as slave=(DEVARGS), or slave=ADDRESS for
 * a PCI device; here it is plugged in, and slave=NAME put in its place.
 *
 * Drivers that need a gate cannot be members: it belongs to a port of ours.
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
	bool of_taps; /* a kernel sits at the other end of each */
};

/*
 * The next member in devargs, from *at on: its own devargs without parentheses.
 * *at becomes where it ends, and begin where it began. Returns 0; -ENOENT (no
 * more), -EINVAL (a parenthesis is missing), -ENAMETOOLONG.
 */
int roost_members_next(const char *devargs, size_t *at, size_t *begin,
		       char member[ROOST_DEVARGS_MAX]);

/*
 * Plug in all members in devargs (of size bytes), which then has their names.
 * Returns 0; -EINVAL, -ENODEV, -ENAMETOOLONG, with cause and fix in why; what
 * was plugged in is in members then, too.
 */
int roost_members_plug_in(struct roost_members *members, char *devargs,
			  size_t size, char *why, size_t why_size);
/*
 * Where members do not tell the bond that they have lost their link (net_tap
 * does not): in active-backup mode take another one that has. Holder of the
 * turn. Returns true if any has its link.
 */
bool roost_members_watch(const struct roost_members *members, uint16_t bond);
/* Nothing uses them any more. */
void roost_members_plug_out(struct roost_members *members);

#endif
