/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_CHECK_H
#define ROOST_APPS_ROOSTD_SWITCH_CHECK_H

/*
 * What a client may send: what it could send through an HCA that it shares with
 * others. Addresses, VLAN, P_Key, source QPN and everything in a message of the
 * CM that names its sender must be its own. A connected QP can have any peer,
 * by ibv_modify_qp, so the destination QPN of RC and UC is free.
 *
 * Thread: a lane's (switch.h); roost_check_mad(): in turns.
 */

#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/lease.h"
#include "apps/roostd/switch/seen.h"

/*
 * Check a frame of a client, but for what a message of the CM says. room and
 * pkt: as for roost_sw_parse(); has no effect but that. Returns ROOST_SW_OK, or
 * why the frame must be dropped; *pkt is undefined then. Hot.
 */
enum roost_sw_drop
roost_check(const struct roost_lease *lease, const struct roost_sw_port *port,
	    uint16_t client, const struct roost_sw_frame *frame,
	    struct roost_sw_mad *room, struct roost_sw_pkt *pkt);
/* Check the message of a frame that has one, and that roost_check() took. */
enum roost_sw_drop roost_check_mad(const struct roost_lease *lease,
				   const struct roost_seen_table *seen,
				   uint16_t client,
				   const struct roost_sw_pkt *pkt);

#endif
