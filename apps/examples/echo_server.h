/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_EXAMPLES_ECHO_SERVER_H
#define ROOST_APPS_EXAMPLES_ECHO_SERVER_H

/*
 * What both examples do with a device: listen, and answer each SEND with the
 * same bytes, up to 4096. One server per process.
 *
 * Callbacks of the CM make and destroy QPs; echo_poll() takes completions and
 * posts. One lock keeps a QP from going away between a completion and what
 * echo_poll() makes of it. So they may run on different threads.
 */

#include <stdint.h>

struct roost_channel;
struct roost_cq;
struct roost_dev;

/*
 * channel: where completions raise events; NULL: they are polled for. ended: is
 * called after each connection's end, by a callback of the CM; or NULL.
 * Returns 0, or what failed; the program is to exit then.
 */
int echo_start(struct roost_dev *dev, uint16_t service,
	       struct roost_channel *channel, void (*ended)(void));
/* No connection stands. Returns 0, or what failed. */
int echo_stop(void);

struct roost_cq *echo_cq(void);
/* Take completions and post what follows. Returns how many; -EIO (overrun). */
int echo_poll(void);
/* Connections that ended. Thread: any. */
unsigned int echo_nb_ended(void);

#endif
