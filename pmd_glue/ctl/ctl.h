/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_H
#define ROOST_PMD_GLUE_CTL_CTL_H

/*
 * The control socket: by it `roost ctl` shows and changes the devices of this
 * process, as a fabric manager and ip(8) do for a host.
 *
 * It is the abstract UNIX socket "roost/ctl/PID". There is no file, the kernel
 * closes it when the process dies, and all control sockets are listed in
 * /proc/net/unix. PID namespaces that share a network namespace may have
 * processes with the same number: the next one is "roost/ctl/PID/1", and so on,
 * up to ROOST_CTL_ALIKE in all (pmd_glue/process/ctl_address.h). Who comes
 * asks the kernel which of them he means (SO_PEERCRED). Abstract names have no
 * permissions, so the server checks the credentials of each client likewise: it
 * answers the user of this process and root, and refuses all others. The socket
 * exists while a device is open.
 *
 * A connection is one request and its answer. The request is one line of words
 * with blanks between them, of ROOST_CTL_REQUEST_MAX bytes with its newline:
 *
 *	show [TOPIC [DEV [PORT]]]
 *	explain QP|CM-ID|LISTEN-PORT|DEVICE
 *	set DEV PORT link up|down
 *	set DEV PORT address add ADDR/LEN
 *	set DEV PORT address del ADDR
 *	set DEV PORT pkey INDEX VALUE
 *	set DEV PORT lid VALUE
 *	set DEV PORT sm-lid VALUE
 *	set DEV PORT ecn NAME VALUE
 *	set DEV PORT qos NAME VALUE
 *	set DEV PORT re-register
 *	set DEV PORT remove
 *	dump DEV SNAPLEN KIB [FILTER VALUE]...
 *
 * A daemon adds requests and topics of its own (struct roost_ctl_more).
 *
 * "-" for DEV or PORT means the only one; in show it means all. "-" for TOPIC
 * means all topics. The answer is "ok", a newline and the result as JSON; or
 * "error", a blank, and one line with cause and fix: then nothing was changed.
 * Then the server closes the connection.
 *
 * dump gives the connection to a capture (pmd_glue/dump/dump.h): it stays open,
 * and keeps no other client waiting.
 *
 * The control thread executes requests one after the other; other clients wait.
 * A connection has ROOST_CTL_TIMEOUT_NS to send its request and to read its
 * answer. So a client that hangs delays other clients for that time at most,
 *and never the process. A client without permission gets an error at once, and
 * delays no other client.
 *
 * Thread: the control thread, except for roost_ctl_flush().
 */

#include <stddef.h>
#include <sys/queue.h>

#include "lib/engine/core/dev.h"

struct roost_backend_port;

#define ROOST_CTL_REQUEST_MAX 256
#define ROOST_CTL_TIMEOUT_NS 2000000000ull
/* A longer answer is not sent. */
#define ROOST_CTL_ANSWER_MAX (64u << 20)

/* A device that is shown; ports[i] is its port i + 1. */
struct roost_ctl_device {
	struct roost_dev *dev;
	struct roost_backend_port *ports[ROOST_DEV_PORTS_MAX];
	LIST_ENTRY(roost_ctl_device) link;
};

#define ROOST_CTL_ERROR_MAX 512

struct roost_json;

/* What a process shows and does besides its devices. */
struct roost_ctl_more {
	const char *topics; /* with a comma between them */
	/* Write the members that belong to the topic, NULL: to all, into the
	 * document of the process. Returns 0; -ENOENT: it has no such topic;
	 * -EBUSY, with a line in error.
	 */
	int (*show)(const char *topic, struct roost_json *j,
		    char error[ROOST_CTL_ERROR_MAX]);
	/* Execute a request that is neither show nor set; words end with NULL.
	 * Returns 0; -ENOENT: it is unknown; other errors, with a line in
	 * error.
	 */
	int (*run)(char **words, char error[ROOST_CTL_ERROR_MAX]);
};

/* Open the socket for a process that may have no device, and close it; more
 * stays the caller's. The control thread runs meanwhile.
 */
void roost_ctl_serve(const struct roost_ctl_more *more);
void roost_ctl_unserve(void);
/* Add and remove a device. The first device opens the socket, the last one
 * closes it, unless it serves more. If it cannot be opened, one line on stderr
 * reports that, and the device works without it.
 */
void roost_ctl_add(struct roost_ctl_device *device);
void roost_ctl_remove(struct roost_ctl_device *device);
/* The process exits: wait up to 100 ms until a request in progress is answered,
 * because this request may have caused the exit. Thread: any.
 */
void roost_ctl_flush(void);

/*
 * Execute a request: a string without the newline, which is changed. Returns
 * the answer, which the caller frees; NULL: no memory.
 */
char *roost_ctl_answer(char *request, size_t *len_bytes);

/* Called by roost_ctl_serve() and roost_ctl_unserve() (ctl_devices.c). */
void roost_ctl_list_more(const struct roost_ctl_more *more);
/* NULL: none. */
const struct roost_ctl_more *roost_ctl_more(void);
/* Called by roost_ctl_add() and roost_ctl_remove(). */
void roost_ctl_list(struct roost_ctl_device *device);
void roost_ctl_unlist(struct roost_ctl_device *device);
/* The device of this name; "-": the only one. NULL: none, or several. */
struct roost_ctl_device *roost_ctl_find(const char *name);
/* Iterate over the devices, in any order. device NULL: get the first one.
 * Returns NULL at the end.
 */
struct roost_ctl_device *roost_ctl_next(struct roost_ctl_device *device);

#endif
