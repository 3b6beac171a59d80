/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/apps/roostd/nic_world.h"

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/fake_uplink.h"

const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

struct roost_gid peer(unsigned int i)
{
	const uint8_t ip[4] = { 198, 18, (uint8_t)(i >> 8), (uint8_t)i };

	return roost_gid_from_v4(ip);
}

struct roost_share_msg question(unsigned int i, bool asks)
{
	return (struct roost_share_msg){
		.type = ROOST_SHARE_RESOLVE,
		.addr = { .sgid = fake.facts.gids[1],
			  .dgid = peer(i),
			  .asks = asks },
	};
}

void post(struct client *c, struct roost_share_msg msg)
{
	msg.tag = 99;
	assert_int_equal(roost_share_send(c->socket, &msg, NULL, 0, NULL), 0);
	pump();
}

void answers(unsigned int i)
{
	const struct roost_gid addr = peer(i);

	atomic_store(&fake_neigh(&addr)->pub.mac_gen,
		     roost_neigh_mac_gen(peer_mac, 7));
}
