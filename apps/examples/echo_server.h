/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_EXAMPLES_ECHO_SERVER_H
#define ROOST_APPS_EXAMPLES_ECHO_SERVER_H

/*
 * The echo server of both examples: it listens, and answers each SEND with the
 * same bytes, up to 4096. One server per process.
 *
 * Callbacks of the CM make and destroy QPs; echo_poll() takes completions and
 * posts. They may run on different threads: one lock keeps a QP alive while
 * echo_poll() handles its completion.
 */

#include <stdint.h>

struct roost_channel;
struct roost_cq;
struct roost_dev;

/*
 * Start the server. channel: the completion channel; NULL: the CQ is polled.
 * ended: called by a callback of the CM after each connection's end; NULL:
 * none. Returns 0, or the error: then the program has to exit.
 */
int echo_start(struct roost_dev *dev, uint16_t service,
	       struct roost_channel *channel, void (*ended)(void));
/* Stop the server; there is no connection any more. Returns 0, or the error. */
int echo_stop(void);

struct roost_cq *echo_cq(void);
/* Take completions, and post the answers. Returns the number of completions;
 * -EIO (the CQ overran).
 */
int echo_poll(void);
/* Connections that ended. Thread: any. */
unsigned int echo_nb_ended(void);

#endif
