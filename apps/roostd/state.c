/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/roostd/lock.h"
#include "pmd_glue/process/report.h"

#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)

/* ---- contents ------------------------------------------------------------ */

/* What never changes, so that a tag proves it: the rest changes with each
 * client.
 */
static void make_tag(const struct roostd_state *state,
		     uint8_t tag[ROOST_SIPHASH_TAG_LEN])
{
	const struct roost_lease_state *lease = &state->lease;
	uint8_t bytes[offsetof(struct roostd_state, tag) +
		      sizeof(lease->mac_key) + sizeof(lease->qpn_seed) +
		      sizeof(lease->comm_seed)];
	uint8_t *at = bytes;

	memcpy(at, state, offsetof(struct roostd_state, tag));
	at += offsetof(struct roostd_state, tag);
	memcpy(at, lease->mac_key, sizeof(lease->mac_key));
	at += sizeof(lease->mac_key);
	memcpy(at, lease->qpn_seed, sizeof(lease->qpn_seed));
	at += sizeof(lease->qpn_seed);
	memcpy(at, lease->comm_seed, sizeof(lease->comm_seed));
	roost_siphash_tag(lease->mac_key, bytes, sizeof(bytes), tag);
}

static int draw(void *bytes, size_t len)
{
	return getrandom(bytes, len, 0) == (ssize_t)len ? 0 : -EIO;
}

/* The state of the first daemon; *state is zeros. */
static int fill(struct roostd_state *state)
{
	struct roost_lease_state *lease = &state->lease;
	int ret = draw(lease->mac_key, sizeof(lease->mac_key));

	if (!ret)
		ret = draw(lease->qpn_seed, sizeof(lease->qpn_seed));
	if (!ret)
		ret = draw(lease->comm_seed, sizeof(lease->comm_seed));
	if (!ret)
		ret = draw(state->mac, sizeof(state->mac));
	if (ret)
		return ret;
	state->mac[0] = 0x02; /* local, one station: as that of a bridge */
	state->magic = ROOSTD_STATE_MAGIC;
	state->version = ROOSTD_STATE_VERSION;
	state->size_bytes = sizeof(*state);
	make_tag(state, state->tag);
	return 0;
}

static bool is_whole(const struct roostd_state *state)
{
	uint8_t tag[ROOST_SIPHASH_TAG_LEN];

	if (state->magic != ROOSTD_STATE_MAGIC ||
	    state->version != ROOSTD_STATE_VERSION ||
	    state->size_bytes != sizeof(*state) ||
	    (state->lease.magic != 0 &&
	     state->lease.magic != ROOST_LEASE_STATE_MAGIC) ||
	    state->lease.nb_blocks_used > ROOST_LEASE_BLOCKS ||
	    state->lease.nb_prefixes_used > ROOST_LEASE_PREFIXES)
		return false;
	make_tag(state, tag);
	return memcmp(tag, state->tag, sizeof(tag)) == 0;
}

/* ---- the file ------------------------------------------------------------ */

/* Write a new file beside it, and put that in its place: nobody sees half of
 * one, and pages that are there cannot be missing later.
 */
static int replace(const char *path, const struct roostd_state *state)
{
	char name[ROOSTD_STATE_PATH_MAX + 8];
	ssize_t done;
	int fd, ret = 0;

	snprintf(name, sizeof(name), "%s.new", path);
	unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | OPEN_FLAGS, 0600);
	if (fd < 0)
		return -errno;
	done = write(fd, state, sizeof(*state));
	if (done < 0)
		ret = -errno;
	else if (done != (ssize_t)sizeof(*state))
		ret = -ENOSPC;
	/* A file with holes would take memory, or none, at a store. */
	if (!ret)
		ret = -posix_fallocate(fd, 0, sizeof(*state));
	if (!ret && rename(name, path) != 0)
		ret = -errno;
	if (ret)
		unlink(name);
	close(fd);
	return ret;
}

