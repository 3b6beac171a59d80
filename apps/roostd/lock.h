/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_LOCK_H
#define ROOST_APPS_ROOSTD_LOCK_H

/*
 * Open a file that only this user can open, and lock it (flock). flags: as of
 * open(2); a new file has mode 0600. Waits up to a second for who has it: a
 * daemon that ends.
 * Returns a descriptor, and path names that file; -EBUSY: another one has it;
 * -EINVAL: the file is not one of ours, *why says how; -errno. Thread: any.
 */
int roostd_lock_open(const char *path, int flags, const char **why);

#endif
