/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_GROUP_H
#define ROOST_APPS_ROOSTD_SWITCH_GROUP_H

/*
 * Multicast memberships: which clients are in a group. The port joins a group
 * with its first member, and leaves it with its last; the caller does that
 * when told.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/switch/lease.h"

#define ROOST_GROUPS_MAX 4096u

struct roost_group {
	LIST_ENTRY(roost_group) link;
	struct roost_gid gid;
	uint32_t nb_members;
	uint32_t room;
	uint16_t *members; /* ascending */
};

/*
 * Join; a member joins once more without effect. *first: the port joins, too.
 * Returns 0; -EINVAL: no multicast address; -EDQUOT: the client's limit;
 * -ENOSPC: too many groups; -ENOMEM.
 */
int roost_group_join(struct roost_lease *lease, uint16_t client,
		     const struct roost_gid *gid, bool *first);

/* Leave. *last: the port leaves, too. Returns 0, -ENOENT. */
int roost_group_leave(struct roost_lease *lease, uint16_t client,
		      const struct roost_gid *gid, bool *last);

/* Leave every group. left() is called for each that the port leaves; NULL: for
 * none.
 */
void roost_group_leave_all(struct roost_lease *lease, uint16_t client,
			   void (*left)(void *arg, const struct roost_gid *gid),
			   void *arg);

/* NULL: it has no members here. */
const struct roost_group *roost_lease_group(const struct roost_lease *lease,
					    const struct roost_gid *gid);

#endif
