/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_PEER_TRUST_H
#define ROOST_PMD_GLUE_PROCESS_PEER_TRUST_H

/*
 * Whom a port that has its peer behind a Unix socket believes. net_memif and
 * vhost-user take the memory, the lengths and the offsets that the other side
 * gives them as they are, so the other side can end this process, or do with it
 * what it likes. It is therefore a process of the same user, of root, or of a
 * user that the configuration names (peer_users), by what the kernel says
 * (SO_PEERCRED); all others are hung up on before a byte of theirs is read.
 *
 * Thread: any.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <roost/config.h>

struct roost_peer_trust {
	const char *label; /* what users call the port */
	/* Besides our own and root; others may join only before it is used. */
	struct roost_users users;
	/* Nothing is told until then; what is not told is counted. */
	_Atomic uint64_t quiet_until_ns;
	atomic_uint nb_untold;
};

/*
 * Is it this user, as this process sees users, or root? In a user namespace all
 * users that it does not map look like one (65534), and so nobody is that one.
 */
bool roost_uid_is_ours(uid_t uid);

/* Is the peer of a socket that is connected to be believed? */
bool roost_peer_is_trusted(const struct roost_peer_trust *trust, int fd);

/* It is not, and was hung up on: one line on stderr says so, not more than one
 * in ten seconds.
 */
void roost_peer_report(struct roost_peer_trust *trust, int fd);

#endif
