/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_EVENTS_H
#define ROOST_TESTS_REAL_EVENTS_H

/*
 * What verbs promise of events and of the calls around them, one test each: an
 * ordinary program, which runs on hardware as it runs on Roost. The device and
 * the connections are those of the tour.
 */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/real/tour/tour.h"

#define RECV_BYTES 64
/* For as long as anything should take. */
#define QUIET_MS 50

/* A connection whose receives, at its end b, complete to a CQ on a channel. */
struct line {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct tour_pair p;
};

/* channel NULL: one of its own. */
struct line line_open(struct ibv_comp_channel *channel);
/* The connection, then what it was on. */
void line_hang_up(struct line *l);
void line_close(struct line *l);
void line_arm(struct line *l, int solicited_only);
/* One message, through to its completion at the other end: when this returns,
 * an event that it was to raise is there.
 */
void line_send(struct line *l, bool solicited);
/* Arm, and cause one event. */
void line_ring(struct line *l);
/* The next event, which must be of this CQ; not acked. */
void line_get(struct line *l);

/* Is there something to read, now or within this time? */
bool readable(int fd, int ms);
void set_nonblock(int fd);
/* Nothing to read, for as long as anything should take. */
void assert_quiet(int fd);

/* A destroy that may have to wait, on a thread of its own. */
struct destroyer {
	pthread_t thread;
	int (*destroy)(void *object);
	void *object;
	int rc;
	atomic_bool done;
};

void destroy_begin(struct destroyer *d, int (*destroy)(void *), void *object);
/* It waits now, and goes on waiting. */
void destroy_assert_waits(struct destroyer *d);
/* Nothing holds it up any more. */
void destroy_end(struct destroyer *d);
int destroy_cq(void *cq);
int destroy_srq(void *srq);
int destroy_qp(void *qp);
int destroy_wq(void *wq);

/* A receive WQ in state RDY. */
struct ibv_wq *wq_new(struct ibv_cq *cq, uint32_t max_wr);
void wq_receive(struct ibv_wq *wq, uint64_t wr_id, void *addr, uint32_t lkey);
/* A table of 2^log_size of these WQs, and a UD QP in RTS that receives to it.
 */
struct ibv_rwq_ind_table *wq_table(struct ibv_wq **wqs, uint32_t log_size);
struct ibv_qp *wq_qp(struct ibv_rwq_ind_table *table, uint64_t fields);
/* A datagram with this flow label, from a QP made for it, through to the
 * completion of its send.
 */
void wq_datagram(uint32_t qpn, uint32_t flow_label, const void *data,
		 uint32_t len);

/* The tests, by topic; a row of zeros ends each list. */
extern const struct CMUnitTest events_channel[], events_arming[], events_acks[],
	events_busy[], events_causes[], events_order[], events_remains[],
	events_wq[], events_examples[];

#endif
