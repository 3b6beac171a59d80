/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_FORK_GUARD_H
#define ROOST_PMD_GLUE_PROCESS_FORK_GUARD_H

/*
 * Closes descriptors in forked children. Listening sockets and claims must not
 * stay open in a child: it would hold a link's end after its parent died.
 * FD_CLOEXEC does this at exec; the fork guard does it for a fork without exec.
 */

/* Close fd in children that are forked from now on. Returns 0; -ENOMEM,
 * -ENOSPC: fd is not guarded. Thread: any.
 */
int roost_fork_guard_add(int fd);
/* Guard fd no more; to be called before fd is closed. Thread: any. */
void roost_fork_guard_remove(int fd);

#endif
