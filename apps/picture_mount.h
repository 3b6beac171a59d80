/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PICTURE_MOUNT_H
#define ROOST_APPS_PICTURE_MOUNT_H

/*
 * A picture (lib/sysfs/picture.h) in the place of /sys/class/infiniband* and
 * /dev/infiniband, for programs that call the kernel without the C library: in
 * a mount namespace of this process and what it executes. Who may not make one
 * makes it in a user namespace, in which only its own user and group have
 * numbers.
 */

#define ROOST_PICTURE_MOUNT_ERR_MAX 512

/*
 * Go into a new mount namespace and mount the picture there. With one thread
 * only. After an error the process is in no state to go on.
 * Returns 0, or -errno with a line in err.
 */
int roost_picture_mount(const char *picture,
			char err[ROOST_PICTURE_MOUNT_ERR_MAX]);

#endif
