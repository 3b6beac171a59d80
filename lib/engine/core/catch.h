/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_CATCH_H
#define ROOST_ENGINE_CORE_CATCH_H

/*
 * SIGSEGV and SIGBUS of accesses of an application's memory, which the thread
 * survives (lib/wire/guard.h). All other faults go where they went before: to
 * the program's handler, on the stack and with the mask that it has asked for,
 * or to the kernel's default, a core dump of the instruction that faulted.
 *
 * The handlers are in front of those that the program has when it registers
 * memory for the first time. If it has others later, it has set them through
 * the library that `roost run` preloads, which leaves that to this file: they
 * come behind. Without that library, the next registration puts these in front
 * of them.
 */

#include <stdbool.h>

/* Put the handlers in front. Thread: any. Safe in a child of fork(2). */
void roost_catch_start(void);

/* Inside valgrind a handler is not told at which instruction the fault was, so
 * no access may fault: of each region all are those of a suspect one (place.h).
 * Thread: any, after roost_catch_start().
 */
bool roost_catch_is_blind(void);

/* The kernel ends the process at a fault in a thread that blocks its signal. So
 * a thread of the program that takes a turn has both signals unblocked from
 * then on. Returns false as long as the handlers are not there, and nothing is
 * unblocked. Thread: any. A system call.
 */
bool roost_catch_unblock(void);

/* The same, once for each thread, whose is_done is this. Hot. */
static inline void roost_catch_unblock_once(bool *is_done)
{
	if (__builtin_expect(!*is_done, 0))
		*is_done = roost_catch_unblock();
}

#endif
