/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_SYSFS_VARIABLE_H
#define ROOST_SYSFS_VARIABLE_H

/* The environment variable with the path of the picture (picture.h) that
 * belongs to a program and its children. Set by the launcher.
 */
#define ROOST_PICTURE_VARIABLE "ROOST_PICTURE"

/* The longest path of a picture, the terminating zero included. */
#define ROOST_PICTURE_PATH_MAX 256u

#endif
