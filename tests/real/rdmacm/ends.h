/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_REAL_RDMACM_ENDS_H
#define ROOST_TEST_REAL_RDMACM_ENDS_H

/*
 * An ordinary program of rdma_cm, linked with the system's librdmacm: both
 * ends of its connections are in it, on the addresses 198.18.0.1 and fd00::1,
 * which roost run --ip has given the port. Nobody is at 198.18.0.99.
 */

#include "tests/rdmacm_calls.h"

#define PORT 7471
#define EVENT_MS 5000

struct ends {
	struct rdma_event_channel *passive, *active;
	struct rdma_cm_id *listener, *client, *server; /* or NULL */
	const char *ip;
	enum rdma_port_space ps;
	struct rdma_cm_event *event; /* of expect_kept() */
};

/* Both channels and a listener on ip. */
void ends_listen(struct ends *e, const char *ip, enum rdma_port_space ps);
/* A client with its route, and a QP if it is to have one. */
void ends_resolve(struct ends *e, bool with_qp);
/* The client asks, with data if any; the server has its id and a QP. */
void ends_request(struct ends *e, const char *data);
/* All of it: both have been told ESTABLISHED. */
void ends_connect(struct ends *e);
/* Destroy what there is, and see that no event is left. */
void ends_close(struct ends *e);

void give_qp(struct rdma_cm_id *id);
enum ibv_qp_state state_of(struct ibv_qp *qp);

bool readable(const struct rdma_event_channel *channel, int timeout_ms);
/* The next event, within EVENT_MS; acked, or for the caller to ack. */
void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
	    int status);
struct rdma_cm_event *expect_kept(struct rdma_event_channel *channel,
				  enum rdma_cm_event_type type);

/* The files, each with its tests. */
int rules_run(void);
int values_run(void);
int sync_run(void);

#endif
