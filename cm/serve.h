/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_SERVE_H
#define ROOST_CM_SERVE_H

/*
 * The work of the CM on a thread that waits for an event of the CM, for
 * librdmacm. So this thread need not wait for another one to take its messages.
 */

#include <stdint.h>

struct roost_cm;

/*
 * Take the messages that came, and do what else is due, as the control thread
 * does; if that is at it, leave it the messages. Callbacks run on the calling
 * thread. now_ns: of CLOCK_MONOTONIC. Thread: one that holds no lock which a
 * callback takes.
 */
void roost_cm_serve(struct roost_cm *cm, uint64_t now_ns);

#endif
