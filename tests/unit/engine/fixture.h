/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_ENGINE_FIXTURE_H
#define ROOST_TESTS_UNIT_ENGINE_FIXTURE_H

/*
 * A device on a port that leads nowhere, for tests of one object at a time.
 * What it sends is counted and freed; nothing comes back. EAL is needed only
 * by tests that let the worker make packets: they give a pool.
 */

#include <stdbool.h>

#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>
#include "lib/engine/core/dev.h"
#include "lib/engine/core/port.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "lib/event/source.h"
#include "tests/cmocka.h"

struct rte_mempool;

struct fixture {
	struct roost_dev *dev;
	struct roost_worker *worker;
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_cq *cq;
	struct roost_gid gid;   /* ours, index 0: 198.18.0.1 */
	struct roost_gid gid6;  /* ours, index 1: fd00::1 */
	struct roost_gid peer;  /* 198.18.0.2 */
	struct roost_gid peer6; /* fd00::2 */
	/* The port. */
	unsigned int nb_looks; /* for what came */
	unsigned int nb_sent;
	uint16_t take_max;      /* frames that it takes at a time */
	unsigned int take_left; /* and in all, until this is set again */
	int resolve_rc;
	/* Called while the neighbour is looked for; NULL: not. */
	void (*on_resolve)(struct fixture *f);
	struct roost_qp *resolving; /* for on_resolve */
	struct roost_neigh neigh;
	_Atomic int neigh_refs;
};

/* Everything up to a CQ of 64 entries; pool may be NULL. */
void fixture_open(struct fixture *f, struct rte_mempool *pool);
/* The same with several workers; worker is the first one. */
void fixture_open_workers(struct fixture *f, struct rte_mempool *pool,
			  unsigned int nb_workers);
/* Everything that the test made on it is gone. */
void fixture_close(struct fixture *f);

/* A test whose state is a fixture, open without a pool. */
#define FIXTURE_TEST(test)                                                     \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* An RC QP with room for n requests in each queue, in state RESET. */
struct roost_qp *fixture_qp(struct fixture *f, uint32_t n);
/* The change of state with the attributes it needs, to the peer. */
int fixture_to_init(struct roost_qp *qp);
int fixture_to_rtr(struct fixture *f, struct roost_qp *qp);
int fixture_to_rts(struct roost_qp *qp);
int fixture_to(struct roost_qp *qp, enum roost_qp_state state);
struct roost_qp *fixture_qp_in_rts(struct fixture *f, uint32_t n);
/* What fixture_to_rtr() gives it. */
struct roost_qp_attr fixture_rtr_attr(const struct fixture *f);
#define FIXTURE_RTR_MASK                                                       \
	(ROOST_QP_STATE | ROOST_QP_AV | ROOST_QP_PATH_MTU |                    \
	 ROOST_QP_DEST_QPN | ROOST_QP_RQ_PSN | ROOST_QP_MAX_DEST_RD_ATOMIC |   \
	 ROOST_QP_MIN_RNR_TIMER)
#define FIXTURE_RTS_MASK                                                       \
	(ROOST_QP_STATE | ROOST_QP_SQ_PSN | ROOST_QP_TIMEOUT |                 \
	 ROOST_QP_RETRY_CNT | ROOST_QP_RNR_RETRY | ROOST_QP_MAX_QP_RD_ATOMIC)

/* Post one request of one SGE; 0 or what the engine says. */
int fixture_send(struct roost_qp *qp, const struct roost_send_wr *wr);
int fixture_recv(struct roost_qp *qp, const struct roost_recv_wr *wr);
/* One iteration, at time now_ns. */
unsigned int fixture_iterate(struct fixture *f, uint64_t now_ns);

#endif
