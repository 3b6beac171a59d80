/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PICTURE_DIR_H
#define ROOST_APPS_PICTURE_DIR_H

/*
 * The directory of a picture: made, removed, and who uses it. The launcher
 * makes one with a random name, and a daemon one with a name that its clients
 * know and the next daemon takes over: a service beside its socket, a hub in
 * one of the places below.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "lib/sysfs/variable.h"

/* Where pictures may be, the best first; NULL: not here. */
#define ROOST_PICTURE_PLACES 3u
const char *roost_picture_place(unsigned int i);

/* Make an empty picture in the directory base. path: ROOST_PICTURE_PATH_MAX
 * bytes. Returns 0, -errno.
 */
int roost_picture_make(const char *base, char *path);
/* Become its keeper: nobody sweeps it as long as the descriptor, or a copy of
 * it, is open. Within two seconds after it was made. Returns the descriptor,
 * -EAGAIN: it has a keeper, or was removed; -errno.
 */
int roost_picture_lock(const char *path);
/*
 * The picture of this user's hub in a directory; a hub belongs to a network
 * namespace. path: ROOST_PICTURE_PATH_MAX bytes. Returns 0, -ENAMETOOLONG,
 * -ENOENT (/proc is not there).
 */
int roost_picture_hub_path(const char *base, char *path);
/* The same of a service whose socket is at this path. */
int roost_picture_service_path(const char *socket, char *path);
/* Is there a directory at the path that belongs to this user? */
bool roost_picture_is_own(const char *path);
/* Make that directory, or take over one that a daemon has left, and become its
 * keeper, as above. A keeper that removes it is waited for. Returns -EEXIST:
 * something of another user is there.
 */
int roost_picture_take(const char *path);

/* Remove the pictures in base that are this user's and that nobody keeps. */
void roost_picture_sweep(const char *base);
/* A process with this picture in its environment; 0: there is none that this
 * process may look into.
 */
pid_t roost_picture_user(const char *path);

#endif
