/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_NIC_WORLD_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_NIC_WORLD_H

/*
 * What clients of a port with a fake network ask (port_world.h, fake_uplink.h).
 */

#include "tests/unit/apps/roostd/port_world.h"

extern const uint8_t peer_mac[6]; /* of all peers */

/* The address of a peer. */
struct roost_gid peer(unsigned int i);
/* The RESOLVE of a peer. */
struct roost_share_msg question(unsigned int i, bool asks);
/* Send it, and turn the daemon once. */
void post(struct client *c, struct roost_share_msg msg);
/* The peer has answered the host. */
void answers(unsigned int i);

#endif
