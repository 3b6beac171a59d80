/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PRELOAD_PATH_H
#define ROOST_PRELOAD_PATH_H

/*
 * Which paths mean Roost's devices, and where they lead.
 *
 * The picture (lib/sysfs/picture.h) is a directory whose tree repeats that of
 * the system: what a program calls /sys/class/infiniband/roost0 is at
 * PICTURE/sys/class/infiniband/roost0. So a path is rewritten by putting the
 * picture's path in front, and a name in the picture is the program's name
 * behind it. These trees are in the picture, and nothing else:
 *
 *	/sys/class/infiniband, /sys/class/infiniband_*
 *	/sys/devices/infiniband_roost	(the devices that they link to)
 *	/dev/infiniband
 *
 * The kernel resolves what is below them, links and `..` included.
 *
 * Thread: any, and signal handlers. No function allocates or changes errno,
 * unless it says so.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/sysfs/variable.h"

/* Use this picture; NULL or a path that is too long: none. Called once, before
 * all others.
 */
void roost_preload_set_picture(const char *path);

/*
 * Can the path mean a device of ours? All those paths have this word in them,
 * unless they are relative to a directory of the picture, which needs no
 * rewriting. This is what any other path costs.
 */
bool roost_preload_may_be_ours(const char *path);

struct roost_preload_path {
	char buf[PATH_MAX];
	/* A file of /dev/infiniband. In the picture it is a link to a device
	 * that exists; for the program it is the device.
	 */
	bool is_node;
};

/*
 * Find the path that the kernel is to get for path, relative to dirfd
 * (AT_FDCWD: to the working directory): path itself, or a path in to->buf.
 * Returns NULL and sets errno to ENAMETOOLONG if the latter has no room.
 */
const char *roost_preload_rewrite(int dirfd, const char *path,
				  struct roost_preload_path *to);

/* Does the file of the picture that path was rewritten to (else: false) refuse
 * to be opened with these flags? Files of sysfs that nobody has the permission
 * to write refuse root, too, and nobody can make one. Then errno is EACCES.
 */
bool roost_preload_refuses(const char *path, struct roost_preload_path *to,
			   int flags);

/* The bytes at the start of path that the program does not know: the length of
 * the picture's path if path, of len bytes, is in a tree there; 0 otherwise.
 */
size_t roost_preload_hidden(const char *path, size_t len);

#endif
