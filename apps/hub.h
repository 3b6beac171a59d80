/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_HUB_H
#define ROOST_APPS_HUB_H

/*
 * The launcher's part of a hub: one runs as long as the program does.
 */

/* The longest line of an error, the terminating zero included. */
#define ROOST_HUB_ERR_MAX 512

/*
 * Connect to the hub of this user, and start it (roostd --hub) if there is
 * none. exe: the launcher's own path, beside which roostd is looked for. The
 * connection stays open in this process and in the programs that it executes,
 * and keeps the hub from ending before the program has opened a device.
 * Returns 0, or -errno with a line in err.
 */
int roost_hub_hold(const char *exe, char err[ROOST_HUB_ERR_MAX]);

#endif
