/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_PEER_SOCKET_H
#define ROOST_PMD_GLUE_PORT_PEER_SOCKET_H

/*
 * The Unix socket by which a vhost-user port meets its peer: whether it can be
 * made, or reached, said better than the drivers say it. A socket that a killed
 * process left is removed; anything else stays.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Before a port serves path, or connects to it (must_be_there: at once, and
 * does not try again). Returns 0; -ENOENT, -ENOTSOCK, -EBUSY (somebody serves
 * it), -ENAMETOOLONG, with cause and fix in why.
 */
int roost_peer_socket_prepare(const char *path, bool serves, bool must_be_there,
			      char *why, size_t size);

#endif
