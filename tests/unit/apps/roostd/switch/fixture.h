/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_SWITCH_FIXTURE_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_SWITCH_FIXTURE_H

/*
 * What the tests of the switch share: a state with fixed keys, a lease table on
 * it with two addresses, and clients.
 */

#include <stdint.h>

#include "apps/roostd/switch/lease.h"

#define SECOND UINT64_C(1000000000)
#define QUARANTINE_NS (5 * SECOND)
#define GRACE_NS (10 * SECOND)

extern const struct roost_gid gid_v4; /* both are the port's */
extern const struct roost_gid gid_v6;
extern const struct roost_gid gid_own; /* of a client with its own address */

/* A state of no daemon yet. */
void fresh_state(struct roost_lease_state *state);
/* The next daemon on this state. */
struct roost_lease *start_lease(struct roost_lease_state *state,
				uint64_t now_ns);
struct roost_client_conf client_conf(uint32_t uid);
uint16_t add_client(struct roost_lease *lease, uint32_t uid, uint64_t now_ns);

/* A QPN of the block, and a communication id of the prefix. */
uint32_t qpn_of(const struct roost_lease *lease, uint32_t block, uint32_t i);
uint32_t comm_of(const struct roost_lease *lease, uint32_t prefix, uint32_t i);

#endif
