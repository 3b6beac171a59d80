/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_LISTEN_H
#define ROOST_APPS_ROOSTD_LISTEN_H

/*
 * The socket at which clients attach. The hub's has an abstract name; the
 * service's is a file, whose mode says who may try.
 *
 * A file appears when the daemon listens, and takes the place of one that a
 * daemon left that was killed. That of a living daemon stays.
 *
 * Thread: the daemon's first one.
 */

#include <stdint.h>
#include <sys/types.h>

/* Take the name of this user's hub: nobody can connect yet. Returns a socket
 * that does not block; -EADDRINUSE: this user has a hub; -errno.
 */
int roostd_listen_as_hub(void);
void roostd_listen_begin(int fd);

/* Does a daemon serve there? The folder of ROOST_SHARE_SYSTEM_SOCKET is made:
 * the state of ports is in it, too. Returns 0: no; -EADDRINUSE; -EINVAL: the
 * path is too long.
 */
int roostd_listen_look(const char *path);
struct roostd_listener {
	int fd; /* -1: none */
	const char *path;
	dev_t dev; /* of the file at the path */
	ino_t ino;
};

/*
 * Listen at a path, which stays the caller's, with a socket of that type
 * (SOCK_SEQPACKET, SOCK_STREAM), that mode and group (-1: as it comes). The
 * socket does not block. Returns 0; as roostd_listen_look();
 * -EEXIST: something else is there; -EBUSY: another daemon starts or ends
 * there; -errno. While it starts and ends it has PATH.lock.
 */
int roostd_listen_at(const char *path, int type, mode_t mode, gid_t gid,
		     struct roostd_listener *listener);
/* Close it, and remove the file, if it is this socket's. */
void roostd_listen_end(struct roostd_listener *listener);

#endif
