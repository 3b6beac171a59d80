/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SERVICE_H
#define ROOST_APPS_SERVICE_H

/*
 * The launcher finds the daemon whose ports a program gets when nobody names a
 * port: the one that ROOST_SERVICE names, else the system's, else the user's
 * hub (hub.h).
 */

#include <roost/config.h>

/*
 * How many ports has the daemon at this socket? Waits a second for its answer,
 * and half a second for a daemon that is being restarted.
 * Returns at least 1; -errno: none answers. -ENOENT, -ECONNREFUSED: there is
 * none; -EACCES: it is not for this user; -ETIMEDOUT: it says nothing.
 */
int roost_service_ask(const char *path);

/*
 * Put a port of the daemon's for each one that it has in the place of a port
 * that names none of them: `default`, and the value of ROOST_SERVICE (NULL: not
 * set). system: the path of the system's socket. If the system's daemon is
 * there and cannot be used, one line on stderr says so; then it is the hub.
 */
void roost_service_find(struct roost_config *config, const char *variable,
			const char *system);

#endif
