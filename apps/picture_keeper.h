/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PICTURE_KEEPER_H
#define ROOST_APPS_PICTURE_KEEPER_H

/*
 * The keeper of a picture: a process that sleeps until the picture's program
 * has ended, and removes the picture when no process has it in its environment
 * any more. It is no child of the program's, has a process group of its own and
 * none of its descriptors.
 */

/* Start the keeper of the picture at path, for this process and what it
 * executes. When this returns, the picture is locked (picture_dir.h). Returns
 * 0, -errno.
 */
int roost_picture_keep(const char *path);
/* The same for a daemon, which has locked it: the keeper removes it when the
 * daemon has ended, unless the next one has it by then.
 */
int roost_picture_keep_for_daemon(const char *path);

#endif
