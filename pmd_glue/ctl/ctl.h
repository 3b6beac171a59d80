/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_H
#define ROOST_PMD_GLUE_CTL_CTL_H

/*
 * The control socket: where `roost ctl` sees and changes the devices of this
 * process, as a fabric manager and ip(8) do from outside.
 *
 * It is the abstract UNIX socket "roost/ctl/PID": nothing stands in any file
 * system, the kernel takes it back when the process dies, whatever killed it,
 * and those that exist are listed in /proc/net/unix. Abstract names have no
 * permissions, so whoever calls is asked for his credentials (SO_PEERCRED):
 * the user of this process and root are answered, nobody else. The socket is
 * there while a device is open.
 *
 * A connection is one request and its answer. The request is one line of words
 * with blanks between them, of ROOST_CTL_REQUEST_MAX bytes with its newline:
 *
 *	show [TOPIC [DEV [PORT]]]
 *	set DEV PORT link up|down
 *	set DEV PORT address add ADDR/LEN
 *	set DEV PORT address del ADDR
 *	set DEV PORT pkey INDEX VALUE
 *	set DEV PORT lid VALUE
 *	set DEV PORT sm-lid VALUE
 *	set DEV PORT re-register
 *	set DEV PORT remove
 *
 * "-" for DEV or PORT is the only one there is, but in show it is all of them;
 * "-" for TOPIC is all topics. The answer is "ok" and a newline, and behind it
 * what was asked for as JSON; or "error", a blank, and one line with the cause
 * and the fix, and then nothing was changed. Then the server closes.
 *
 * Requests are executed one after the other on the control thread; who comes
 * meanwhile waits. A connection has ROOST_CTL_PATIENCE_NS to say its request
 * and to take its answer, so that a controller that hangs keeps others waiting
 * no longer, and the process not at all. Those that may not ask are told so and
 * hung up on as soon as they come, and keep nobody waiting.
 *
 * Thread: the control thread, but for the farewell.
 */

#include <stddef.h>
#include <sys/queue.h>

#include <roost/dev.h>

struct roost_station;

#define ROOST_CTL_REQUEST_MAX 256
#define ROOST_CTL_PATIENCE_NS 2000000000ull
/* What is longer is not sent. */
#define ROOST_CTL_ANSWER_MAX (64u << 20)

/* A device that can be seen; stations[i] is its port i + 1. */
struct roost_ctl_device {
	struct roost_dev *dev;
	struct roost_station *stations[ROOST_DEV_PORTS_MAX];
	LIST_ENTRY(roost_ctl_device) link;
};

/* The first one opens the socket; where that fails, one line on stderr has
 * said so, and the device works without. The last one closes it.
 */
void roost_ctl_add(struct roost_ctl_device *device);
void roost_ctl_remove(struct roost_ctl_device *device);
/* The process exits, maybe because of what a controller has just done to it:
 * he still gets his answer. Waits for up to 100 ms. Thread: any.
 */
void roost_ctl_farewell(void);

/*
 * The answer to a request, which is a string without the newline and is
 * changed. Returns memory that the caller frees; NULL: there is none.
 */
char *roost_ctl_answer(char *request, size_t *len_bytes);

/* Of roost_ctl_add() and its counterpart (ctl_devices.c). */
void roost_ctl_list(struct roost_ctl_device *device);
void roost_ctl_unlist(struct roost_ctl_device *device);
/* The device of this name; "-": the only one. NULL: none, or several. */
struct roost_ctl_device *roost_ctl_find(const char *name);
/* Any order; NULL begins, and ends. */
struct roost_ctl_device *roost_ctl_next(struct roost_ctl_device *device);

#endif
