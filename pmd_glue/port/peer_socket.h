/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_PEER_SOCKET_H
#define ROOST_PMD_GLUE_PORT_PEER_SOCKET_H

/*
 * Checks of the UNIX socket of a vhost-user port: can it be made, or reached?
 * The drivers' own errors have no cause and fix. A socket file that a killed
 * process left is removed; any other file stays.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * To be called before a port serves path, or connects to it. must_be_there: the
 * port connects at once and does not try again. Returns 0; -ENOENT, -ENOTSOCK,
 * -EBUSY (another process serves it), -ENAMETOOLONG, with cause and fix in why.
 */
int roost_peer_socket_prepare(const char *path, bool serves, bool must_be_there,
			      char *why, size_t size);

#endif