/* Returns 0; -ENOENT; -EBUSY: another daemon has it; -EINVAL: *why says what is
 * wrong with it; or another error.
 */
static int map(struct roostd_state_file *file, const char **why)
{
	int fd = roostd_lock_open(file->path, O_RDWR, why);
	struct roostd_state *state;
	struct stat info;

	if (fd < 0)
		return fd;
	if (fstat(fd, &info) != 0 || info.st_size != sizeof(*state)) {
		*why = "its size is wrong";
		close(fd);
		return -EINVAL;
	}
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0);
	if (state == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	if (!is_whole(state)) {
		*why = "its contents are damaged";
		munmap(state, sizeof(*state));
		close(fd);
		return -EINVAL;
	}
	file->fd = fd;
	file->state = state;
	return 0;
}

static void tell_unkept(const struct roostd_state_file *file, const char *label,
			int error)
{
	roost_report("%s: cannot keep its state in %s: %s; its clients end "
		     "with it; see the owner and the mode of the directory",
		     label, file->path,
		     error == -EBUSY ? "another roostd has it"
				     : strerror(-error));
}

/* Map the file; make it, or a new one where it cannot be used. */
static int open_file(struct roostd_state_file *file,
		     const struct roostd_state *fresh, const char *label)
{
	const char *why;
	int ret = map(file, &why);

	if (ret == -EINVAL)
		roost_report("%s: %s is not used: %s; it begins anew, and "
			     "clients of before must be started again",
			     label, file->path, why);
	if (ret == -EINVAL || ret == -ENOENT) {
		ret = replace(file->path, fresh);
		if (!ret)
			ret = map(file, &why);
	}
	if (ret)
		tell_unkept(file, label, ret);
	return ret;
}

int roostd_state_open(struct roostd_state_file *file, const char *path,
		      const char *label)
{
	struct roostd_state *fresh;
	int ret;

	*file = (struct roostd_state_file){ .fd = -1 };
	fresh = mmap(NULL, sizeof(*fresh), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return -ENOMEM;
	ret = fill(fresh);
	if (!ret && path &&
	    (size_t)snprintf(file->path, sizeof(file->path), "%s", path) <
		    sizeof(file->path) &&
	    open_file(file, fresh, label) == 0) {
		munmap(fresh, sizeof(*fresh));
		return 0;
	}
	if (ret)
		munmap(fresh, sizeof(*fresh));
	else
		file->state = fresh;
	return ret;
}

void roostd_state_close(struct roostd_state_file *file, bool forget)
{
	if (!file->state)
		return;
	munmap(file->state, sizeof(*file->state));
	file->state = NULL;
	if (file->fd < 0)
		return;
	if (forget)
		unlink(file->path);
	close(file->fd);
	file->fd = -1;
}

/* ---- the hub ------------------------------------------------------------- */

static bool is_private(const char *dir)
{
	struct stat info;

	return stat(dir, &info) == 0 && S_ISDIR(info.st_mode) &&
	       info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

const char *roostd_state_hub_path(char path[ROOSTD_STATE_PATH_MAX])
{
	const char *dirs[2] = { getenv("XDG_RUNTIME_DIR") };
	char of_user[32];
	struct stat net;

	snprintf(of_user, sizeof(of_user), "/run/user/%u", geteuid());
	dirs[1] = of_user;
	if (stat("/proc/self/ns/net", &net) != 0)
		return NULL;
	for (unsigned int i = 0; i < 2; i++) {
		int len;

		if (!dirs[i] || dirs[i][0] != '/' || !is_private(dirs[i]))
			continue;
		len = snprintf(path, ROOSTD_STATE_PATH_MAX,
			       "%s/roost-hub-%lu.state", dirs[i],
			       (unsigned long)net.st_ino);
		if (len < (int)ROOSTD_STATE_PATH_MAX)
			return path;
	}
	return NULL;
}
