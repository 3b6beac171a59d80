/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_CM_WORLD_H
#define ROOST_TESTS_SIM_CM_WORLD_H

/*
 * Connection managers at both ends of a world, with owners that do at once
 * what a program would: accept or reject, establish, disconnect.
 */

#include <roost/cm.h>
#include "cm/msg.h"
#include "tests/sim/sim.h"

#define CM_CONNS_MAX 4096
#define CM_PORT 7471

struct cm_world;

/* One conn as its owner sees it. */
struct cm_owner {
	struct cm_world *world;
	int side;
	struct roost_cm_conn *conn; /* NULL: destroyed */
	unsigned int seen[ROOST_CM_EVENT_TYPES];
	struct roost_cm_event last[ROOST_CM_EVENT_TYPES];
	uint8_t data[ROOST_CM_EVENT_TYPES][ROOST_CM_DATA_MAX];
};

/* What the passive owners do with a request, and all with a DREQ. */
enum cm_policy {
	CM_ACCEPT,
	CM_REJECT,
	CM_LEAVE, /* the test does it */
	CM_DESTROY,
};

struct cm_world {
	struct sim *sim;
	struct roost_cm *cm[2];
	struct roost_cm_listener *listener; /* of SIM_B */
	enum cm_policy policy;
	bool keep_backlog; /* requests are not fetched */
	bool leave_dreq;   /* DREQ is not answered by the owner */
	bool leave_rep;    /* nor REP */
	struct cm_owner owners[CM_CONNS_MAX];
	unsigned int nb_owners;
	/* Private data for REP, REJ, RTU, SIDR_REP. */
	const uint8_t *data;
	size_t data_len_bytes;
};

struct cm_world *cm_world_new(void);
/* In that world, which becomes its own. */
struct cm_world *cm_world_new_in(struct sim *sim);
/* The same with IPv6 addresses in cm_path(). */
void cm_world_free(struct cm_world *w);
void cm_listen(struct cm_world *w, enum roost_cm_port_space ps, int backlog);

/* An active conn of SIM_A. */
struct cm_owner *cm_owner_new(struct cm_world *w);
void cm_owner_destroy(struct cm_owner *o);
/* The n-th conn that the listener made, from 0; NULL: there are fewer. */
struct cm_owner *cm_passive(struct cm_world *w, unsigned int n);
unsigned int cm_nb_passive(const struct cm_world *w);

struct roost_cm_path cm_path(struct cm_world *w, int from, bool ipv6);
struct roost_cm_req_param cm_req_param(struct cm_world *w, uint32_t qpn,
				       const struct roost_cm_ip_hdr *ip);
extern const struct roost_cm_ip_hdr cm_ip;
/* Send REQ for QPN qpn to CM_PORT. */
void cm_connect(struct cm_owner *o, uint32_t qpn);
/* Both ends stand. Returns the passive one. */
struct cm_owner *cm_establish(struct cm_owner *o, uint32_t qpn);

/* Put a MAD on the wire from a side, as if from its QP1. */
void cm_forge(struct cm_world *w, int from, const uint8_t *mad, size_t len);
void cm_forge_msg(struct cm_world *w, int from, const struct roost_cm_msg *msg);
/* The header that names both ends as they are now. */
void cm_put_ip(struct cm_world *w, struct roost_cm_msg *msg);
/* A REQ of SIM_A with these numbers. */
struct roost_cm_msg cm_forged_req(struct cm_world *w, uint32_t local_id,
				  uint32_t qpn);
struct roost_cm_counters cm_counters(struct cm_world *w, int side);
uint64_t cm_drops(struct cm_world *w, int side);
/* It saw exactly these events: types and counts, ended by a count of 0. */
#define cm_expect(o, ...)                                                      \
	cm_expect_(o, (const unsigned int[]){ __VA_ARGS__, 0, 0 })
#define cm_expect_nothing(o) cm_expect_(o, (const unsigned int[]){ 0, 0 })
void cm_expect_(const struct cm_owner *o, const unsigned int *types);

#endif
