/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The end of a client, and of all, with claims and memberships. */

#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"
#include "apps/roostd/switch/lease.h"

void roost_lease_client_remove(struct roost_lease *lease, uint16_t client,
			       uint64_t now_ns)
{
	roost_lease_unclaim_all(lease, client);
	roost_group_leave_all(lease, client, NULL, NULL);
	roost_lease_client_free(lease, client, now_ns);
}

void roost_lease_destroy(struct roost_lease *lease)
{
	for (uint16_t i = 0; i < ROOST_CLIENTS_MAX; i++) {
		if (!lease->clients[i].used)
			continue;
		roost_lease_unclaim_all(lease, i);
		roost_group_leave_all(lease, i, NULL, NULL);
	}
	roost_lease_free(lease);
}
