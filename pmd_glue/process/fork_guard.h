/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_FORK_GUARD_H
#define ROOST_PMD_GLUE_PROCESS_FORK_GUARD_H

/*
 * Descriptors whose existence other processes can see (listening sockets,
 * claims) must not live on in children: a child that the application forked
 * would hold a link's end after its parent died. FD_CLOEXEC covers exec; this
 * covers a fork without one.
 */

/* Close fd in children forked from now on. Returns 0; -ENOMEM, -ENOSPC: it is
 * not guarded. Thread: any.
 */
int roost_fork_guard_add(int fd);
/* Before the fd is closed. Thread: any. */
void roost_fork_guard_remove(int fd);

#endif
