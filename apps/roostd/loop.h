/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_LOOP_H
#define ROOST_APPS_ROOSTD_LOOP_H

/*
 * The daemon's loop: each of its threads (crew.h) polls its ports while frames
 * move, looks at descriptors now and then, and sleeps when nothing moves.
 *
 * Thread: the first one.
 */

#include <stdint.h>

struct roostd_port;
struct roostd_service;

/* Make the sets for that many threads, and watch signals, which are blocked:
 * SIGTERM and SIGINT end the loop, SIGHUP reads the file again. Returns 0,
 * -errno.
 */
int roostd_loop_make(uint32_t nb_threads);
void roostd_loop_free(void);
/* The set that a port's descriptors are to be in. */
int roostd_loop_epoll_fd(uint32_t port);

/* Watch the listener; the descriptor of handovers. Return 0, -errno. */
int roostd_loop_watch_listener(int fd);
int roostd_loop_watch_handover(int fd);

/*
 * Serve the array of ports until a signal; a hub, until it is alone; else until
 * all ports are gone. file: of service, read again; NULL: a hub. Returns 0;
 * -errno: threads cannot be made.
 */
int roostd_loop_run(struct roostd_port *ports, const char *file,
		    struct roostd_service *service);

/* End it, from a thread of the test or a signal. */
void roostd_loop_stop(void);

/* Tell the service manager that it is ready. */
void roostd_loop_tell_ready(uint32_t nb_ports);

#endif
