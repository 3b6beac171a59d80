/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_HIGH_FD_H
#define ROOST_EVENT_HIGH_FD_H

/*
 * High numbers for the descriptors that Roost has for itself. Low ones are the
 * program's: it may count on the lowest free number, have select(2) look at
 * them, or close all that it does not know and open files there, which a thread
 * of ours would then read or write. Shells keep their descriptors in the same
 * way.
 *
 * The number is FD_SETSIZE or more where RLIMIT_NOFILE allows twice as many;
 * else it is in the last quarter of what is allowed.
 */

/*
 * Move fd: the result is the same file at a high number, with FD_CLOEXEC, and
 * fd is closed. To be called at once, before anything else knows fd. Returns fd
 * itself if it is high already, if no high number is free, or if it is
 * negative, with errno as it was. Thread: any.
 */
int roost_high_fd(int fd);

#endif
