/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_HUB_H
#define ROOST_PMD_GLUE_SHARE_HUB_H

/*
 * Where daemons listen.
 *
 * The socket of a user's hub is an abstract name, which belongs to the network
 * namespace; there is no file, and the kernel releases the name with the hub.
 * Any user may take it, so who connects checks whose process listens.
 */

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The system's service. */
#define ROOST_SHARE_SYSTEM_SOCKET "/run/roost/roostd.sock"

/* The address of this user's hub. Returns its length. Thread: any. */
static inline socklen_t roost_share_hub_address(struct sockaddr_un *addr)
{
	int len;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* An abstract name begins with a zero byte, and ends without one. */
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
		       "roost/%u/hub", getuid());
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)len);
}

#endif
