/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/peer_trust.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"

/* The kernel's default (/proc/sys/kernel/overflowuid), rarely changed. */
#define OVERFLOW_UID 65534u
#define QUIET_NS 10000000000ull

/* Are all users mapped in this user namespace? */
static bool all_users_are_mapped(void)
{
	unsigned int inside = 1, outside = 1, nb = 0;
	FILE *file = fopen("/proc/self/uid_map", "re");

	if (!file)
		return false;
	if (fscanf(file, "%u %u %u", &inside, &outside, &nb) != 3)
		nb = 0;
	fclose(file);
	return inside == 0 && outside == 0 && nb == UINT32_MAX;
}

static bool is_somebody(uid_t uid)
{
	return uid != (uid_t)-1 &&
	       (uid != OVERFLOW_UID || all_users_are_mapped());
}

bool roost_uid_is_ours(uid_t uid)
{
	return (uid == geteuid() || uid == 0) && is_somebody(uid);
}

static bool is_among(const struct roost_users *users, uid_t uid)
{
	for (unsigned int i = 0; i < users->nb; i++)
		if (users->v[i] == uid)
			return is_somebody(uid);
	return false;
}

static bool credentials(int fd, struct ucred *cred)
{
	socklen_t len = sizeof(*cred);

	*cred = (struct ucred){ .uid = (uid_t)-1 };
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, cred, &len) == 0;
}

bool roost_peer_is_trusted(const struct roost_peer_trust *trust, int fd)
{
	struct ucred cred;

	return credentials(fd, &cred) && (roost_uid_is_ours(cred.uid) ||
					  is_among(&trust->users, cred.uid));
}

void roost_peer_report(struct roost_peer_trust *trust, int fd)
{
	uint64_t until_ns = atomic_load(&trust->quiet_until_ns);
	uint64_t now_ns = roost_now_ns();
	unsigned int others;
	struct ucred cred;
	char more[32] = "";

	if (now_ns < until_ns ||
	    !atomic_compare_exchange_strong(&trust->quiet_until_ns, &until_ns,
					    now_ns + QUIET_NS)) {
		atomic_fetch_add(&trust->nb_untold, 1);
		return;
	}
	others = atomic_exchange(&trust->nb_untold, 0);
	if (others)
		snprintf(more, sizeof(more), " (%u more since)", others);
	credentials(fd, &cred);
	roost_report("%s: process %d of user %d is at the other end of the "
		     "socket: hung up%s; end it, or trust that user with "
		     "--peer-users %d",
		     trust->label, cred.pid, (int)cred.uid, more,
		     (int)cred.uid);
}
