/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_ATTACH_H
#define ROOST_PMD_GLUE_SHARE_ATTACH_H

/*
 * How a client meets the daemon: the connection, and the check of what the
 * daemon grants. The daemon is trusted with frames as a NIC is, and with
 * nothing else: each number that it sends is checked here, once.
 */

#include <stdint.h>

#include "pmd_glue/channel/memory.h"
#include "pmd_glue/share/message.h"
#include "pmd_glue/share/page.h"

/* What ATTACHED brought, checked. */
struct roost_share_grant {
	struct roost_share_attached attached; /* label is printable */
	struct roost_shm_memory memory; /* the daemon's, for this client */
	int doorbell;
	const struct roost_share_page *page;
};

/*
 * The service that is meant: of "default" the system's daemon, if it listens,
 * else the hub; of others the service itself. Thread: any.
 */
const char *roost_share_pick(const char *service);

/*
 * Connect to a service: "hub", or the path of a socket, with or without the
 * number of a port. The daemon of the hub runs as our user. label: the port in
 * the line of an error, which is reported. Returns 0 and a socket that does not
 * block and is closed in forked children; -ENOENT, -ECONNREFUSED (no daemon),
 * -EACCES, -EPERM (another user's), or the error of socket(2). Thread: any.
 */
int roost_share_connect(const char *service, const char *label, int *fd);

/* The same while the daemon may be away: says nothing, and does not wait for
 * room in its backlog.
 */
int roost_share_connect_again(const char *service, int *fd);

/*
 * Check an ATTACHED, and map what came with it; packet keeps no descriptor.
 * Returns 0; the status of a refusal; -EPROTO, -EPROTONOSUPPORT, -EPERM,
 * -EMSGSIZE, -ENOMEM: *what says what is wrong with it. Thread: any.
 */
int roost_share_grant_take(struct roost_share_packet *packet,
			   struct roost_share_grant *grant, const char **what);

/* Unmap and close what nobody has taken: a memory with a base, a doorbell that
 * is not -1, a page that is not NULL.
 */
void roost_share_grant_drop(struct roost_share_grant *grant);

#endif
