/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_HANDOVER_H
#define ROOST_APPS_ROOSTD_HANDOVER_H

/*
 * Work for the daemon's first thread from one that is none of the daemon's, and
 * waits for it: the control thread, which has the control socket, reads and
 * changes what is of the daemon's threads alone, and the thread of the metrics
 * reads it. All of them are held meanwhile (crew.h).
 */

/* The descriptor that becomes readable when there is work, or -errno. Thread:
 * the daemon's.
 */
int roostd_handover_open(void);
void roostd_handover_close(void);

/* Do what waits, if anything. Thread: the daemon's first one, which holds the
 * others.
 */
void roostd_handover_serve(void);

/* Have the daemon's first thread call fn(arg), and wait for its end. Returns
 * the value of fn; -EBUSY: the daemon's thread did not come to it within a
 * second, and will not. Other callers wait. Thread: any other one.
 */
int roostd_handover(int (*fn)(void *arg), void *arg);

#endif
