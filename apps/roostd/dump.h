/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_DUMP_H
#define ROOST_APPS_ROOSTD_DUMP_H

/*
 * Captures of the daemon's frames (pmd_glue/dump/dump.h). A frame is shown
 * once, where it comes in: from the network, or from a client. What the
 * daemon's own host sends and receives, the engine of the uplink shows. A frame
 * that clients exchange by a channel of their own is not seen here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/port.h"
#include "lib/engine/core/tap.h"

/* Add all ports as sources. Thread: the control thread, while the daemon's one
 * waits for it.
 */
void roostd_dump_start(struct roostd_port *ports);
void roostd_dump_stop(void);

/* ---- frames: hot, of a port for which is_shown is true. Thread: the
 * lane's.
 */

/* A frame comes in; client: from whom, ROOST_CLIENT_NONE: the network. */
void roostd_dump_begin(struct roostd_lane *lane, uint16_t client,
		       const struct roost_sw_frame *frame,
		       struct roost_tap_mark *mark);
/* Its fate is known: the switch's last_drop, and who got it. */
void roostd_dump_end(const struct roostd_lane *lane, uint16_t client,
		     const struct roost_tap_mark *mark);

#endif
