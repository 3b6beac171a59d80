/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_NEIGHS_H
#define ROOST_APPS_ROOSTD_NEIGHS_H

/*
 * The neighbours that clients refer to: entries of the port's page, each kept
 * in step with one neighbour of the IP host on the uplink. A client counts what
 * it asked for and puts it; what it has when it goes is put for it.
 *
 * Entry 0 is the port itself: the addresses of the port and of its clients lead
 * to its own MAC. It has no references. A hub has no other one.
 *
 * The entries are few for all: a client has a part of them at the most, and the
 * clients of a user together get a further one while they have less than
 * ROOSTD_NEIGHS_SHARE times as many as are free. An entry that there is costs
 * nothing.
 *
 * A question that waits for the network is answered later. What a client says
 * of a peer's MAC (from_mac) is not believed: the neighbours are everybody's.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <roost/gid.h>
#include "pmd_glue/share/page.h"

struct roostd_client;
struct roostd_port;
struct roost_neigh;
struct roost_share_msg;

/* Of one client: entries, and questions that wait for the network. */
#define ROOSTD_NEIGHS_OF_ONE_MAX (ROOST_SHARE_NEIGHS / 4)
#define ROOSTD_ASKED_OF_ONE_MAX 64u
/* Of the clients of one user. */
#define ROOSTD_NEIGHS_SHARE 3u
#define ROOSTD_ASKED_OF_USER_MAX 512u

/* A question that waits for the network, or has its answer. */
struct roostd_asked {
	struct roostd_client *client;
	uint32_t tag;   /* of the request */
	uint32_t place; /* of the entry; the client has a reference */
	struct roost_gid sgid, dgid;
	int status;        /* -EINPROGRESS: it waits */
	uint64_t look_ns;  /* when the host is asked how it stands */
	uint64_t until_ns; /* when it is given up */
	TAILQ_ENTRY(roostd_asked) link;
};

TAILQ_HEAD(roostd_asked_list, roostd_asked);

/* What the clients of a user refer to, together. */
struct roostd_neigh_user {
	LIST_ENTRY(roostd_neigh_user) link;
	uid_t uid;
	uint32_t nb_clients; /* that have asked; 0: it is freed */
	uint32_t nb;         /* entries */
	uint32_t nb_asked;
	uint32_t of[ROOST_SHARE_NEIGHS]; /* references, by entry */
};

struct roostd_neighs {
	struct roost_neigh *v[ROOST_SHARE_NEIGHS]; /* NULL: free */
	uint32_t refs[ROOST_SHARE_NEIGHS];         /* of all clients */
	uint32_t nb; /* entries in use are below it; at least 1 */
	uint32_t nb_used;
	LIST_HEAD(, roostd_neigh_user) users;
	uint16_t own_gen;
	struct roostd_asked_list asked;    /* by until_ns */
	struct roostd_asked_list answered; /* see roostd_neighs_next() */
};

/* What a client refers to. */
struct roostd_refs {
	uint32_t *of; /* by entry; NULL: none yet */
	uint32_t nb;  /* entries */
	uint32_t nb_asked;
	struct roostd_neigh_user *user; /* valid if of is not NULL */
};

/* The port's page is there, and its facts are set. */
void roostd_neighs_init(struct roostd_port *port);

/*
 * A RESOLVE of a client. Returns 0: *place is the entry, with a reference;
 * -EINPROGRESS: roostd_neighs_next() has the answer, sometime;
 * -EHOSTUNREACH, -ETIMEDOUT (it did not answer a short while ago), -ENOBUFS
 * (the client, its user or the page has too many), -ENOMEM.
 */
int roostd_neighs_resolve(struct roostd_port *port, struct roostd_client *c,
			  const struct roost_share_msg *asked, uint32_t *place);
/* A SOURCE of a client. Returns 0, -EHOSTUNREACH. */
int roostd_neighs_source(struct roostd_port *port,
			 const struct roostd_client *c,
			 const struct roost_gid *dgid, struct roost_gid *sgid);
/* Drop a reference; one that the client does not have, or whose question still
 * waits, is nothing.
 */
void roostd_neighs_put(struct roostd_port *port, struct roostd_client *c,
		       uint64_t place);
/* The client goes: its references and questions end. */
void roostd_neighs_leave(struct roostd_port *port, struct roostd_client *c);

/* The port's own MAC is that of its facts. */
void roostd_neighs_set_own(struct roostd_port *port);
/* Neighbours have news: the page follows. Returns true if one that clients know
 * has another MAC.
 */
bool roostd_neighs_follow(struct roostd_port *port);
/* Look after the questions that wait, at port->now_ns. */
void roostd_neighs_run(struct roostd_port *port);
/* When to do so at the latest; UINT64_MAX: none waits. */
uint64_t roostd_neighs_due_ns(const struct roostd_port *port);
/* Take the next question that has its answer, and free it: *answer is a copy.
 * A status that is not 0: there is no reference. Returns false: none.
 */
bool roostd_neighs_next(struct roostd_port *port, struct roostd_asked *answer);

#endif
