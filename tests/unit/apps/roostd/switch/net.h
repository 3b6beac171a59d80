/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_SWITCH_NET_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_SWITCH_NET_H

/*
 * A whole switch on the leases of world.h, with a port and rings that count
 * and keep the last frame.
 */

#include "apps/roostd/switch/switch.h"
#include "tests/unit/apps/roostd/switch/world.h"

/* Where frames come out. */
struct sink {
	uint32_t room; /* frames that it still takes */
	uint32_t nb;   /* that it took */
	bool looped;   /* the last one */
	uint32_t len_bytes;
	uint8_t bytes[FRAME_ROOM];
};

struct net {
	struct world w;
	struct roost_switch *sw;
	struct sink port;
	struct sink host;
	struct sink client[NB_CLIENTS];
	uint32_t nb_kept;
	uint32_t nb_discarded;
	uint32_t nb_left; /* groups */
	bool waits;       /* no receiver is ready */
};

void net_init(struct net *net);
void net_fini(struct net *net);
/* A frame of client i; as roost_switch_from_client(). */
bool net_from(struct net *net, unsigned int i, const struct maker *m,
	      uint64_t now_ns);
void net_from_port(struct net *net, const struct maker *m);
/* Everything that waits for the port, at this time. */
void net_send(struct net *net, uint64_t now_ns);
uint64_t net_drops(const struct net *net, uint32_t client,
		   enum roost_sw_drop reason);
/* The last frame of a sink is a message of the CM. */
const struct roost_cm_msg *net_msg(const struct sink *sink);

#endif
