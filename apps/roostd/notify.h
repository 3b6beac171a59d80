/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_NOTIFY_H
#define ROOST_APPS_ROOSTD_NOTIFY_H

/*
 * What the daemon tells a service manager that started it with Type=notify: a
 * datagram of lines to the socket that NOTIFY_SOCKET names (sd_notify(3), whose
 * protocol is stable). libsystemd would replace the 30 lines that send it, and
 * bring its own dependencies (compression, cryptography) into a daemon with
 * privileges: too much for a datagram.
 *
 * Thread: the daemon's first one.
 */

/* Lines such as "READY=1\nSTATUS=...". Without a manager, or if it does not
 * listen, nothing happens.
 */
void roostd_notify(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The file is read again: the manager waits for READY=1 then. */
void roostd_notify_reloading(void);

#endif
