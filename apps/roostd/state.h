/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_STATE_H
#define ROOST_APPS_ROOSTD_STATE_H

/*
 * What a port keeps while no daemon runs: the keys and serial numbers of leases
 * (switch/lease.h), and the MAC of a hub. It is a file of the daemon's user,
 * which nobody else can read or write, mapped into the daemon. A change is a
 * store in memory: the kernel has it when the daemon is killed in the next
 * instruction. It is not written to a disk: no client survives the machine.
 *
 * One daemon at a time has the file (lock.h). A file that is not as the daemon
 * left it (owner, mode, size, contents) is not used, which one line says, and
 * is replaced by a new one: then clients of before cannot come back.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/switch/lease.h"
#include "apps/roostd/switch/siphash.h"

#define ROOSTD_STATE_MAGIC 0x72647374u
#define ROOSTD_STATE_VERSION 1u
#define ROOSTD_STATE_PATH_MAX 128u

/* The contents of the file. */
struct roostd_state {
	uint32_t magic;
	uint32_t version;
	uint32_t size_bytes; /* sizeof(struct roostd_state) */
	uint8_t mac[6];      /* drawn for a hub */
	uint8_t zero[2];
	/* Of all above and the keys of the lease, under its mac_key. */
	uint8_t tag[ROOST_SIPHASH_TAG_LEN];
	struct roost_lease_state lease;
};

struct roostd_state_file {
	struct roostd_state *state; /* mapped; NULL: not open */
	int fd;                     /* -1: nothing is kept */
	char path[ROOSTD_STATE_PATH_MAX];
};

/*
 * Open the state at path; label: the port, in reports. path NULL, and a file
 * that cannot be had: the state is in memory alone, *file keeps nothing (fd is
 * -1); what is wrong with the file is reported.
 * Returns 0; -ENOMEM; -EIO: there are no random numbers.
 */
int roostd_state_open(struct roostd_state_file *file, const char *path,
		      const char *label);
/* forget: remove the file, too: there is no client left. A file that is not
 * open: nothing.
 */
void roostd_state_close(struct roostd_state_file *file, bool forget);

/*
 * The path for this user's hub: in XDG_RUNTIME_DIR, else /run/user/UID, if that
 * is a directory of this user alone. A hub belongs to a network namespace, and
 * so does its file. Returns path, or NULL: there is no such directory.
 */
const char *roostd_state_hub_path(char path[ROOSTD_STATE_PATH_MAX]);

#endif
