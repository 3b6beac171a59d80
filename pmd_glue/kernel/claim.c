/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/kernel/nl_link.h"
#include "pmd_glue/process/peer_trust.h"

#define TRIES 6u
#define WAIT_MIN_NS 5000000u
#define WAIT_SPREAD_NS 25000000u
/* Pending connections of processes that ask for our pid. */
#define BACKLOG 128
/* Retries of connect(2) to holders whose accept queue is full, for all holders
 * of one search together.
 */
#define RETRIES_MAX 100u
#define ASK_WAIT_NS 10000000u

#define NAME_MAX_BYTES 64u
/* The flag of a socket that listens, in /proc/net/unix. */
#define LISTENS 0x10000u

static void pause_ns(long ns)
{
	const struct timespec wait = { .tv_nsec = ns };

	nanosleep(&wait, NULL);
}

static uint64_t draw(void)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = (uint64_t)getpid() << 32 | (uint64_t)clock();
	return number;
}

/* name: without the leading zero byte of an abstract address. */
static socklen_t address(const char *name, struct sockaddr_un *addr)
{
	int len;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "%s",
		       name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)len);
}

/* ---- the holder of a claim ----------------------------------------------- */

/* Does the process have a capability with which it could open a port? */
static bool is_capable(pid_t pid)
{
	const uint64_t wanted = 1u << CAP_NET_RAW | 1u << CAP_NET_ADMIN;
	char path[64], line[256];
	uint64_t caps = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1)
			break;
	fclose(file);
	return (caps & wanted) != 0;
}

/* Get the credentials of the claim's holder. *retries: retries that are left.
 * Returns 0, or the error of connect(2); -EAGAIN: its accept queue stayed full.
 */
static int ask_holder(const char *name, unsigned int *retries,
		      struct ucred *cred)
{
	socklen_t cred_len = sizeof(*cred);
	struct sockaddr_un addr;
	socklen_t len = address(name, &addr);
	int ret = 0;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	while (connect(fd, (struct sockaddr *)&addr, len) < 0) {
		ret = -errno;
		if (ret != -EAGAIN || *retries == 0)
			break;
		(*retries)--;
		pause_ns(ASK_WAIT_NS);
		ret = 0;
	}
	if (!ret &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, cred, &cred_len) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Does the claim of this name count? Returns 0: no; -EBUSY: yes, with its
 * holder; -EMFILE or -ENFILE: the holder cannot be asked.
 */
static int check(const char *name, unsigned int *retries, pid_t *holder)
{
	struct ucred cred;

	switch (ask_holder(name, retries, &cred)) {
	case 0:
		if (!roost_uid_is_ours(cred.uid) && !is_capable(cred.pid))
			return 0;
		*holder = cred.pid;
		return -EBUSY;
	case -EMFILE:
		return -EMFILE;
	case -ENFILE:
		return -ENFILE;
	default: /* the holder is gone, or does not accept */
		return 0;
	}
}

/* ---- one claim among others ---------------------------------------------- */

/* Get the name of a listening socket from a line of /proc/net/unix. Returns
 * false if its name does not begin with prefix.
 */
static bool name_of_line(const char *line, const char *prefix,
			 char name[NAME_MAX_BYTES])
{
	char word[NAME_MAX_BYTES + 1];
	unsigned int flags;

	/* Num RefCount Protocol Flags Type St Inode Path */
	if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s @%64s", &flags, word) !=
		    2 ||
	    !(flags & LISTENS) || strlen(word) >= NAME_MAX_BYTES ||
	    strncmp(word, prefix, strlen(prefix)) != 0)
		return false;
	strcpy(name, word);
	return true;
}

/* Look for other claims that begin with prefix. Returns 0: none; -EBUSY, with
 * the holder; or another error.
 */
static int look_for_others(const char *prefix, const char *own, pid_t *holder)
{
	/* The thread may be in another network namespace than the process. */
	FILE *file = fopen("/proc/thread-self/net/unix", "re");
	char name[NAME_MAX_BYTES];
	unsigned int retries = RETRIES_MAX;
	char *line = NULL;
	size_t room = 0;
	int ret = 0;

	if (!file)
		return -errno;
	while (!ret && getline(&line, &room, file) > 0)
		if (name_of_line(line, prefix, name) && strcmp(name, own) != 0)
			ret = check(name, &retries, holder);
	free(line);
	fclose(file);
	return ret;
}

