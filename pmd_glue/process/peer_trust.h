/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_PEER_TRUST_H
#define ROOST_PMD_GLUE_PROCESS_PEER_TRUST_H

/*
 * Which peers a port trusts that meets its peer at a UNIX socket. net_memif and
 * vhost-user use the memory, lengths and offsets from the peer unchecked, so
 * the peer can crash this process or take it over. A trusted peer is therefore
 * a process of the same user, of root, or of a user that the configuration
 * names (peer_users), as the kernel reports it (SO_PEERCRED). The connection of
 * any other peer is closed before one byte is read from it.
 *
 * Thread: any.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <roost/config.h>

struct roost_peer_trust {
	const char *label; /* the user's name of the port */
	/* Trusted users besides our own and root; constant once the port
	 * accepts or connects.
	 */
	struct roost_users users;
	/* No report before this time. */
	_Atomic uint64_t quiet_until_ns;
	atomic_uint nb_untold; /* refused peers since the last report */
};

/*
 * Is uid this process's user, or root? In a user namespace all unmapped users
 * appear as one uid (65534), so 65534 counts as no user.
 */
bool roost_uid_is_ours(uid_t uid);

/* Is the peer of the connected socket fd trusted? */
bool roost_peer_is_trusted(const struct roost_peer_trust *trust, int fd);

/* Report on stderr that the untrusted peer of fd was refused; at most one line
 * in ten seconds.
 */
void roost_peer_report(struct roost_peer_trust *trust, int fd);

#endif
