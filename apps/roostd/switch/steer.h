/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_STEER_H
#define ROOST_APPS_ROOSTD_SWITCH_STEER_H

/*
 * Where a frame goes. Frames from the port and from clients take the same way,
 * so that two clients reach each other as behind one HCA. Frames from clients
 * passed roost_check() before.
 *
 * Thread: the port's (crew.h).
 */

#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/group.h"
#include "apps/roostd/switch/lease.h"
#include "apps/roostd/switch/seen.h"

enum roost_steer_to {
	ROOST_STEER_DROP,
	ROOST_STEER_CLIENT,
	ROOST_STEER_GROUP, /* all members; from a client: the port, too */
	ROOST_STEER_PORT,
	ROOST_STEER_HOST,   /* the daemon's own */
	ROOST_STEER_ANSWER, /* nobody: the daemon answers */
};

struct roost_steer {
	enum roost_steer_to to;
	enum roost_sw_drop drop;         /* DROP: why */
	uint16_t client;                 /* CLIENT */
	const struct roost_group *group; /* GROUP; NULL: no member here */
	struct roost_cm_msg answer;      /* ANSWER */
};

/* A frame from the port that roost_sw_parse() took apart with this result.
 * Hot.
 */
void roost_steer_from_port(const struct roost_lease *lease,
			   const struct roost_sw_port *port,
			   const struct roost_seen_table *seen,
			   const struct roost_sw_pkt *pkt,
			   enum roost_sw_drop parsed, struct roost_steer *way);

/* A checked frame of a client, or one that the daemon made. Hot. */
void roost_steer_from_client(const struct roost_lease *lease,
			     const struct roost_seen_table *seen,
			     const struct roost_sw_pkt *pkt,
			     struct roost_steer *way);

#endif