static int listen_at(const char *name)
{
	struct sockaddr_un addr;
	socklen_t len = address(name, &addr);
	int ret = 0;
	int fd;

	fd = roost_high_fd(
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, len) < 0 ||
	    listen(fd, BACKLOG) < 0)
		ret = -errno;
	if (!ret)
		ret = roost_fork_guard_add(fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static void give_up(int fd)
{
	roost_fork_guard_remove(fd);
	close(fd);
}

/* Returns the claim's socket; -EBUSY, with its holder; or another error. */
static int try_to_claim(const char *prefix, pid_t *holder)
{
	char own[NAME_MAX_BYTES];
	int ret, fd;

	snprintf(own, sizeof(own), "%s%016" PRIx64, prefix, draw());
	fd = listen_at(own);
	if (fd < 0)
		return fd;
	/* Claim first, then look: of two processes, at least one sees the
	 * other's claim.
	 */
	ret = look_for_others(prefix, own, holder);
	if (ret == 0)
		return fd;
	give_up(fd);
	return ret;
}

int roost_claim_take(struct roost_claim *claim, enum roost_claim_kind kind,
		     unsigned int ifindex, uint16_t vlan_id, pid_t *holder)
{
	char prefix[NAME_MAX_BYTES - 16];
	int fd = -EBUSY;

	if (claim->nb == ROOST_CLAIM_MAX)
		return -ENOSPC;
	if (kind == ROOST_CLAIM_PORT)
		roost_nl_link_find_parent(&ifindex, &vlan_id);
	snprintf(prefix, sizeof(prefix), "roost/%s/%u/%u/",
		 kind == ROOST_CLAIM_TAP ? "tap" : "port", ifindex, vlan_id);
	for (unsigned int i = 0; fd == -EBUSY && i < TRIES; i++) {
		if (i > 0)
			pause_ns((long)(WAIT_MIN_NS + draw() % WAIT_SPREAD_NS));
		fd = try_to_claim(prefix, holder);
	}
	if (fd < 0)
		return fd;
	claim->fds[claim->nb++] = fd;
	return 0;
}

void roost_claim_each(enum roost_claim_kind kind, unsigned int ifindex,
		      void (*take)(void *arg, uint16_t vlan_id, pid_t holder),
		      void *arg)
{
	FILE *file = fopen("/proc/thread-self/net/unix", "re");
	char prefix[NAME_MAX_BYTES - 16], name[NAME_MAX_BYTES];
	unsigned int retries = RETRIES_MAX;
	char *line = NULL;
	size_t room = 0;
	uint16_t vlan_id = 0, only;

	if (!file)
		return;
	/* An interface that is a VLAN counts as that VLAN of the other one. */
	if (kind == ROOST_CLAIM_PORT)
		roost_nl_link_find_parent(&ifindex, &vlan_id);
	only = vlan_id;
	snprintf(prefix, sizeof(prefix), "roost/%s/%u/",
		 kind == ROOST_CLAIM_TAP ? "tap" : "port", ifindex);
	while (getline(&line, &room, file) > 0) {
		pid_t holder = 0;

		if (!name_of_line(line, prefix, name) ||
		    sscanf(name + strlen(prefix), "%hu/", &vlan_id) != 1 ||
		    (only != 0 && vlan_id != only))
			continue;
		if (check(name, &retries, &holder) == -EBUSY)
			take(arg, only ? 0 : vlan_id, holder);
	}
	free(line);
	fclose(file);
}

void roost_claim_release(struct roost_claim *claim)
{
	while (claim->nb)
		give_up(claim->fds[--claim->nb]);
}

void roost_claim_serve(const struct roost_claim *claim)
{
	for (unsigned int i = 0; i < claim->nb; i++) {
		for (unsigned int k = 0; k < BACKLOG; k++) {
			int fd = accept4(claim->fds[i], NULL, NULL,
					 SOCK_CLOEXEC);

			if (fd < 0)
				break;
			close(fd);
		}
	}
}
