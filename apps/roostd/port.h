/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_PORT_H
#define ROOST_APPS_ROOSTD_PORT_H

/*
 * A shared port: its clients, the switch between them, the page that they read,
 * and the socket at which they attach.
 *
 * A hub is a port without a NIC: a MAC, one IPv4 address and its link-local one
 * that all clients share, and no world outside.
 *
 * Thread: the daemon's one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/client.h"
#include "apps/roostd/switch/switch.h"
#include "pmd_glue/share/page.h"

struct roostd_port {
	const char *label;
	int listener; /* not the port's */
	int epoll_fd; /* not the port's */
	bool is_hub;
	uid_t uid; /* of a hub: its user */
	struct roost_lease *lease;
	struct roost_switch *sw;
	struct roost_share_page *page;
	int page_fd;
	struct roost_share_facts facts;
	struct roost_sw_port shape; /* as frames show it */
	uint64_t now_ns;            /* of the work that is done */
	uint32_t nb_clients;        /* sessions, attached or not */
	uint32_t max_silent;        /* of these, not attached */
	uint32_t nb_attached;
	LIST_HEAD(, roostd_client) clients;
	TAILQ_HEAD(, roostd_client) awake;
	TAILQ_HEAD(roostd_paused, roostd_client) paused; /* by resume_ns */
	LIST_HEAD(, roostd_client) gone;
	LIST_HEAD(, roostd_client) to_ring;
	struct roostd_client *by_slot[ROOST_CLIENTS_MAX];
};

/* Make a hub of this user. Returns 0, -errno, reported. */
int roostd_hub_open(struct roostd_port *port, int listener, int epoll_fd);
void roostd_port_close(struct roostd_port *port);

/* What epoll says: data.ptr of a session is the client, of a doorbell the
 * client's address plus 1.
 */
static inline void *roostd_doorbell_tag(struct roostd_client *c)
{
	return (char *)c + 1;
}

/* A connection waits at the listener. */
void roostd_port_accept(struct roostd_port *port);
/* The session of a client is readable, or has ended (request.c). */
void roostd_port_session(struct roostd_port *port, struct roostd_client *c);
/* A client has rung. */
void roostd_port_rung(struct roostd_port *port, struct roostd_client *c);

/* Move frames. Returns how many; 0: there was nothing to do. */
unsigned int roostd_port_poll(struct roostd_port *port, uint64_t now_ns);
/* Free clients that have gone. No event of epoll names them any more. */
void roostd_port_reap(struct roostd_port *port);

/* ---- for request.c ------------------------------------------------------- */

/* End with a client, when its last frames were moved: its peers are told. why:
 * for a line on stderr; NULL: it went as it may.
 */
void roostd_port_drop(struct roostd_port *port, struct roostd_client *c,
		      const char *why);
/* Enter an attached client: it is polled from now on. Returns 0, -errno. */
int roostd_port_enter(struct roostd_port *port, struct roostd_client *c);
/* Leave the session of a client alone for a while. */
void roostd_port_pause(struct roostd_port *port, struct roostd_client *c);

#endif
