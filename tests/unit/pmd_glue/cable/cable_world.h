/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_CABLE_WORLD_H
#define ROOST_TESTS_UNIT_CABLE_WORLD_H

/*
 * Ends of one link in this process, with a control thread, and peers that are
 * made by hand. The test's thread is the worker of all ends.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pmd_glue/cable/cable.h"
#include "pmd_glue/channel/meet.h"

struct rte_mbuf;

/* Of a path MTU of 1024. */
#define CABLE_LEN 1100u

/* An end, as a port has it. The test's thread is its worker. */
struct end {
	struct roost_cable *cable;
	pthread_mutex_t turn;
	unsigned int nb_got; /* frames that receive() was given */
};

extern struct end cable_ends[3];
/* Of the processes that have the ends. */
extern pid_t cable_pids[2];
/* MTU and users of the next end. */
extern struct roost_cable_conf cable_next;

int cable_setup(void **state);
int cable_teardown(void **state);

/* The worker's turn; ctx: the end. */
void cable_hold(void *ctx);
void cable_release(void *ctx);

/* On the control thread: open and start the end arg; returns as
 * roost_cable_open().
 */
int cable_try_end(void *arg);
struct end *cable_open_end(unsigned int i);
void cable_close_end(struct end *e);
/* On the control thread: has the end arg a peer? */
int cable_has_peer(void *arg);
/* Wait until it has a peer, or none. Returns the time in ns. */
uint64_t cable_wait_for_peer(struct end *e, bool wanted);
void cable_sleep_ns(long ns);
void cable_wait_readable(int fd);

/* A frame of that length and number, to QPN 0x1234. */
void cable_send_one(struct end *e, uint32_t len, uint32_t number);
struct rte_mbuf *cable_take_one(struct end *e);
void cable_expect_one(struct end *e, uint32_t len, uint32_t number);
void cable_check_both_ways(struct end *a, struct end *b);

struct peer {
	struct roost_shm_channel *ch;
	struct roost_shm_meeting m;
};

/* A connection to the claim of an end of our link. */
int cable_connect_to(unsigned int end);
/* Sit down at end 1, opposite to our end 0. */
void cable_meet(struct peer *p);
/* End as the kernel ends who is killed: without BYE. */
void cable_die(struct peer *p);
void cable_send_from(struct peer *p, uint32_t number);

#endif
