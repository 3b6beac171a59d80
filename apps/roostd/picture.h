/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_PICTURE_H
#define ROOST_APPS_ROOSTD_PICTURE_H

/*
 * The picture (lib/sysfs/picture.h) of the daemon's ports, for all clients:
 * beside the socket of a service, and where those of programs are for a hub
 * (apps/picture_dir.h). Each port is a device there. The picture is made before
 * clients can connect; the control thread writes it, soon after a port has
 * changed, and the counters once a second. Counters are the sum of what the
 * clients tell in their memories, those that have gone included: a client can
 * lie about its own, for which nothing but the picture is used.
 *
 * The next daemon takes over what one has left that was killed while it had
 * clients. A hub's ends with the hub, however that ends.
 *
 * Without a picture, clients have one each, as without a daemon.
 *
 * Thread: of a port: the port's (crew.h); else the daemon's first one.
 */

#include <stdbool.h>

#include <roost/config.h>

struct roost_picture_counters;
struct roostd_client;
struct roostd_port;

/* Show ports[0] to ports[0].nb_ports - 1, which outlive it. config, socket: of
 * a service; NULL: a hub. An error is reported: then there is none.
 */
void roostd_picture_make(const struct roostd_port *ports,
			 const struct roost_config *config, const char *socket);
/* Begin to write what changes; until stop. */
void roostd_picture_start(void);
void roostd_picture_stop(void);
/* Does a process have it in its environment? A program that has closed all
 * descriptors that it was started with may open a device later.
 */
bool roostd_picture_is_used(void);
/* The daemon ends. stays: for the next one. */
void roostd_picture_end(bool stays);

/* What the port is has changed. */
void roostd_picture_follow(const struct roostd_port *port);
/* Look at the clients' counters. */
void roostd_picture_count(const struct roostd_port *port);
/* The sum, as count() saw it last. Returns false: there is no picture. */
bool roostd_picture_counters(const struct roostd_port *port,
			     struct roost_picture_counters *sum);
/* A client ends: its counters stay. */
void roostd_picture_keep(const struct roostd_port *port,
			 const struct roostd_client *c);

#endif
