/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_PROCESS_H
#define ROOST_EVENT_PROCESS_H

/*
 * The identity of this process. A child of fork(2) has a copy of every object
 * and none of the threads; eventfds, sockets and the memory of DPDK belong to
 * its parent, too. So an object remembers the process that made it, and in
 * another process it is dead: calls return an error and touch nothing.
 *
 * A process has a number that none of its ancestors had. The number is in a
 * page that the kernel clears in every child (MADV_WIPEONFORK), whichever call
 * made the child. vfork(2) and posix_spawn(3) are different: their child uses
 * the parent's memory, and the parent's number, until it executes. Where the
 * kernel cannot clear the page (before Linux 4.14), handlers of fork(3) do it.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* The number of this process, never 0. In a child, the first call runs the
 * registered functions; after fork(3) that has happened already. Thread: any;
 * in a child that was made by a bare system call, the only thread.
 */
uint32_t roost_process(void);

/*
 * A function that a module runs in a child, before the program continues there:
 * it makes locks new that a vanished thread may hold, and forgets the parent's
 * objects. Functions run in the order of registration. They must not wait,
 * allocate, or touch memory that is shared with the parent. They must not close
 * descriptors: in a child that was made by a bare system call, the numbers may
 * belong to other files by then.
 */
struct roost_process_child {
	void (*run)(void);
	STAILQ_ENTRY(roost_process_child) link;
};

/* child lives as long as the process. Thread: constructors. */
void roost_process_at_child(struct roost_process_child *child);

/*
 * clear: every child finds these pages zeroed, whichever call made it (from
 * Linux 4.14 on). The pages are private memory; begin and size are multiples of
 * the page size, otherwise the call does nothing. keep: undo clear; to be
 * called before the memory is freed. Thread: any.
 */
void roost_process_clear(void *pages, size_t bytes);
void roost_process_keep(void *pages, size_t bytes);

/*
 * Work between hold and release is, in a child, either done or not begun. To be
 * held briefly: between the two, do not call fork, and do not wait for another
 * thread, except for a lock that is held as briefly. The lock is not recursive.
 * Thread: any.
 */
void roost_process_fork_hold(void);
void roost_process_fork_release(void);

#endif
