/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "tests/unit/apps/roostd/switch/fixture.h"

#include "tests/cmocka.h"

const struct roost_gid gid_v4 = { .b = { [10] = 0xff, 0xff, 198, 18, 0, 1 } };
const struct roost_gid gid_v6 = { .b = { 0xfe, 0x80, [15] = 1 } };
const struct roost_gid gid_own = { .b = { [10] = 0xff, 0xff, 198, 18, 0, 9 } };

void fresh_state(struct roost_lease_state *state)
{
	memset(state, 0, sizeof(*state));
	for (uint64_t i = 0; i < 2; i++) {
		state->mac_key[i] = 0x1111111111111111u * (i + 1);
		state->qpn_seed[i] = 0x2222222222222222u * (i + 3);
		state->comm_seed[i] = 0x3333333333333333u * (i + 5);
	}
}

struct roost_lease *start_lease(struct roost_lease_state *state,
				uint64_t now_ns)
{
	const struct roost_lease_conf conf = {
		.quarantine_ns = QUARANTINE_NS,
		.grace_ns = GRACE_NS,
		.random = 42,
	};
	struct roost_lease *lease;

	assert_int_equal(roost_lease_create(&conf, state, now_ns, &lease), 0);
	assert_int_equal(roost_lease_addr_add(lease, &gid_v4), 0);
	assert_int_equal(roost_lease_addr_add(lease, &gid_v6), 0);
	return lease;
}

struct roost_client_conf client_conf(uint32_t uid)
{
	return (struct roost_client_conf){
		.uid = uid,
		.max_qps = 1000,
		.max_prefixes = 2,
		.max_services = 16,
		.max_groups = 4,
		.max_conns = 64,
		.max_half_open = 16,
		.weight = 1,
	};
}

uint16_t add_client(struct roost_lease *lease, uint32_t uid, uint64_t now_ns)
{
	const struct roost_client_conf conf = client_conf(uid);
	uint16_t client;

	assert_int_equal(roost_lease_client_add(lease, &conf, now_ns, &client),
			 0);
	return client;
}

uint32_t qpn_of(const struct roost_lease *lease, uint32_t block, uint32_t i)
{
	return roost_idmap_permute(
		&lease->qpns,
		i / ROOST_LEASE_BLOCK_LEN << ROOST_LEASE_QPN_INDEX_BITS |
			block << ROOST_LEASE_BLOCK_SHIFT |
			i % ROOST_LEASE_BLOCK_LEN);
}

uint32_t comm_of(const struct roost_lease *lease, uint32_t prefix, uint32_t i)
{
	return roost_idmap_permute(&lease->comms,
				   prefix << ROOST_LEASE_PREFIX_SHIFT | i);
}
