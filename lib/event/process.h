/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_PROCESS_H
#define ROOST_EVENT_PROCESS_H

/*
 * Which process this is. A child of fork(2) has a copy of every object and
 * none of the threads; eventfds, sockets and the memory of DPDK are its
 * parent's, too. So objects remember the process that made them, and in
 * another one they are dead: calls answer an error and touch nothing.
 *
 * A process has a number that none of its ancestors had. It is kept in a page
 * that the kernel clears in every child (MADV_WIPEONFORK), however that was
 * made; vfork(2) and posix_spawn(3) make none: their child uses the parent's
 * memory, and the parent's number, until it executes. Where the kernel cannot
 * clear the page (before Linux 4.14), handlers of fork(3) do it.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* The number of this process, never 0. In a child, the first call runs the
 * functions below; fork(3) has made it already. Thread: any; in a child that
 * was made by a bare system call, the only one.
 */
uint32_t roost_process(void);

/*
 * What a room does in a child, before the program gets there: make locks new
 * that a vanished thread may hold, forget what is the parent's. Called in the
 * order of registration. It must not wait, allocate, or touch what is shared
 * with the parent; nor close descriptors, whose numbers may be other files' by
 * then in a child that was made by a bare system call.
 */
struct roost_process_child {
	void (*run)(void);
	STAILQ_ENTRY(roost_process_child) link;
};

/* child lives as long as the process. Thread: constructors. */
void roost_process_at_child(struct roost_process_child *child);

/*
 * Every child finds these pages zeroed, however it was made (but before Linux
 * 4.14): private memory, begin and size multiples of the page's size, or
 * nothing is done. They are as before once they are kept, which they have to be
 * before their memory is freed. Thread: any.
 */
void roost_process_clear(void *pages, size_t bytes);
void roost_process_keep(void *pages, size_t bytes);

/*
 * What is done between the two is in a child either done or not begun. For a
 * moment: no call that waits for another thread but for a lock of as short a
 * time, nor one that forks. The lock is not recursive. Thread: any.
 */
void roost_process_fork_hold(void);
void roost_process_fork_release(void);

#endif
