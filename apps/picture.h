/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PICTURE_H
#define ROOST_APPS_PICTURE_H

/*
 * The launcher's part of a picture (lib/sysfs/picture.h): it makes one for a
 * program and its children, with what is known before a device is open, and
 * sees to its end. Processes that open a device write the rest. A program whose
 * ports are all those of one daemon, in its order, gets the picture that the
 * daemon keeps.
 *
 * A picture is a directory with a random name in memory (/dev/shm), or where
 * that cannot be, in $XDG_RUNTIME_DIR or /tmp. Its owner alone can write there,
 * and everybody can read it, as sysfs. A file in it is locked by a process of
 * its own, the keeper, which removes the picture when the program and all
 * processes with its environment have ended. If the keeper is killed, the next
 * launcher of the same user finds the lock free and removes it.
 */

#include <roost/config.h>
#include "lib/sysfs/variable.h"

#define ROOST_PICTURE_ERR_MAX 512

/*
 * Find a daemon's picture of the devices of a resolved configuration, or make
 * one for this process and what it executes, and start its keeper. path:
 * ROOST_PICTURE_PATH_MAX bytes. Removes pictures that nobody keeps. Returns 0,
 * or -errno with a line in err; then there is none.
 */
int roost_picture_start(const struct roost_config *config, char *path,
			char err[ROOST_PICTURE_ERR_MAX]);

#endif
