/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SOAK_PARTS_H
#define ROOST_TESTS_SOAK_PARTS_H

/*
 * What one process of the soak does at the same time: each part is a thread,
 * and main.c starts and ends them. All end the process where something is
 * wrong that must never be.
 */

#include <netinet/in.h>
#include <pthread.h>

#include "tests/soak/session.h"

struct role;

struct part {
	char name[40];
	const struct role *role;
	const char *address;
	bool may_break; /* the peer may die */
	pthread_t thread;
	struct tally tally; /* read by main.c at any time */
};

/* Clients make no new session. All end. Written by main.c alone. */
extern atomic_bool soak_clients_over, soak_over;
/* Clients rest: they begin nothing. Written by main.c alone. */
extern atomic_bool soak_rest;
/* Sessions that are served; clients that have something. */
extern atomic_uint soak_serving, soak_at_work;
/* IBV_EVENT_PATH_MIG so far. */
extern atomic_uint soak_migrated;

_Noreturn void soak_fail(const char *what);
struct sockaddr_in soak_address(const char *text, uint16_t port);

/* For a client: another one? Waits while it rests; at work behind it. */
bool soak_goes_on(void);
/* A client has let go of all that it had. */
void soak_has_done(void);

/* Of pthread_create(); the argument is the part. */
void *serve_main(void *part);
void *client_main(void *part);
void *stream_serve_main(void *part);
void *stream_main(void *part);
void *fork_main(void *part);

/* A thread for each device reads its async events. contexts: ends with NULL. */
void events_start(struct ibv_context **contexts);
void events_stop(struct ibv_context **contexts);

#endif
